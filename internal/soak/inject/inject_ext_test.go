package inject_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assay/fakes/gateway"
	"assay/internal/soak/inject"
	"assay/internal/target"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
			i, err := inject.New(inject.Options{Target: target.Options{URL: url}, Kinds: inject.Kinds(), Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = i.Close() }()
			faults, ledger := i.During(t.Context(), n+1, 3*time.Second, "run")
			if len(faults) != 1 || faults[0].Kind != kind.Name || faults[0].RecoveredMS == nil || faults[0].ToMS < faults[0].FromMS {
				t.Fatalf("%+v", faults)
			}
			if ledger.Started == 0 || ledger.Started != ledger.Unseen || ledger.Uncertain > 0 {
				t.Errorf("ledger %+v", ledger)
			}
		})
	}
}

func TestKindsAreParsed(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  int
		err   string
	}{{[]string{"all"}, 7, ""}, {[]string{"cut", "reset", "cut"}, 2, ""}, {nil, 0, ""}, {[]string{"resets"}, 0, "want burst, cut"}} {
		got, err := inject.Parse(c.names)
		if len(got) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: %v, %v", c.names, got, err)
		}
	}
}

// Without a fault, the proxy passes every byte on, and it needs http.
func TestTheProxyPassesOn(t *testing.T) {
	i, err := inject.New(inject.Options{Target: target.Options{URL: start(t) + "/"}, Kinds: inject.Kinds()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = i.Close() }()
	resp, err := http.Get(i.URL() + "metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), "process_open_fds") {
		t.Errorf("HTTP %d, %v\n%s", resp.StatusCode, err, text)
	}
	http.DefaultClient.CloseIdleConnections()
	if _, err := inject.New(inject.Options{Target: target.Options{URL: "https://127.0.0.1:1"}, Kinds: inject.Kinds()}); err == nil || !strings.Contains(err.Error(), "http URL") {
		t.Errorf("https: %v", err)
	}
}
