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
