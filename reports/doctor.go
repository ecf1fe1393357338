package reports

import (
	"io"
	"maps"
	"slices"

	"assay/internal/record/bundle"
)

// Doctor draws an examination: one line per check, advice for checks that are not ok,
// and the features by state.
func Doctor(w io.Writer, r *bundle.DoctorReport, s Style) error {
	c := newCanvas(w, s)
	of := ""
	for _, check := range r.Checks {
		if check.Of != of {
			if of != "" {
				c.row()
			}
			of = check.Of
			title := of
			if of == "target" && r.Target != nil {
				title += "  " + line(r.Target.URL)
			}
			c.row(c.paint(bold, title))
		}
		c.check(check)
	}
	c.features(r.Features)
	c.row()
	if r.Exit == 0 {
		c.row(c.paint(green, "READY"), "  testing works (exit 0)")
	} else {
		c.row(c.paint(red, "NOT READY"), "  testing does not work (exit 3)")
	}
	return c.err
}

// DoctorJSON writes exactly one JSON value and a newline.
func DoctorJSON(w io.Writer, r *bundle.DoctorReport) error { return writeJSON(w, r) }

func (c *canvas) check(d bundle.DoctorCheck) {
	tints := map[bundle.Health]tint{bundle.HealthOK: green, bundle.HealthWarn: yellow, bundle.HealthFail: red}
	head := painted{"  " + pad(string(d.Health), 6) + pad(line(d.Name), 18), tints[d.Health]}
	c.block(head, d.Value, plain)
	if d.Mend != "" {
		c.block(painted{"        ", plain}, d.Mend, dim)
	}
}

// features lists the features by state, the present ones first.
func (c *canvas) features(all map[string]bundle.Feature) {
	if len(all) == 0 {
		return
	}
	c.row()
	c.row(c.paint(bold, "features"))
	for _, state := range []bundle.FeatureState{bundle.FeaturePresent, bundle.FeatureAbsent, bundle.FeatureUnknown} {
		var ids []string
		for _, id := range slices.Sorted(maps.Keys(all)) {
			if all[id].State == state {
				ids = append(ids, id)
			}
		}
		if len(ids) > 0 {
			c.flow(painted{"  " + pad(string(state), 9), dim}, ids)
		}
	}
}
