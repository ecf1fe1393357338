package controlplane_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"assay/fakes/controlplane"
)

func TestEveryErrorHasAnIntegerCodeAndAMessage(t *testing.T) {
	inBubble(t, controlplane.Options{}, func(g *rig) {
		id := g.made(`{"templateID":"base"}`)
		for _, c := range []struct {
			status     int
			call, body string
		}{
			{400, "POST /sandboxes", ``},
			{400, "POST /sandboxes", `{`},
			{400, "POST /sandboxes", `[]`},
			{400, "POST /sandboxes", `{}`},
			{400, "POST /sandboxes", `{"templateID":"base"} x`},
			{400, "POST /sandboxes", `{"templateID":"base","timeout":0}`},
			{400, "POST /sandboxes", `{"templateID":"base","timeout":-1}`},
			{400, "POST /sandboxes", `{"templateID":"base","timeout":86401}`},
			{400, "POST /sandboxes", `{"templateID":"base","timeout":9223372036854775807}`},
			{400, "POST /sandboxes", `{"templateID":"base","timeout":9223372036854775808}`},
			{400, "POST /sandboxes", `{"templateID":"base","metadata":{"n":1}}`},
			{413, "POST /sandboxes", `{"templateID":"` + strings.Repeat("b", 1<<20) + `"}`},
			{404, "POST /sandboxes", `{"templateID":"unknown"}`},
			{501, "POST /sandboxes", `{"templateID":"base","volumeMounts":[{}]}`},
			{404, "GET /sandboxes/iunknown", ``},
			{400, "GET /sandboxes/UPPER", ``},
			{400, "GET /sandboxes/a_b", ``},
			{405, "PUT /sandboxes/" + id, ``},
			{405, "PUT /v2/sandboxes", ``},
			{404, "GET /sandboxes/" + id + "/unknown", ``},
			{404, "GET /unknown", ``},
			{501, "POST /sandboxes/" + id + "/snapshots", `{}`},
			{501, "POST /sandboxes/" + id + "/fork", `{}`},
			{501, "PUT /sandboxes/" + id + "/network", `{}`},
			{501, "GET /snapshots", ``},
			{501, "POST /v3/templates", `{}`},
			{501, "GET /volumes", ``},
			{404, "GET /templates/aliases/unknown", ``},
		} {
			r := g.call(c.call, c.body)
			m, _ := r.Body.(map[string]any)
			if r.Status != c.status || m["code"] != float64(c.status) || r.text("message") == "" {
				t.Errorf("%s %.60s: got %d %v, want %d", c.call, c.body, r.Status, r.Body, c.status)
			}
		}
	})
}

func TestAPageOfAnotherOriginCreatesNothing(t *testing.T) {
	inBubble(t, controlplane.Options{}, func(g *rig) {
		for name, value := range map[string]string{"Origin": "http://evil.example", "Host": "evil.example"} {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/sandboxes", strings.NewReader(`{"templateID":"base"}`))
			r.Host = "127.0.0.1"
			r.Header.Set(name, value)
			if name == "Host" {
				r.Host = value
			}
			if got := g.do(r); got.Status != 403 {
				t.Errorf("%s %s: %d", name, value, got.Status)
			}
		}
		if ids := g.want(200, "GET /v2/sandboxes", "").ids(); ids != nil {
			t.Errorf("created %v", ids)
		}
	})
}

func TestASandboxTellsItsLogAndMetrics(t *testing.T) {
	inBubble(t, controlplane.Options{}, func(g *rig) {
		id := g.made(`{"templateID":"base"}`)
		g.want(204, "POST /sandboxes/"+id+"/pause", "")
		g.want(201, "POST /sandboxes/"+id+"/connect", `{"timeout":5}`)
		for call, want := range map[string]int{
			"/sandboxes/" + id + "/logs":                                            3,
			"/sandboxes/" + id + "/logs?limit=2":                                    2,
			"/sandboxes/" + id + "/logs?start=9999999999999":                        0,
			"/v2/sandboxes/" + id + "/logs?direction=backward&limit=1":              1,
			"/v2/sandboxes/" + id + "/logs?search=paused":                           1,
			"/v2/sandboxes/" + id + "/logs?cursor=9999999999999":                    0,
			"/v2/sandboxes/" + id + "/logs?cursor=9999999999999&direction=backward": 3,
		} {
			m, _ := g.want(200, "GET "+call, "").Body.(map[string]any)
			if got := len(m["logs"].([]any)); got != want {
				t.Errorf("%s: %d entries, want %d", call, got, want)
			}
		}
		if got := g.want(200, "GET /sandboxes/"+id+"/metrics", "").Body.([]any); len(got) != 1 {
			t.Errorf("metrics %v", got)
		}
		many := g.want(200, "GET /sandboxes/metrics?sandbox_ids="+id+",iunknown", "").Body.(map[string]any)["sandboxes"].(map[string]any)
		if len(many) != 1 || many[id] == nil {
			t.Errorf("metrics of many: %v", many)
		}
		g.want(404, "GET /sandboxes/iunknown/logs", "")
		g.want(200, "GET /templates/aliases/base", "")
	})
}
