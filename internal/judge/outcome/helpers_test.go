package outcome

import "assay/internal/record/bundle"

func testRun() *bundle.Run {
	return &bundle.Run{
		ID: "r1", Tool: bundle.Tool{Name: "assay"}, Target: bundle.Target{URL: "http://127.0.0.1:8081"}, Seed: 7,
		Calibration: bundle.Calibration{RTT: 1e6, Spawn: 3e6, TimeScale: 1},
	}
}
