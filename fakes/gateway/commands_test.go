package gateway

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"assay/fakes/gatewaytest"
)

func TestTheAliasStreamsOneLinePerEvent(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	got := gatewaytest.NDJSON(t, g, `{"cmd":"seq 1 3; echo oops >&2; printf '\\342\\202\\254'; exit 4"}`)
	want := []string{
		`{"type":"stdout","data":"1\n"}`, `{"type":"stdout","data":"2\n"}`, `{"type":"stdout","data":"3\n"}`,
		`{"type":"stderr","data":"oops\n"}`, `{"type":"stdout","data":"€"}`, `{"type":"end","exit_code":4}`,
	}
	if !strings.HasPrefix(got[0], `{"type":"start","pid":`) || strings.Join(got[1:], "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant a start line and\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	wantBooks(t, g, 1, 0, 1, 0, 0)
}

func TestTheDeadlineOfTheAlias(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{ClockScale: 200})
	for _, c := range []struct{ name, body, last string }{
		{"kills at timeout_ms", `{"cmd":"echo x; sleep 100","timeout_ms":200}`, `{"type":"end","exit_code":-1}`},
		{"is 60 s of the gateway's own clock when absent", `{"cmd":"sleep 100"}`, `{"type":"end","exit_code":-1}`},
		{"is absent when timeout_ms is 0", `{"cmd":"sleep 0.5","timeout_ms":0}`, `{"type":"end","exit_code":0}`},
	} {
		if got := gatewaytest.NDJSON(t, g, c.body); got[len(got)-1] != c.last {
			t.Errorf("the deadline %s: %q, want %s at the end", c.name, got, c.last)
		}
	}
	wantBooks(t, g, 3, 1, 0, 2, 0)
}

func TestBadRequestsToTheAliasRunNothing(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	for _, body := range []string{
		``, `[]`, `{`, `{}`, `{"cmd":1}`, `{"cmd":"true"}{}`,
		`{"cmd":"true","timeout_ms":-1}`, `{"cmd":"true","timeout_ms":"5"}`, `{"cmd":"true","timeout_ms":1.5}`,
		`{"cmd":"true","timeout_ms":null}`, `{"cmd":"true","timeout_ms":true}`, `{"cmd":"true","timeout_ms":99999999999}`,
	} {
		a := gatewaytest.RoundTrip(t, g, "POST", "/commands", []byte(body))
		if a.Status != http.StatusBadRequest || a.Code != "invalid_argument" || a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %q", body, a.Status, a.Body)
		}
		if strings.Contains(string(a.Body), "Go ") || strings.Contains(string(a.Body), "struct") {
			t.Errorf("%s: the response mentions Go: %s", body, a.Body)
		}
	}
	wantBooks(t, g, 0, 0, 0, 0, 0)
}

func TestTheAliasShowsLogsAndKillsWhatRuns(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	resp, err := http.Post(g.URL()+"/commands", "application/json", strings.NewReader(`{"cmd":"echo one; echo two >&2; sleep 100","timeout_ms":0}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	var start line
	for range 3 { // start, one, two: each is flushed at once
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		if start.PID == 0 {
			if err := json.Unmarshal(lines.Bytes(), &start); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := fmt.Sprintf("/commands/%d", start.PID)
	var list struct{ Commands []commandInfo }
	if err := json.Unmarshal(gatewaytest.RoundTrip(t, g, "GET", "/commands", nil).Body, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Commands) != 1 || list.Commands[0].PID != start.PID || list.Commands[0].Cmd != "echo one; echo two >&2; sleep 100" || list.Commands[0].State != "running" {
		t.Errorf("list %+v", list)
	}
	if a := gatewaytest.RoundTrip(t, g, "GET", path+"/log", nil); string(a.Body) != "one\ntwo\n" || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("log %q, %q", a.Body, a.Header.Get("Content-Type"))
	}
	if a := gatewaytest.RoundTrip(t, g, "POST", path+"/kill", nil); a.Status != 200 || strings.TrimSpace(string(a.Body)) != "{}" {
		t.Errorf("kill: %d %q", a.Status, a.Body)
	}
	if a := gatewaytest.RoundTrip(t, g, "POST", path+"/kill", nil); a.Status != 404 || a.Code != "not_found" {
		t.Errorf("second kill: %d %q", a.Status, a.Body)
	}
	rest, err := io.ReadAll(resp.Body)
	_ = rest
	if err != nil {
		t.Error(err)
	}
	for lines.Scan() {
		continue
	}
	var info commandInfo
	if err := json.Unmarshal(gatewaytest.RoundTrip(t, g, "GET", path, nil).Body, &info); err != nil || info.State != "ended" || *info.ExitCode != -1 {
		t.Errorf("after the end: %+v, %v", info, err)
	}
	if a := gatewaytest.RoundTrip(t, g, "GET", "/commands", nil); strings.TrimSpace(string(a.Body)) != `{"commands":[]}` {
		t.Errorf("list after the end: %s", a.Body)
	}
	for _, p := range []string{"/commands/4000000", "/commands/x", "/commands/4000000/log", "/commands/-1"} {
		if a := gatewaytest.RoundTrip(t, g, "GET", p, nil); a.Status != 404 || a.Code != "not_found" {
			t.Errorf("%s: %d %q", p, a.Status, a.Body)
		}
	}
	wantBooks(t, g, 1, 0, 0, 1, 0)
}

func TestHealthAndMetrics(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{MetricsPrefix: "acme"})
	if a := gatewaytest.RoundTrip(t, g, "GET", "/health", nil); a.Status != 204 || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("health: %d %v", a.Status, a.Header)
	}
	for _, path := range []string{"/health", "/metrics"} {
		if a := gatewaytest.RoundTrip(t, g, "POST", path, nil); a.Status != 405 || a.Header.Get("Allow") == "" {
			t.Errorf("C7: POST %s: %d, Allow %q", path, a.Status, a.Header.Get("Allow"))
		}
	}
	scrape := func() string {
		a := gatewaytest.RoundTrip(t, g, "GET", "/metrics", nil)
		if a.Status != 200 || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
			t.Errorf("metrics: %d %q", a.Status, a.Header.Get("Content-Type"))
		}
		return string(a.Body)
	}
	before := scrape()
	for _, series := range []string{
		"acme_commands_started_total 0", "acme_commands_active 0",
		`acme_commands_finished_total{status="ok"} 0`, `acme_commands_finished_total{status="error"} 0`, `acme_commands_finished_total{status="killed"} 0`,
	} {
		if !strings.Contains(before, series+"\n") {
			t.Errorf("%s is missing at the start:\n%s", series, before)
		}
	}
	gatewaytest.NDJSON(t, g, `{"cmd":"true"}`)
	gatewaytest.NDJSON(t, g, `{"cmd":"false"}`)
	after := scrape()
	for _, series := range []string{"acme_commands_started_total 2", `{status="ok"} 1`, `{status="error"} 1`, `{status="killed"} 0`, "acme_commands_active 0"} {
		if !strings.Contains(after, series+"\n") {
			t.Errorf("%s is missing:\n%s", series, after)
		}
	}
}
