package inject_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assay/fakes/gateway"
	"assay/internal/load/fleet"
	"assay/internal/load/portable"
	"assay/internal/load/soak/inject"
	"assay/internal/target"
	"assay/internal/target/transport"
)

// workerFlag makes the test's binary a worker process of a load run.
const workerFlag = "load-worker"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == workerFlag {
		if err := fleet.Serve(context.Background(), os.Stdin, "test", portable.Engine{}); err != nil {
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// options returns the options of an injector with a worker.
func options(t target.Options) inject.Options {
	return inject.Options{Target: t, Kinds: inject.Kinds(), Seed: 1, Engine: portable.Engine{}, Fleet: fleet.New(fleet.Options{Version: "test", Line: []string{os.Args[0], workerFlag}}), Profile: "full", Version: "test"}
}

func start(t *testing.T) string {
	t.Helper()
	g, err := gateway.Start(context.WithoutCancel(t.Context()), gateway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g.URL()
}

// Every kind is injected, recovers on a right gateway, and accounts for its commands.
func TestEachFaultIsInjectedAndRecovers(t *testing.T) {
	url := start(t)
	for n, kind := range inject.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			i, err := inject.New(options(target.Options{URL: url, TimeScale: 6})) // nothing here waits for a limit
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = i.Close() }()
			faults, ledger := i.During(t.Context(), n+1, 3*time.Second, "run")
			if len(faults) != 1 || faults[0].Kind != kind.Name || faults[0].RecoveredMS == nil || faults[0].ToMS < faults[0].FromMS {
				t.Fatalf("%+v", faults)
			}
			// The load run of a pause ends by the clock, on a busy machine before its last streams have begun.
			uncertain := ledger.Uncertain > 0 && kind.Name != "pause"
			if ended := ledger.Unseen + ledger.OK + ledger.Error + ledger.Killed; ledger.Started == 0 || ledger.Started != ended || uncertain {
				t.Errorf("ledger %+v", ledger)
			}
			if faults[0].Lost > 0 {
				t.Errorf("%d streams were lost: %s", faults[0].Lost, faults[0].Example)
			}
			if took := faults[0].ToMS - faults[0].FromMS; kind.Name == "pause" && took < 3000 {
				t.Errorf("the pause took %d ms", took)
			}
		})
	}
}

func TestKindsAreParsed(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  int
		err   string
	}{{[]string{"all"}, 8, ""}, {[]string{"cut", "reset", "cut"}, 2, ""}, {nil, 0, ""}, {[]string{"resets"}, 0, "want burst, cut"}} {
		got, err := inject.Parse(c.names)
		if len(got) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: %v, %v", c.names, got, err)
		}
	}
}

// Without a fault, the proxy passes every byte on, and TLS is that of the target.
func TestTheProxyPassesOn(t *testing.T) {
	secure, err := gateway.Start(context.WithoutCancel(t.Context()), gateway.Options{TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = secure.Close() })
	for _, o := range []target.Options{{URL: start(t)}, {URL: secure.URL(), CACert: secure.CACert()}} {
		i, err := inject.New(options(o))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = i.Close() }()
		o.Via = i.Via()
		proxied, err := target.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if proxied.Addr() != i.Via() || proxied.Authority() == i.Via() {
			t.Errorf("it connects to %s, and asks for %s", proxied.Addr(), proxied.Authority())
		}
		clock := transport.NewClock()
		if _, err := proxied.Calibrate(t.Context(), clock); err != nil {
			t.Errorf("%s: %v", o.URL, err)
		}
	}
	if _, err := inject.New(inject.Options{Target: target.Options{URL: start(t)}, Kinds: inject.Kinds()}); err == nil || !strings.Contains(err.Error(), "leave pause out") {
		t.Errorf("without a worker: %v", err)
	}
	if i, err := inject.New(inject.Options{Target: target.Options{URL: start(t)}, Kinds: inject.Kinds()[:1]}); err != nil || i.Via() != "" {
		t.Errorf("a fault without a proxy: %v", err)
	}
}
