package main

import (
	"github.com/spf13/cobra"

	"assay/internal/command/doctor"
	"assay/internal/target/transport"
	"assay/reports"
	"assay/suites"
)

func newDoctor(io stdio) *cobra.Command {
	var f reachFlags
	var m memoryFlag
	var quiet quietFlag
	var format string
	c := &cobra.Command{
		Use:   "doctor [URL]",
		Short: "Check whether this machine can test, and a gateway can be tested",
		Long: `Checks descriptors, source ports, clock, CPUs and how busy this machine is and, with
a URL, reachability, credentials, round trip, spawn latency, shell and features of
the gateway. The exit code is 3 when testing is impossible.`,
		Example: `  # this machine
  assay doctor

  # this machine and a gateway
  assay doctor http://127.0.0.1:8081`,
		Args:              between(0, 1, "want at most one URL"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			t, err := f.options(argument(args, 0), "")
			if err != nil {
				return usage(err)
			}
			io.guard.hide(t.Secrets())
			memory, err := m.apply()
			if err != nil {
				return usage(err)
			}
			release, err := f.lease.create(c.Context(), io.quieted(quiet), &t)
			if err != nil {
				return err
			}
			defer release()
			t.Memory = transport.NewMemory(suites.Records(memory))
			r, err := doctor.Examine(c.Context(), doctor.Options{Target: t, Version: version})
			if err != nil {
				return err
			}
			if format == "json" {
				err = reports.DoctorJSON(io.out.To, r)
			} else {
				err = reports.Doctor(io.out.To, r, style(io.out.To, false))
			}
			if err != nil {
				return defect(err)
			}
			return code(r.Exit)
		},
	}
	f.register(c)
	m.register(c)
	quiet.register(c)
	flagsOf(c).format(&format, "text or json", "text", "json")
	return c
}
