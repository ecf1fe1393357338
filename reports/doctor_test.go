package reports

import (
	"bytes"
	"testing"

	"assay/internal/record/bundle"
)

func TestDoctorOfAMachineAndATargetWithEveryState(t *testing.T) {
	r := &bundle.DoctorReport{
		Schema: bundle.DoctorSchema, Tool: bundle.Tool{Name: "assay", Version: "0.1.0"}, Target: &bundle.Target{URL: "http://gateway.example:8081"},
		Checks: []bundle.DoctorCheck{
			{Of: "machine", Name: "descriptors", Health: bundle.HealthOK, Value: "15 of 20000 in use"},
			{Of: "machine", Name: "ports", Health: bundle.HealthWarn, Value: "28232 are free", Mend: "widen net.ipv4.ip_local_port_range to open more than 28232 connections at a time"},
			{Of: "target", Name: "health", Health: bundle.HealthFail, Value: hostileText, Mend: "start the gateway"},
		},
		Features: map[string]bundle.Feature{
			"process.start": {State: bundle.FeaturePresent}, "codec.json": {State: bundle.FeaturePresent},
			"rpc.get": {State: bundle.FeatureAbsent}, "process.pty": {State: bundle.FeatureUnknown, Detail: "no answer"},
		},
		Exit: 3,
	}
	goldenDrawing(t, "doctor", func(b *bytes.Buffer, s Style) error { return Doctor(b, r, s) })
	var b bytes.Buffer
	if err := DoctorJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	golden(t, "doctor.json", b.Bytes())
}
