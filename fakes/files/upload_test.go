package files_test

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
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

func TestAnUploadReplacesAFileWhole(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	big := strings.Repeat("\x89PNG\r\n\x1a\n\x00\xff", 100_000)
	for _, content := range []string{"first", big, "", "last"} {
		a := g.do("POST", at("a/b/c.txt"), content, octets)
		if got := a.written(t); !slices.Equal(got, []string{home + "/a/b/c.txt"}) || g.content(home+"/a/b/c.txt") != content {
			t.Errorf("%v, content of %d bytes, want %d", got, len(g.content(home+"/a/b/c.txt")), len(content))
		}
	}
	e, err := g.stat("a/b/c.txt")
	if err != nil || e.GetMode() != 0o644 || e.GetOwner() != "user" {
		t.Errorf("%v %v", e, err)
	}
	if a := g.do("POST", at("r")+"&username=root", "x", octets); g.content("/root/r") != "x" {
		t.Errorf("of root: %d %s", a.StatusCode, a.body)
	}
}

func TestUploadsThatAreRefusedWriteNothing(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.has(home+"/f", home+"/d/")
	g.put(home+"/f", "old")
	two, kind := form(`name="file"; filename="new/x"`, "1", `name="file"; filename="new/x"`, "2")
	unnamed, _ := form(`name="file"`, "1")
	empty, _ := form(`name="file"; filename=""`, "1")
	packed := string(gatewaytest.Gzipped([]byte(strings.Repeat("content", 1000))))
	const gz = "Content-Encoding: gzip"
	for _, c := range []struct {
		name, target, body string
		headers            []string
		status             int
	}{
		{"no content type", at("f"), "x", nil, 400},
		{"text", at("f"), "x", []string{"Content-Type: text/plain"}, 400},
		{"no path", "/files", "x", []string{octets}, 400},
		{"a directory", at("d"), "x", []string{octets}, 400},
		{"the root", at("/"), "x", []string{octets}, 400},
		{"below a file", at("f/x"), "x", []string{octets}, 400},
		{"a name of 256 bytes", at("new/" + strings.Repeat("n", 256)), "x", []string{octets}, 400},
		{"another user's home", at("~root/x"), "x", []string{octets}, 400},
		{"an unknown user", at("new/x") + "&username=ghost", "x", []string{octets}, 401},
		{"no boundary", at("f"), "x", []string{"Content-Type: multipart/form-data"}, 400},
		{"a wrong boundary", at("f"), two, []string{"Content-Type: multipart/form-data; boundary=YY"}, 400},
		{"one file twice", "/files", two, []string{kind}, 400},
		{"two parts for one path", at("new/y"), two, []string{kind}, 400},
		{"a part without a name", "/files", unnamed, []string{kind}, 400},
		{"a part with an empty name", "/files", empty, []string{kind}, 400},
		{"no closing boundary", at("f"), strings.TrimSuffix(unnamed, "--XX--\r\n"), []string{kind}, 400},
		{"half a closing boundary", at("f"), strings.TrimSuffix(unnamed, "--\r\n"), []string{kind}, 400},
		{"br", at("f"), "x", []string{octets, "Content-Encoding: br"}, 400},
		{"gzip twice", at("f"), packed, []string{octets, "Content-Encoding: gzip, gzip"}, 400},
		{"not gzip", at("f"), "x", []string{octets, gz}, 400},
		{"empty gzip", at("f"), "", []string{octets, gz}, 400},
		{"cut gzip", at("f"), packed[:len(packed)-9], []string{octets, gz}, 400},
		{"gzip with a wrong checksum", at("f"), packed[:len(packed)-8] + "12345678", []string{octets, gz}, 400},
		{"a long metadata key", at("f"), "x", []string{octets, "X-Metadata-" + strings.Repeat("k", 247) + ": v"}, 400},
		{"too much metadata", at("f"), "x", []string{octets, "X-Metadata-K: " + strings.Repeat("v", 4087)}, 400},
		{"metadata beyond ASCII", at("f"), "x", []string{octets, "X-Metadata-K: é"}, 400},
	} {
		a := g.do("POST", c.target, c.body, c.headers...)
		if a.StatusCode != c.status || a.message(t) == "" {
			t.Errorf("%s: %d %s, want %d", c.name, a.StatusCode, a.body, c.status)
		}
		if g.content(home+"/f") != "old" || g.exists(home+"/new") {
			t.Fatalf("%s: it wrote something", c.name)
		}
	}
}

