package controlplane_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"assay/fakes/controlplane"
)

// inBubble runs a test of a plane with a time that passes only while all wait.
func inBubble(t *testing.T, o controlplane.Options, test func(g *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, o)
		defer g.Close()
		test(g)
	})
}

func TestTheTimeoutIsThatOfTheRequestOrItsDefault(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]time.Duration{
		`POST /sandboxes {"templateID":"base"}`:                   15 * time.Second,
		`POST /v2/sandboxes {"templateID":"base"}`:                300 * time.Second,
		`POST /sandboxes {"templateID":"base:dev","timeout":7}`:   7 * time.Second,
		`POST /v2/sandboxes {"templateID":"base","timeout":null}`: 300 * time.Second,
	} {
		inBubble(t, controlplane.Options{}, func(g *rig) {
			var method, path, body string
			if _, err := fmt.Sscan(call, &method, &path, &body); err != nil {
				t.Fatal(err)
			}
			id := g.want(201, method+" "+path, body).text("sandboxID")
			r := g.want(200, "GET /sandboxes/"+id, "")
			if got := r.at(t, "endAt").Sub(r.at(t, "startedAt")); got != want {
				t.Errorf("%s: %v, want %v", call, got, want)
			}
		})
	}
}

func TestResumeWakesAPausedSandbox(t *testing.T) {
	inBubble(t, controlplane.Options{}, func(g *rig) {
		id := g.made(`{"templateID":"base"}`)
		g.want(204, "POST /sandboxes/"+id+"/pause", "{}")
		g.want(201, "POST /sandboxes/"+id+"/resume", `{"timeout":60}`)
		g.want(204, "POST /sandboxes/"+id+"/pause", "{}")
		g.want(204, "DELETE /sandboxes/"+id, "")
		g.want(404, "POST /sandboxes/"+id+"/resume", "")
	})
}

func TestTheNumberOfSandboxesIsLimited(t *testing.T) {
	inBubble(t, controlplane.Options{MaxSandboxes: 2}, func(g *rig) {
		first := g.made(`{"templateID":"base"}`)
		g.made(`{"templateID":"base"}`)
		r := g.want(429, "POST /sandboxes", `{"templateID":"base"}`)
		if r.Header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q", r.Header.Get("Retry-After"))
		}
		g.want(204, "DELETE /sandboxes/"+first, "")
		g.made(`{"templateID":"base"}`)
	})
}

func TestAClosedPlaneCreatesNothing(t *testing.T) {
	inBubble(t, controlplane.Options{}, func(g *rig) {
		id := g.made(`{"templateID":"base"}`)
		g.Close()
		g.want(http.StatusServiceUnavailable, "POST /sandboxes", `{"templateID":"base"}`)
		g.want(404, "GET /sandboxes/"+id, "")
	})
}
