package doctor

import (
	"testing"
	"time"

	"assay/fakes"
	"assay/internal/bundle"
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
	for _, name := range []string{"file descriptors", "source ports", "clock", "processors"} {
		if c := checkNamed(t, r, name); c.Of != "machine" || c.Value == "" {
			t.Errorf("%+v: want a value of the machine", c)
		}
	}
	if r.Target != nil || len(r.Features) > 0 {
		t.Errorf("a target was examined: %+v", r)
	}
}

func TestAGoodGatewayIsWell(t *testing.T) {
	g, err := fakes.Start(t.Context(), fakes.Options{})
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
	for _, name := range []string{"round trip", "spawn latency"} { // whether they are well is the machine's affair
		if c := checkNamed(t, r, name); c.Health == bundle.HealthFail || c.Value == "0s" || c.Value == "" {
			t.Errorf("%+v: want what was measured", c)
		}
	}
	if r.Features["process.start"].State != bundle.FeaturePresent {
		t.Errorf("process.start is %+v", r.Features["process.start"])
	}
}

func TestAPaceIsSlowAboveItsBoundAlone(t *testing.T) {
	for _, c := range []struct {
		trip, spawn time.Duration
		want        []bundle.Health
	}{
		{time.Millisecond, 20 * time.Millisecond, []bundle.Health{bundle.HealthOK, bundle.HealthOK}},
		{slowTrip, slowSpawn, []bundle.Health{bundle.HealthOK, bundle.HealthOK}},
		{slowTrip + 1, time.Millisecond, []bundle.Health{bundle.HealthWarn, bundle.HealthOK}},
		{time.Millisecond, slowSpawn + 1, []bundle.Health{bundle.HealthOK, bundle.HealthWarn}},
	} {
		for i, got := range pace(bundle.Calibration{RTT: int64(c.trip), Spawn: int64(c.spawn)}) {
			if got.Health != c.want[i] || (got.Mend != "") != (got.Health == bundle.HealthWarn) {
				t.Errorf("round trip %v, spawn %v: %+v, want %s", c.trip, c.spawn, got, c.want[i])
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