func TestAFormWritesItsFiles(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	body, kind := form(`name="file"; filename="x/1.txt"`, "one", `name="other"; filename="no"`, "two", `name="file"; filename="/tmp/3"`, "three",
		`name="file"; filename="../user/4"`, "four", `name="file"; filename="a \"b\""`, "five")
	want := []string{home + "/x/1.txt", "/tmp/3", home + "/4", home + `/a "b"`}
	if got := g.do("POST", "/files", body, kind).written(t); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if g.content(home+"/x/1.txt") != "one" || g.content("/tmp/3") != "three" || g.content(home+"/4") != "four" || g.exists(home+"/no") {
		t.Error("the contents are wrong")
	}
	if a := g.do("POST", "/files", "--XX--\r\n", kind); a.StatusCode != 200 || a.body != "[]\n" {
		t.Errorf("no parts: %d %s", a.StatusCode, a.body)
	}
	body, kind = form(`name="file"; filename="ignored"`, "x")
	if got := g.do("POST", at("named"), body, kind).written(t); !slices.Equal(got, []string{home + "/named"}) || g.exists(home+"/ignored") {
		t.Errorf("%v", got)
	}
	body, kind = form(`name="file"`, "y")
	if g.do("POST", at("named"), body, kind).written(t); g.content(home+"/named") != "y" {
		t.Error("a part without a name did not go to the path")
	}
}

func TestAGzipBodyIsUnpacked(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	packed := string(gatewaytest.Gzipped([]byte("one "))) + string(gatewaytest.Gzipped([]byte("two")))
	if g.do("POST", at("f"), packed, octets, "Content-Encoding: GZip").written(t); g.content(home+"/f") != "one two" {
		t.Errorf("%q", g.content(home+"/f"))
	}
	body, kind := form(`name="file"; filename="g"`, "form")
	if g.do("POST", "/files", string(gatewaytest.Gzipped([]byte(body))), kind, "Content-Encoding: gzip").written(t); g.content(home+"/g") != "form" {
		t.Errorf("%q", g.content(home+"/g"))
	}
	cut := string(gatewaytest.Gzipped([]byte(strings.ReplaceAll(body, "form\r", "cut\r"))))
	if a := g.do("POST", "/files", cut[:len(cut)-8], kind, "Content-Encoding: gzip"); a.StatusCode != 400 || g.content(home+"/g") != "form" {
		t.Errorf("a form without its checksum: %d, %q", a.StatusCode, g.content(home+"/g"))
	}
}

func TestAnUploadThatBreaksOffLeavesNothing(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.put(home+"/f", "old")
	body, kind := form(`name="file"; filename="new/x"`, strings.Repeat("x", 5000))
	for _, request := range []string{
		"POST " + at("f") + " HTTP/1.1\r\n" + octets + "\r\nContent-Length: 1000\r\n\r\npart",
		"POST " + at("new/f") + " HTTP/1.1\r\n" + octets + "\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n",
		"POST /files HTTP/1.1\r\n" + kind + fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n", len(body)) + body[:1000],
	} {
		head, rest, _ := strings.Cut(request, "\r\n")
		c, err := (&net.Dialer{}).DialContext(gatewaytest.Deadline(t), "tcp", strings.TrimPrefix(g.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(head + "\r\nHost: x\r\nConnection: close\r\n" + rest)); err != nil {
			t.Fatal(err)
		}
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		answered := make([]byte, 100)
		n, _ := c.Read(answered) // the handler has returned when it ends
		if got := string(answered[:n]); n > 0 && !strings.HasPrefix(got, "HTTP/1.1 400") {
			t.Errorf("%s: %s", head, got)
		}
		c.Close()
		if g.content(home+"/f") != "old" || g.exists(home+"/new") {
			t.Errorf("%s left something", head)
		}
	}
}

func TestAnUploadIsSeenOnlyWhole(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.put(home+"/f", "old")
	c, err := (&net.Dialer{}).DialContext(gatewaytest.Deadline(t), "tcp", strings.TrimPrefix(g.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: 8\r\n\r\nhalf", at("f"), octets); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if a := g.do("GET", at("f"), ""); a.body != "old" {
			t.Fatalf("a reader sees %q", a.body)
		}
	}
	if _, err := c.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if a := g.do("GET", at("f"), ""); a.body != "halfhalf" {
		t.Errorf("%q", a.body)
	}
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

func TestMetadataIsThatOfTheLastUpload(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.do("POST", at("f"), "x", octets, "X-Metadata-Author:  a b ", "X-Metadata-V: 1", "X-Metadata-: none")
	a := g.do("POST", at("f"), "x", octets, "X-Metadata-KEY: v")
	if !strings.Contains(a.body, `"metadata":{"key":"v"}`) {
		t.Errorf("%s", a.body)
	}
	if e, err := g.stat("f"); err != nil || len(e.GetMetadata()) != 1 || e.GetMetadata()["key"] != "v" {
		t.Errorf("%v %v", e, err)
	}
	g.do("POST", at("f"), "x", octets)
	if e, err := g.stat("f"); err != nil || len(e.GetMetadata()) != 0 {
		t.Errorf("%v %v", e, err)
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
