package stdio

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func FuzzControl(f *testing.F) {
	for _, text := range []string{
		`{"type":"resize","cols":80,"rows":24}`, `{"type":"signal","signal":"SIGINT"}`, `{"type":"eof"}`, `{"type":"stdin","pane":"left","data":"x"}`,
		`{"type":"open","pane":"left","cmd":"sh","args":["-c"],"pty":true,"cols":1,"rows":65535}`, `{"type":null}`, `[]`, `{"type":"resize","cols":1e3,"rows":-0}`, ``,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, kind, err := parseControl(text)
		if err != nil {
			return
		}
		var whole map[string]any
		if err := json.Unmarshal(text, &whole); err != nil || whole["type"] != kind {
			t.Fatalf("%q has the type %q: %v", text, kind, err)
		}
		if size, err := m.size(); err == nil && (size.Cols < 1 || size.Cols > 65535 || size.Rows < 1 || size.Rows > 65535) {
			t.Errorf("%q has the size %v", text, size)
		}
		if c, err := m.command(); err == nil && (c.Cmd == "" || len(c.Args) > maxArgs || c.PTY != nil && (c.PTY.Cols == 0 || c.PTY.Rows == 0)) {
			t.Errorf("%q has the command %+v", text, c)
		}
		if sig, err := m.signal(); err == nil && (sig < 1 || sig > 31) {
			t.Errorf("%q has the signal %d", text, sig)
		} else if err != nil && !utf8.ValidString(err.Error()) {
			t.Errorf("%q: the error is not UTF-8", text)
		}
	})
}

func FuzzRequest(f *testing.F) {
	for _, query := range []string{
		"cmd=sh&arg=-c&arg=true&sandbox=x", "cmd=a&pty=1&cols=80&rows=24", "session=s&role=viewer", "cmd=%00", "cmd=a;b", "pty=1&pty=1", "", "cmd=a&cols=+1",
	} {
		f.Add(query)
	}
	s := New(Options{})
	f.Fuzz(func(t *testing.T, query string) {
		q, err := parsed(s, query)
		if err != nil {
			return
		}
		if q.Cmd == "" && q.session == "" || len(q.Args) > maxArgs || q.session != "" && !isName(q.session) {
			t.Errorf("%q was accepted: %+v", query, q)
		}
		if q.role != driver && q.role != viewer && q.role != collaborative || q.role != collaborative && q.session == "" {
			t.Errorf("%q has the role %q", query, q.role)
		}
		if q.PTY != nil && (q.PTY.Cols-1 >= 65535 || q.PTY.Rows-1 >= 65535) {
			t.Errorf("%q has the size %v", query, *q.PTY)
		}
	})
}
