package outcome

import (
	"fmt"

	"assay/internal/record/bundle"
)

// busyFrom is the number of threads for each processor from which a run says so: alone on two processors, a run and a gateway
// have up to two for each.
const busyFrom = 3

// busyNotes says that the machine was busy, and what that did to the run.
func busyNotes(run *bundle.Run) []string {
	m := run.Machine
	if m == nil || m.Ready < busyFrom {
		return nil
	}
	note := fmt.Sprintf("this machine was busy: up to %.0f threads were ready for each processor", m.Ready)
	if m.Pressure > 0 {
		note += fmt.Sprintf(", CPU pressure %.0f %%", 100*m.Pressure)
	}
	if m.Steal >= 0.01 {
		note += fmt.Sprintf(", %.0f %% went to other machines", 100*m.Steal)
	}
	if m.Shared {
		note += ", and the target ran here too"
	}
	return []string{note}
}
