package doctor

import (
	"runtime"
	"testing"
	"time"

	"assay/fakes/zoo"
	"assay/internal/base/machine"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/testkit"
)

func checkNamed(t *testing.T, r *bundle.DoctorReport, name string) bundle.DoctorCheck {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q in %+v", name, r.Checks)
	return bundle.DoctorCheck{}
}

func TestAMachineIsExaminedWithoutATarget(t *testing.T) {
	r, err := Examine(t.Context(), Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file descriptors", "source ports", "clock", "processors", "busy"} {
		if c := checkNamed(t, r, name); c.Of != "machine" || c.Value == "" {
			t.Errorf("%+v: want a value of the machine", c)
		}
	}
	if r.Target != nil || len(r.Features) > 0 {
		t.Errorf("a target was examined: %+v", r)
	}
}

func TestAMachineOnWhichNothingComesInTimeIsNotReady(t *testing.T) {
	for each, want := range map[int]bundle.Health{0: bundle.HealthOK, 3: bundle.HealthWarn, starved: bundle.HealthFail} {
		c := competition(func() (machine.Contest, bool) {
			return machine.Contest{Runnable: 1 + each*runtime.NumCPU()}, true
		})
		if c.Health != want || (c.Mend == "") != (want == bundle.HealthOK) {
			t.Errorf("%d threads for each processor: %+v, want %s", each, c, want)
		}
	}
	if c := competition(func() (c machine.Contest, ok bool) { return c, false }); c.Health != bundle.HealthOK {
		t.Errorf("unknown: %+v", c)
	}
}

func TestAGoodGatewayIsWell(t *testing.T) {
	g, err := zoo.Start(t.Context(), zoo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close() }()
	r, err := Examine(t.Context(), Options{Target: target.Options{URL: g.URL()}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"reachable", "shell"} {
		if c := checkNamed(t, r, name); c.Health != bundle.HealthOK {
			t.Errorf("%+v: want ok", c)
		}
	}
	for _, name := range []string{"round trip", "spawn latency", "end of true"} { // their health depends on the machine
		if c := checkNamed(t, r, name); c.Health == bundle.HealthFail || c.Value == "0s" || c.Value == "" {
			t.Errorf("%+v: want what was measured", c)
		}
	}
	if r.Features["process.start"].State != bundle.FeaturePresent {
		t.Errorf("process.start is %+v", r.Features["process.start"])
	}
}

func TestAPaceIsSlowAboveItsBoundAlone(t *testing.T) {
	const ok, warn = bundle.HealthOK, bundle.HealthWarn
	for _, c := range []struct {
		trip, spawn, end time.Duration
		want             []bundle.Health
	}{
		{time.Millisecond, 20 * time.Millisecond, 30 * time.Millisecond, []bundle.Health{ok, ok, ok}},
		{slowTrip, slowSpawn, slowEnd, []bundle.Health{ok, ok, ok}},
		{slowTrip + 1, time.Millisecond, time.Millisecond, []bundle.Health{warn, ok, ok}},
		{time.Millisecond, slowSpawn + 1, slowEnd, []bundle.Health{ok, warn, ok}},
		{time.Millisecond, 12 * time.Millisecond, slowEnd + 1, []bundle.Health{ok, ok, warn}},
		{time.Millisecond, 12 * time.Millisecond, 0, []bundle.Health{ok, ok, warn}},
	} {
		for i, got := range pace(bundle.Calibration{RTT: int64(c.trip), Spawn: int64(c.spawn), End: int64(c.end)}) {
			if got.Health != c.want[i] || (got.Mend != "") != (got.Health == warn) {
				t.Errorf("round trip %v, spawn %v, end %v: %+v, want %s", c.trip, c.spawn, c.end, got, c.want[i])
			}
		}
	}
}

func TestAGatewayThatLooksLikeTheDaemonIsNamed(t *testing.T) {
	for like, want := range map[string]string{"": "", "envd": "envd"} {
		g, err := zoo.Start(t.Context(), zoo.Options{Like: like})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Examine(t.Context(), Options{Target: target.Options{URL: g.URL()}})
		_ = g.Close()
		if err != nil {
			t.Fatal(err)
		}
		if r.Target.Looks != want {
			t.Errorf("like %q: looks like %q", like, r.Target.Looks)
		}
		if want != "" {
			if c := checkNamed(t, r, "looks like"); c.Health != bundle.HealthOK || c.Value != want {
				t.Errorf("%+v: want the name of the profile", c)
			}
		}
	}
}

func TestAClosedPortIsNotWellAndSaysWhy(t *testing.T) {
	addr, _ := testkit.ClosedPort(t)
	r, err := Examine(t.Context(), Options{Target: target.Options{URL: "http://" + addr}})
	if err != nil {
		t.Fatal(err)
	}
	if c := checkNamed(t, r, "reachable"); c.Health != bundle.HealthFail || c.Mend == "" || r.Exit != 3 {
		t.Errorf("%+v, exit %d: want a failure with a mend, exit 3", c, r.Exit)
	}
}

func TestAWrongURLIsAnError(t *testing.T) {
	if _, err := Examine(t.Context(), Options{Target: target.Options{URL: "ftp://x"}}); err == nil {
		t.Error("no error")
	}
}
