package interpreter

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// FuzzRequest sends any body of any content type to the routes: the response is an error of the client,
// or one JSON object per line of which the last one ends the execution.
func FuzzRequest(f *testing.F) {
	f.Add("/execute", "application/json", []byte(`{"code":"1","context_id":null,"env_vars":{"A":"b"}}`))
	f.Add("/execute", "application/json", []byte(`{"code":"print('x')","language":"python"}`))
	f.Add("/execute", "text/plain", []byte("\xff{}"))
	f.Add("/contexts", "application/x+json; charset=utf-8", []byte(`{"cwd":[],"language":{"a":1e400}}`))
	f.Add("/contexts", "application/json", bytes.Repeat([]byte("["), 20_000))
	f.Fuzz(func(t *testing.T, path, kind string, body []byte) {
		mux := http.NewServeMux()
		for pattern, h := range New(Options{AfterFunc: after, Policy: Policy{}}).Routes() {
			mux.Handle(pattern, h)
		}
		// Code is the work of another target.
		if bytes.Contains(body, []byte("code")) && !bytes.Contains(body, []byte(`"code":"1"`)) && !bytes.Contains(body, []byte(`"code":"print('x')"`)) {
			t.Skip("it runs other code")
		}
		if path != "/execute" {
			path = "/contexts"
		}
		r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		begun := time.Now()
		mux.ServeHTTP(w, r)
		if took := time.Since(begun); took > 10*time.Second {
			t.Fatalf("took %s", took)
		}
		switch {
		case w.Code == http.StatusOK && path == "/execute":
			lines := strings.Split(strings.TrimSuffix(w.Body.String(), "\n"), "\n")
			for i, line := range lines {
				var v map[string]any
				if err := json.Unmarshal([]byte(line), &v); err != nil {
					t.Fatalf("line %d: %v: %q", i, err, line)
				}
				if end := v["type"] == "end_of_execution"; end != (i == len(lines)-1) {
					t.Errorf("line %d of %d is %q", i, len(lines), line)
				}
			}
		case w.Code >= 500 && !strings.Contains(w.Body.String(), "no such kernel"):
			t.Errorf("%d %q", w.Code, w.Body)
		case w.Code != http.StatusOK && w.Body.Len() == 0:
			t.Errorf("%d without a body", w.Code)
		}
	})
}
