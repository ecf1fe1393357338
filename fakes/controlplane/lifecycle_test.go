package controlplane_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/fakes/controlplane"
	"assay/internal/testkit"
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

func TestASandboxEndsAtItsDeadline(t *testing.T) {
	inBubble(t, controlplane.Options{}, func(g *rig) {
		id := g.made(`{"templateID":"base","timeout":10}`)
		testkit.Advance(10*time.Second - time.Millisecond)
		g.want(200, "GET /sandboxes/"+id, "")
		testkit.Advance(51 * time.Millisecond)
		for _, call := range []string{"GET /sandboxes/" + id, "DELETE /sandboxes/" + id, "POST /sandboxes/" + id + "/connect", "POST /sandboxes/" + id + "/timeout", "POST /sandboxes/" + id + "/pause"} {
			g.want(404, call, `{"timeout":10}`)
		}
		if list := g.want(200, "GET /v2/sandboxes", "").ids(); len(list) != 0 {
			t.Errorf("the list has %v", list)
		}
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

func TestATimeoutMayBeShortenedAndExtended(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call, body string
		status     int
		left       time.Duration // of 100 s, after 10 s
	}{
		{"timeout", `{"timeout":5}`, 204, 5 * time.Second},
		{"timeout", `{"timeout":500}`, 204, 500 * time.Second},
		{"timeout", `{"timeout":-5}`, 400, 90 * time.Second},
		{"timeout", `{"timeout":3601}`, 400, 90 * time.Second},
		{"timeout", `{"timeout":1.5}`, 400, 90 * time.Second},
		{"timeout", `{"timeout":"5"}`, 400, 90 * time.Second},
		{"timeout", `{}`, 400, 90 * time.Second},
		{"refreshes", `{"duration":20}`, 204, 90 * time.Second},
		{"refreshes", `{"duration":200}`, 204, 200 * time.Second},
		{"refreshes", `{"duration":3601}`, 400, 90 * time.Second},
		{"refreshes", ``, 204, 90 * time.Second},
		{"connect", `{"timeout":5}`, 200, 90 * time.Second},
		{"connect", `{"timeout":200}`, 200, 200 * time.Second},
		{"connect", `{}`, 400, 90 * time.Second},
		{"timeout", `{"timeout":3600}`, 204, 3590 * time.Second}, // an hour in all
	} {
		t.Run(c.call+c.body, func(t *testing.T) {
			inBubble(t, controlplane.Options{MaxTimeout: time.Hour}, func(g *rig) {
				id := g.made(`{"templateID":"base","timeout":100}`)
				testkit.Advance(10 * time.Second)
				g.want(c.status, "POST /sandboxes/"+id+"/"+c.call, c.body)
				if left := time.Until(g.want(200, "GET /sandboxes/"+id, "").at(t, "endAt")); left != c.left {
					t.Errorf("%v are left, want %v", left, c.left)
				}
				testkit.Advance(c.left - time.Millisecond)
				g.want(200, "GET /sandboxes/"+id, "")
				testkit.Advance(2 * time.Millisecond)
				g.want(404, "GET /sandboxes/"+id, "")
			})
		})
	}
}

func TestATimeoutOfZeroEndsTheSandboxNow(t *testing.T) {
	inBubble(t, controlplane.Options{}, func(g *rig) {
		id := g.made(`{"templateID":"base"}`)
		g.want(204, "POST /sandboxes/"+id+"/timeout", `{"timeout":0}`)
		g.want(404, "GET /sandboxes/"+id, "")
	})
}

func TestTheSecondDeletionFindsNothing(t *testing.T) {
	inBubble(t, controlplane.Options{}, func(g *rig) {
		id := g.made(`{"templateID":"base"}`)
		g.want(204, "DELETE /sandboxes/"+id+"-local", "")
		g.want(404, "DELETE /sandboxes/"+id, "")
		g.want(404, "GET /sandboxes/"+id, "")
	})
}

func TestAPauseStopsTheClock(t *testing.T) {
	inBubble(t, controlplane.Options{}, func(g *rig) {
		made := g.want(201, "POST /v2/sandboxes", `{"templateID":"base","timeout":10,"metadata":{"k":"v"}}`)
		id := made.text("sandboxID")
		testkit.Advance(5 * time.Second)
		g.want(204, "POST /sandboxes/"+id+"/pause", "")
		g.want(409, "POST /sandboxes/"+id+"/pause", "")
		g.want(409, "POST /sandboxes/"+id+"/timeout", `{"timeout":5}`)
		testkit.Advance(time.Hour)
		r := g.want(200, "GET /sandboxes/"+id, "")
		if age := time.Since(r.at(t, "endAt")); r.text("state") != "paused" || age != time.Hour {
			t.Errorf("state %s, end %v ago", r.text("state"), age)
		}
		if ids := g.want(200, "GET /sandboxes", "").ids(); ids != nil {
			t.Errorf("the list of running sandboxes has %v", ids)
		}
		again := g.want(201, "POST /v2/sandboxes/"+id+"/connect", "")
		if again.text("envdAccessToken") != made.text("envdAccessToken") || again.text("envdAccessToken") == "" {
			t.Errorf("token %q, then %q", made.text("envdAccessToken"), again.text("envdAccessToken"))
		}
		g.want(409, "POST /sandboxes/"+id+"/resume", "")
		r = g.want(200, "GET /sandboxes/"+id, "")
		if since := time.Since(r.at(t, "startedAt")); since != 0 || r.text("state") != "running" {
			t.Errorf("%s for %v", r.text("state"), since)
		}
		testkit.Advance(301 * time.Second)
		g.want(404, "GET /sandboxes/"+id, "")
	})
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

func TestOfConcurrentConnectsOneResumes(t *testing.T) {
	inBubble(t, controlplane.Options{}, func(g *rig) {
		id := g.made(`{"templateID":"base"}`)
		g.want(204, "POST /sandboxes/"+id+"/pause", "")
		var resumed, found atomic.Int32
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				switch g.call("POST /v2/sandboxes/"+id+"/connect", `{"timeout":60}`).Status {
				case 201:
					resumed.Add(1)
				case 200:
					found.Add(1)
				}
			})
		}
		all.Wait()
		if resumed.Load() != 1 || found.Load() != 19 {
			t.Errorf("%d resumed and %d found it running", resumed.Load(), found.Load())
		}
	})
}

func TestAnAutomaticPauseComesAtTheDeadline(t *testing.T) {
	inBubble(t, controlplane.Options{}, func(g *rig) {
		id := g.made(`{"templateID":"base","timeout":10,"autoPause":true}`)
		for range 2 { // a resumption keeps it
			testkit.Advance(11 * time.Second)
			if state := g.want(200, "GET /sandboxes/"+id, "").text("state"); state != "paused" {
				t.Fatalf("state %s", state)
			}
			g.want(201, "POST /sandboxes/"+id+"/connect", `{"timeout":10}`)
		}
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
