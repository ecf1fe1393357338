package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/fakes/authproxy"
)

func TestLimitsAreReadFromTheirFlag(t *testing.T) {
	f := issuerFlags{limits: []string{"connections=30/1m30s", "sandboxes=3", "bandwidth=1.5KB", "idle=65s", "block=rm", "block=dd"}}
	got, err := f.parse()
	want := authproxy.Limits{
		Connections: 30, Per: 90 * time.Second, Sandboxes: 3, BytesPerSecond: 1536, Idle: 65 * time.Second, Blocked: []string{"rm", "dd"},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestALimitThatMeansNothingIsAnError(t *testing.T) {
	for _, limit := range []string{
		"idle", "idle=", "idle=0s", "idle=-1s", "idle=65", "sandboxes=0", "sandboxes=-1", "sandboxes=many", "bandwidth=0", "bandwidth=fast",
		"connections=3", "connections=3/", "connections=0/1m", "connections=3/0s", "connections=3/-1m", "block=", "other=1",
	} {
		f := issuerFlags{limits: []string{limit}}
		if got, err := f.parse(); err == nil || !strings.Contains(err.Error(), "--limit") {
			t.Errorf("%s: got %+v, %v", limit, got, err)
		}
	}
}
