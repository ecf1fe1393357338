package reports

import (
	"io"

	"assay/internal/record/bundle"
)

// ctrfLoad is what extra has of a load run.
type ctrfLoad struct {
	Schema     string                 `json:"schema"`
	Verdict    bundle.LoadVerdict     `json:"verdict"`
	Exit       int                    `json:"exit"`
	Reasons    []string               `json:"reasons"`
	Streams    bundle.LoadStreams     `json:"streams"`
	Latency    bundle.LoadLatencies   `json:"latency_us"`
	Thresholds []bundle.LoadThreshold `json:"thresholds"`
}

// loadCTRF writes the report of a load run in the Common Test Report Format, with the tests
// that JUnit has.
func loadCTRF(w io.Writer, r *bundle.LoadReport) error {
	suite, err := loadSuite(r)
	if err != nil {
		return err
	}
	doc := newCTRF(r.Tool, "", r.Started, r.DurationMS)
	for i, c := range suite.Cases {
		t := ctrfCase(c)
		if i == len(suite.Cases)-1 { // the run as a whole
			t.Duration = r.DurationMS
		}
		doc.add(t)
	}
	doc.Results.Summary.Extra = ctrfLoad{
		Schema: bundle.LoadSchema, Verdict: r.Verdict, Exit: r.Exit(), Reasons: list(r.Reasons),
		Streams: r.Streams, Latency: r.Latency, Thresholds: list(r.Thresholds),
	}
	doc.Results.Environment = &ctrfEnvironment{App: clean(r.Target.URL), Profile: clean(r.Target.Profile), Extra: r.Target}
	return writeJSON(w, doc)
}
