package reproduce

import (
	"context"
	"errors"
	"strings"
	"testing"

	"assay/internal/base/secret"
	"assay/internal/judge"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

func TestWhatACorrectGatewayShowsTooProvesNothing(t *testing.T) {
	whole := answer(bundle.OutcomeComplete, 200, "")
	other := said(bundle.Fail, answer(bundle.OutcomeComplete, 404, ""))
	other.verdict.Message = "status: want 200, saw 404"
	tests := []struct {
		name       string
		was, right sighting
		want       string
	}{
		{"it passes", said(bundle.Fail, whole), said(bundle.Pass, whole), ""},
		{"it could not be judged", said(bundle.Fail, whole), said(bundle.Inconclusive, whole), ""},
		{"the rule does not apply", said(bundle.Fail, whole), sighting{nil, &bundle.Observation{}}, ""},
		{"it fails in the same way", said(bundle.Fail, whole), said(bundle.Fail, whole), "the reference gateway responds the same"},
		{"it breaks a should in the same way", said(bundle.Advisory, whole), said(bundle.Advisory, whole), "the reference gateway responds the same"},
		{"it fails in another way", said(bundle.Fail, whole), other, notCompared + "it breaks the rule in another way there: status: want 200, saw 404"},
		{"it passes what should have failed", said(bundle.UnexpectedPass, whole), said(bundle.Pass, whole), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := bothShow(tt.was, tt.right, false); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestNothingIsShownWithoutAComparison(t *testing.T) {
	f := sending([]byte("x"), answer(bundle.OutcomeComplete, 200, ""))
	asked := 0
	failing := func(context.Context) (*Reference, error) { asked++; return nil, errors.New("no port") }
	there := func(context.Context) (*Reference, error) { return &Reference{Run: &bundle.Run{}}, nil }
	tests := []struct {
		name      string
		reference func(context.Context) (*Reference, error)
		right     *bundle.Observation
		want      string
	}{
		{"there is no gateway", nil, nil, "none is available"},
		{"it does not start", failing, nil, "no port"},
		{"it did not run in time", there, nil, "the time for reproducers was spent"},
		{"it was interrupted", there, &bundle.Observation{Interrupted: true}, "the time for reproducers was spent"},
		{"it did not run the scenario", there, &bundle.Observation{Skip: &bundle.Skip{Reason: bundle.SkipFeature, Detail: "x"}}, "the scenario does not run there: x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &maker{
				o:     Options{Reference: tt.reference, Judge: &judge.Judge{Rules: &scenarios.Catalogue{}}},
				right: map[key]*bundle.Observation{keyOf(f): tt.right},
			}
			for range 2 {
				if got := m.likewise(t.Context(), f); got != notCompared+tt.want {
					t.Errorf("got %q, want %q", got, notCompared+tt.want)
				}
			}
			pass := f
			pass.Verdict.Conclusion = bundle.UnexpectedPass
			if got := m.likewise(t.Context(), pass); got != "" {
				t.Errorf("an unexpected pass is not shown: %q", got)
			}
		})
	}
	if asked != 1 {
		t.Errorf("a gateway that does not start was requested %d times", asked)
	}
}

func TestAReplayDemandsTheTokenOfTheEnvironment(t *testing.T) {
	secrets := secretHeaders([]bundle.Header{{Name: "x-access-token", Value: "topsecret"}}, secret.New([]string{"topsecret"}))
	f := sending([]byte("x"), bundle.Exchange{})
	for _, tt := range []struct {
		name    string
		secrets []secretHeader
		flags   []string
		want    string
	}{
		{"no token", nil, nil, "assay replay a.b"},
		{"a token from the environment", secrets, nil, `ASSAY_TOKEN="${ASSAY_TOKEN:?set it to the access token}" assay replay a.b`},
		{"a token from a file", secrets, []string{"--token-file", "t"}, "assay replay a.b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &maker{o: Options{Run: &bundle.Run{Flags: tt.flags}}, secrets: tt.secrets}
			got := m.replay(f)
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			stub := "assay() { echo \"ran with $ASSAY_TOKEN\"; }\n"
			if tt.flags != nil || tt.secrets == nil {
				return
			}
			if out := sh(t, stub+got, "ASSAY_TOKEN=a $b"); out != "ran with a $b\n" {
				t.Errorf("got %q", out)
			}
			if out, err := fails(t, stub+got); !strings.Contains(err, "set it to the access token") || out != "" {
				t.Errorf("got %q, %q", out, err)
			}
		})
	}
}
