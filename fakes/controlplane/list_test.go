package controlplane_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/fakes/controlplane"
	"assay/internal/testkit"
)

func TestFiltersSelectSandboxes(t *testing.T) {
	inBubble(t, controlplane.Options{}, func(g *rig) {
		a := g.made(`{"templateID":"base","metadata":{"k a":"1&2 3","x":"y"}}`)
		testkit.Advance(time.Second)
		b := g.made(`{"templateID":"code-interpreter-v1","metadata":{"x":"y"}}`)
		g.want(204, "POST /sandboxes/"+b+"/pause", "")
		started := g.want(200, "GET /sandboxes/"+b, "").text("startedAt")
		escaped := url.QueryEscape // PathEscape of the SDK differs in + only
		sdk := func(k, v string) string { return escaped(escaped(escaped(k)) + "=" + escaped(escaped(v))) }
		for q, want := range map[string][]string{
			"":                                    {b, a},
			"order=asc":                           {a, b},
			"metadata=" + sdk("k a", "1&2 3"):     {a},
			"metadata=k%252520a%3D1%25252622":     nil,
			"metadata=x%3Dy":                      {b, a},
			"metadata=x%3Dy%26none%3D":            nil,
			"state=paused":                        {b},
			"state=running":                       {a},
			"state=running,paused":                {b, a},
			"state=running&state=paused":          {b, a},
			"template=base":                       {a},
			"template=unknown":                    nil,
			"startedAfter=" + escaped(started):    {b},
			"startedAfter=2999-01-01T00:00:00Z":   nil,
			"metadata=x%3Dy&state=paused&limit=1": {b},
		} {
			if got := g.want(200, "GET /v2/sandboxes?"+q, "").ids(); !slices.Equal(got, want) {
				t.Errorf("%q: got %v, want %v", q, got, want)
			}
		}
		if got := g.want(200, "GET /sandboxes?metadata="+sdk("x", "y"), "").ids(); !slices.Equal(got, []string{a}) {
			t.Errorf("running: %v", got)
		}
	})
}

func FuzzList(f *testing.F) {
	f.Add("limit=1&nextToken=ZGVzYyAxIGlh&order=desc&metadata=a%253D&state=running,,paused&startedAfter=2026-01-01T00:00:00Z")
	f.Fuzz(func(t *testing.T, q string) {
		g := newRig(t, controlplane.Options{})
		defer g.Close()
		if r := g.call("GET /v2/sandboxes?"+strings.NewReplacer(" ", "", "#", "", "\n", "").Replace(url.PathEscape(q)), ""); r.Status != 200 && r.Status != 400 {
			t.Errorf("%q: %d %v", q, r.Status, r.Body)
		}
	})
}
