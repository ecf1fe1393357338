package files_test

import (
	"encoding/json"
	"strings"
	"testing"

	"assay/fakes/gatewaytest"
)

// written are the paths in the response to an upload.
func (a answer) written(t *testing.T) []string {
	t.Helper()
	var all []struct{ Name, Path, Type string }
	if err := json.Unmarshal([]byte(a.body), &all); err != nil || a.StatusCode != 200 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	paths := []string{}
	for _, w := range all {
		if w.Type != "file" || !strings.HasSuffix(w.Path, "/"+w.Name) {
			t.Errorf("%+v", w)
		}
		paths = append(paths, w.Path)
	}
	return paths
}

func TestAFullSandboxTakesNothingAndKeepsTheOldContent(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.put(home+"/f", "old")
	g.put("/tmp/filler", strings.Repeat("x", 120<<20))
	bomb := strings.Repeat(string(gatewaytest.Gzipped(make([]byte, 1<<20))), 10)
	if a := g.do("POST", at("f"), bomb, octets, "Content-Encoding: gzip"); a.StatusCode != 507 || a.message(t) == "" || g.content(home+"/f") != "old" {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if a := g.do("POST", at("f"), "new", octets); a.StatusCode != 200 {
		t.Errorf("afterwards: %d %s", a.StatusCode, a.body)
	}
}

func TestComposeJoinsFilesInOrder(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.put(home+"/1", "one ")
	g.put(home+"/2", "two")
	const kind = "Content-Type: application/json"
	for body, want := range map[string]int{
		`{"source_paths":["2","missing"],"destination":"new/x"}`: 404, `{"source_paths":[],"destination":"x"}`: 400, `{"source_paths":["1"]}`: 400,
		`{"source_paths":["1"],"destination":"1"}`: 400, `{"source_paths":["1"],"destination":"./a/../1"}`: 400, `{"source_paths":["/tmp"],"destination":"new/x"}`: 400,
		`{"source_paths":["1"],"destination":"/tmp"}`: 400, `{"source_paths":["1"],"destination":"x","username":"ghost"}`: 401, `[]`: 400, `{`: 400,
	} {
		if a := g.do("POST", "/files/compose", body, kind); a.StatusCode != want || a.message(t) == "" || g.exists(home+"/new") {
			t.Errorf("%s: %d %s, want %d", body, a.StatusCode, a.body, want)
		}
	}
	a := g.do("POST", "/files/compose", `{"source_paths":["2","~/1"],"destination":"a/all"}`, kind)
	if a.StatusCode != 200 || a.body != `{"name":"all","path":"/home/user/a/all","type":"file"}`+"\n" || g.content(home+"/a/all") != "twoone " {
		t.Errorf("%d %s %q", a.StatusCode, a.body, g.content(home+"/a/all"))
	}
	if g.exists(home+"/1") || g.exists(home+"/2") {
		t.Error("the sources are still there")
	}
	if a := g.do("GET", "/files/compose", ""); a.StatusCode != 405 {
		t.Errorf("GET: %d", a.StatusCode)
	}
}
