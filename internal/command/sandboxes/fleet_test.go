package sandboxes_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/command/sandboxes"
	"assay/internal/target"
)

// fleetOf returns a fleet of a plane whose creations are answered by their number, from 1.
func fleetOf(t *testing.T, p *brokenPlane, wanted int, create func(n int64, w http.ResponseWriter), first func(context.Context, target.Options) error) *sandboxes.Fleet {
	t.Helper()
	var n atomic.Int64
	p.create = func(w http.ResponseWriter) { create(n.Add(1), w) }
	p.get, p.health = answers(200, madeOne), answers(204, "")
	if first == nil {
		first = func(context.Context, target.Options) error { return nil }
	}
	// The time scale makes the limit of the first command short, and only that.
	o := target.Options{Control: target.Control{URL: p.serve(t), APIKey: apiKey}, TimeScale: 0.01}
	return sandboxes.NewFleet(sandboxes.Options{Target: o, Template: "base", Patience: 2 * time.Hour, Start: 2 * time.Hour}, wanted, first)
}

// made is the response to the n-th creation.
func made(n int64, w http.ResponseWriter) {
	answers(201, `{"sandboxID":"box`+strconv.FormatInt(n, 10)+`","templateID":"base"}`)(w)
}

func TestAFleetWithoutSomeOfItsSandboxesIsUsedAndNamesTheFailures(t *testing.T) {
	var p brokenPlane
	f := fleetOf(t, &p, 20, func(n int64, w http.ResponseWriter) {
		if n%4 == 0 {
			answers(503, `{"code":503,"message":"no host is free"}`)(w)
			return
		}
		made(n, w)
	}, nil)
	if err := f.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	points, err := f.Points(t.Context())
	creation, ready, took := f.Times()
	if err != nil || len(points) != 15 || len(creation) != 15 || len(ready) != 15 || took <= 0 {
		t.Errorf("%d sandboxes, %d and %d times, %v", len(points), len(creation), len(ready), err)
	}
	failed := f.Failed()
	if len(failed) != 5 || failed[0].What != "503" || !strings.Contains(failed[0].Err.Error(), "no host is free") {
		t.Errorf("the failures are %+v", failed)
	}
	for range 2 {
		if deleted, left := f.Close(); deleted != 15 || len(left) != 0 {
			t.Errorf("%d sandboxes deleted, left are %v", deleted, left)
		}
	}
	if n := p.deleted.Load(); n != 15 {
		t.Errorf("%d deletions, want 15", n)
	}
}

func TestARefusalEndsTheCreationOfAFleet(t *testing.T) {
	var p brokenPlane
	f := fleetOf(t, &p, 40, func(n int64, w http.ResponseWriter) {
		if n > 20 {
			answers(429, `{"code":429,"message":"20 sandboxes are the maximum"}`)(w)
			return
		}
		made(n, w)
	}, nil)
	err := f.Create(t.Context())
	var unreachable *target.UnreachableError
	if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "429, 20 sandboxes are the maximum") || !strings.Contains(err.Error(), "of 40 sandboxes had been created; they are deleted") {
		t.Errorf("the error is %v", err)
	}
	if n := p.deleted.Load(); n != 20 || len(f.Left()) != 0 {
		t.Errorf("%d sandboxes deleted, left are %v; want 20 and none", n, f.Left())
	}
}

func TestASandboxThatRunsNoCommandFailsAndIsDeleted(t *testing.T) {
	var p brokenPlane
	f := fleetOf(t, &p, 1, made, func(context.Context, target.Options) error { return errors.New("HTTP 404") })
	err := f.Create(t.Context())
	if err == nil || !strings.Contains(err.Error(), "its sandbox box1 runs no command within 100ms: HTTP 404") {
		t.Errorf("the error is %v", err)
	}
	if failed := f.Failed(); len(failed) != 1 || failed[0].What != "no_command" || p.deleted.Load() != 1 {
		t.Errorf("failures %+v, %d sandboxes deleted", failed, p.deleted.Load())
	}
}

func TestAnInterruptedFleetLeavesNoSandbox(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var p brokenPlane
	var ran atomic.Int64
	f := fleetOf(t, &p, 30, made, func(context.Context, target.Options) error {
		if ran.Add(1) == 5 {
			interrupt()
		}
		return nil
	})
	if err := f.Create(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if left := f.Left(); len(left) != 0 || p.deleted.Load() == 0 {
		t.Errorf("left are %v; %d deleted", left, p.deleted.Load())
	}
}
