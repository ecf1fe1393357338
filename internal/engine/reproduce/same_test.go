package reproduce

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/judge"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/internal/testkit"
	"assay/scenarios"
)

// said returns a sighting of a verdict on one exchange, in iteration 3.
func said(c bundle.Conclusion, x bundle.Exchange) sighting {
	return sighting{
		&bundle.Verdict{Conclusion: c, Evidence: &bundle.Evidence{Iteration: 3}},
		&bundle.Observation{Iterations: []bundle.Iteration{{Index: 3, Exchanges: []bundle.Exchange{x}}}},
	}
}

func answer(outcome bundle.Outcome, status int, code string) bundle.Exchange {
	x := bundle.Exchange{Outcome: outcome}
	if status != 0 {
		x.Response = &bundle.Response{Status: status}
	}
	if code != "" {
		x.Error = &bundle.RPCError{Code: code}
	}
	return x
}

func TestAFailureIsShownByTheSameFailureAlone(t *testing.T) {
	whole := answer(bundle.OutcomeComplete, 200, "")
	nowhere := func(s sighting) sighting { s.verdict.Evidence = nil; return s }
	tests := []struct {
		name     string
		was, now sighting
		piped    bool
		same     bool
	}{
		{"the same answer", said(bundle.Fail, whole), said(bundle.Fail, whole), false, true},
		{"another conclusion", said(bundle.Fail, whole), said(bundle.Pass, whole), false, false},
		{"no verdict", said(bundle.Fail, whole), sighting{nil, &bundle.Observation{}}, false, false},
		{"a gateway that is gone", said(bundle.Fail, whole), said(bundle.Fail, answer(bundle.OutcomeNoConnect, 0, "")), false, false},
		{"a gateway that is gone, and a verdict without a response", nowhere(said(bundle.Fail, whole)), nowhere(said(bundle.Fail, answer(bundle.OutcomeNoConnect, 0, ""))), false, false},
		{"a gateway that had refused before", said(bundle.Fail, answer(bundle.OutcomeNoConnect, 0, "")), said(bundle.Fail, answer(bundle.OutcomeNoConnect, 0, "")), false, true},
		{"another status", said(bundle.Fail, whole), said(bundle.Fail, answer(bundle.OutcomeComplete, 502, "")), false, false},
		{"another error", said(bundle.Fail, answer(bundle.OutcomeComplete, 200, "internal")), said(bundle.Fail, answer(bundle.OutcomeComplete, 200, "unknown")), false, false},
		{"another gRPC status", said(bundle.Fail, bundle.Exchange{GRPC: &bundle.GRPCStatus{Code: 2}}), said(bundle.Fail, bundle.Exchange{}), false, false},
		{"another end", said(bundle.Fail, answer(bundle.OutcomeStalled, 200, "")), said(bundle.Fail, answer(bundle.OutcomeClosed, 200, "")), true, false},
		{"an end for a reset, of a replay", said(bundle.Fail, answer(bundle.OutcomeReset, 200, "")), said(bundle.Fail, answer(bundle.OutcomeClosed, 200, "")), false, false},
		{"an end for a reset, through a pipe", said(bundle.Fail, answer(bundle.OutcomeReset, 200, "")), said(bundle.Fail, answer(bundle.OutcomeClosed, 200, "")), true, true},
		{"nothing for a reset after a head, through a pipe", said(bundle.Fail, answer(bundle.OutcomeReset, 200, "")), said(bundle.Fail, answer(bundle.OutcomeNoAnswer, 0, "")), true, false},
		{"a verdict that no longer points at a response", said(bundle.Fail, whole), nowhere(said(bundle.Fail, whole)), false, false},
		{"verdicts without a response", nowhere(said(bundle.Fail, whole)), nowhere(said(bundle.Fail, whole)), false, true},
		{"a fail of a flaky rule", said(bundle.Flaky, whole), said(bundle.Fail, whole), false, true},
		{"an unexpected pass, without a response", said(bundle.UnexpectedPass, whole), nowhere(said(bundle.Pass, whole)), false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if why := another(tt.was, tt.now, tt.piped); (why == "") != tt.same {
				t.Errorf("got %q, want the same: %v", why, tt.same)
			}
		})
	}
}

func TestWhatBringsNothingShowsNothing(t *testing.T) {
	tests := []struct {
		name, nc, received string
		ran                bool
		want               string
	}{
		{"nc fails", "cat >/dev/null; echo refused >&2; exit 1", "HTTP/1.1 200 OK", false, "not tried: exit status 1: refused"},
		{"no response in place of one", "cat >/dev/null", "HTTP/1.1 200 OK", true, "no response"},
		{"the target is gone, after no response", "exit 0", "", false, "not tried: the target is no longer reachable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "nc"), []byte("#!/bin/sh\n"+tt.nc+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			addr, _ := testkit.ClosedPort(t)
			to, err := target.New(target.Options{URL: "http://" + addr})
			if err != nil {
				t.Fatal(err)
			}
			s, err := sourceOf(sending([]byte("x"), bundle.Exchange{}))
			if err != nil {
				t.Fatal(err)
			}
			s.conn.Received = bundle.NewBlob([]byte(tt.received), nil)
			m := &maker{o: Options{Target: to, Run: &bundle.Run{}, Clock: transport.NewClock(), Judge: &judge.Judge{Rules: &scenarios.Catalogue{}}}}
			text, err := s.script(m.dialing(), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := bundle.Reproducer{Kind: bundle.ReproduceShell, Text: text}
			m.run(t.Context(), s, &r)
			if r.Ran != tt.ran || r.Shown || !strings.HasPrefix(r.Output, tt.want) {
				t.Errorf("ran %v, shown %v: %q", r.Ran, r.Shown, r.Output)
			}
		})
	}
}
