package scenarios

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"assay/internal/envd/call"
)

func TestAStepIsResolvedWhereVariablesStandForValues(t *testing.T) {
	text := `needs: [process.start]
steps:
  - open: {as: c}
  - start: {as: p, sh: x}
  - send:
      rpc: a.B/C
      message: {process: {"${run}": ["${run}", 1, null, true], pid: "${p.pid}", text: "is ${p.pid}"}}
      headers: {x-run: "${run}", x-none: null}
  - send: {path: "/${run}", query: {a: "${run}"}, multipart: [{filename: "${name}", of: [{text: "${run}"}, {json: {a: "${run}"}}]}]}
  - start: {as: q, sh: "echo ${run}", envs: {A: "${run}"}, cwd: "/${name}", tag: "${run}"}
  - write: {to: c, of: [{text: "${run}"}, {envelope: {message: {tag: "${run}"}}}, {frame: {type: HEADERS, fields: [{name: "${run}", value: "${run}"}]}}]}
expect: {p: ok}
`
	s := parsed(t, text)
	var asked []string
	lookup := func(name string) (string, error) {
		asked = append(asked, name)
		return map[string]string{"run": "R", "name": "N", "p.pid": "17"}[name], nil
	}
	var all []*Step
	for i := range s.Steps[2:] {
		st, err := s.Steps[2+i].Resolve(lookup)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, st)
	}
	json := func(v any) string {
		p, err := call.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(p)
	}
	for _, tt := range []struct{ name, got, want string }{
		{"a message", json(all[0].Send.Message), `{"process":{"${run}":["R",1,null,true],"pid":17,"text":"is 17"}}`},
		{"header fields", *all[0].Send.Headers["x-run"] + strconv.FormatBool(all[0].Send.Headers["x-none"] == nil), "Rtrue"},
		{"a path and a query", all[1].Send.Path + all[1].Send.Query.Values["a"], "/RR"},
		{"a part", *all[1].Send.Multipart.Parts[0].Filename + *all[1].Send.Multipart.Parts[0].Of[0].Text + json(all[1].Send.Multipart.Parts[0].Of[1].JSON), `N${run}{"a":"R"}`},
		{"a start", all[2].Start.Sh + all[2].Start.Envs["A"] + *all[2].Start.Cwd + *all[2].Start.Tag, "echo ${run}R/NR"},
		{"a write", *all[3].Write.Of[0].Text + json(all[3].Write.Of[1].Envelope.Message) + all[3].Write.Of[2].Frame.Fields[0].Name + all[3].Write.Of[2].Frame.Fields[0].Value, `${run}{"tag":"R"}${run}R`},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, tt.got, tt.want)
		}
	}
	if was := json(s.Steps[2].Send.Message) + s.Steps[4].Start.Envs["A"] + *s.Steps[4].Start.Tag; strings.Count(was, "${run}") != 4 {
		t.Errorf("the script itself was changed: %s", was)
	}
	wrong := errors.New("no such pid")
	asked = nil
	_, err := s.Steps[2].Resolve(func(name string) (string, error) {
		asked = append(asked, name)
		return "", wrong
	})
	if !errors.Is(err, wrong) || len(asked) != 1 {
		t.Errorf("got %v after %s", err, strings.Join(asked, ", "))
	}
}

func TestStepsInsideAStepAreNotResolvedWithIt(t *testing.T) {
	s := parsed(t, "steps: [{parallel: [{send: {path: '/${run}'}}]}, {race: {at: now, a: {send: {path: '/${run}'}}, b: {send: {path: /}}}}]\nexpect: {send: {status: 200}}\n")
	for i := range s.Steps {
		st, err := s.Steps[i].Resolve(func(string) (string, error) { return "", errors.New("too early") })
		if err != nil || st != &s.Steps[i] {
			t.Errorf("got %v, %v", st, err)
		}
	}
}
