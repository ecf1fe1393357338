package engine

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// aimed returns the iteration with the target of a step: the control plane, or a sandbox.
func (it *iteration) aimed(ctx context.Context, st *scenarios.Step) (*iteration, error) {
	var t *target.Target
	var err error
	switch name := st.In(); {
	case st.Send != nil && st.Send.Surface == surface.Control:
		t, err = it.in.target.ControlPlane()
	case name != "":
		t, err = it.sandbox(ctx, st, name)
	default:
		return it, nil
	}
	if err != nil {
		return nil, err
	}
	in := it.in
	return &iteration{trail: it.trail, in: &instance{
		env: in.env, target: t, s: in.s, axes: in.axes, deadline: in.deadline, sweep: in.sweep,
		wanted: in.wanted, subjects: in.subjects, again: in.again, spent: in.spent,
	}}, nil
}

// sandbox returns the target of the sandbox that an exchange with the control plane answered.
func (it *iteration) sandbox(ctx context.Context, st *scenarios.Step, name string) (*target.Target, error) {
	id, err := it.captured(ctx, name, "json", "sandboxID")
	if err != nil {
		return nil, err
	}
	h, err := it.exchange(name)
	if err != nil {
		return nil, err
	}
	field := func(name string) string {
		value, _ := capture(h.x, "json", name)
		return value
	}
	p := target.Place{ID: id, Domain: field("domain"), AccessToken: field("envdAccessToken"), TrafficToken: field("trafficAccessToken")}
	if st.Send != nil {
		p.Surface = st.Send.Surface
	}
	return it.in.target.Sandbox(p)
}

// hideSandboxes keeps the tokens of sandboxes that the control plane answered out of the records.
func (it *iteration) hideSandboxes() {
	for _, h := range it.controlExchanges() {
		for _, s := range sandboxesIn(h.x.BodyBytes()) {
			it.in.target.Redactor().Add(s.AccessToken, s.TrafficToken)
		}
	}
}

// controlExchanges lists the exchanges with the control plane.
func (it *iteration) controlExchanges() []*handle {
	return slices.DeleteFunc(it.all(), func(h *handle) bool {
		return h.x == nil || h.x.Snapshot().Surface != surface.Control
	})
}

// created is what a response of the control plane created.
type created struct {
	SandboxID    string `json:"sandboxID"`
	SnapshotID   string `json:"snapshotID"`
	AccessToken  string `json:"envdAccessToken"`
	TrafficToken string `json:"trafficAccessToken"`
}

// sandboxesIn reads the sandboxes in a response: one, or those of a fork.
func sandboxesIn(body []byte) []created {
	var one created
	if json.Unmarshal(body, &one) == nil && (one.SandboxID != "" || one.SnapshotID != "") {
		return []created{one}
	}
	var many []struct {
		Sandbox created `json:"sandbox"`
	}
	if json.Unmarshal(body, &many) != nil {
		return nil
	}
	var all []created
	for _, m := range many {
		if m.Sandbox.SandboxID != "" {
			all = append(all, m.Sandbox)
		}
	}
	return all
}

// deleteSandboxes deletes every sandbox and snapshot that the iteration created, also those that a
// step deleted already.
func (it *iteration) deleteSandboxes(ctx context.Context, out *bundle.Iteration) {
	var paths []string
	for _, h := range it.controlExchanges() {
		s := h.x.Snapshot()
		path, _, _ := strings.Cut(s.Request.Path, "?")
		last := path[strings.LastIndexByte(path, '/')+1:]
		if s.Request.Method != "POST" || s.Response == nil || s.Response.Status/100 != 2 || !slices.Contains([]string{"sandboxes", "fork", "snapshots"}, last) {
			continue
		}
		for _, c := range sandboxesIn(h.x.BodyBytes()) {
			if c.SandboxID != "" {
				paths = append(paths, "sandboxes/"+url.PathEscape(c.SandboxID))
			}
			if c.SnapshotID != "" {
				paths = append(paths, "templates/"+url.PathEscape(c.SnapshotID))
			}
		}
	}
	if len(paths) == 0 {
		return
	}
	control, err := it.in.target.ControlPlane()
	if err != nil {
		return
	}
	ctx, cancel := it.in.aside(ctx, it.in.cleanupBound(), afterInterrupt/2)
	defer cancel()
	rec := it.in.target.NewRecorder(it.in.clock)
	in := it.in.plain()
	in.target = control
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		in.deleteAt(ctx, rec, path)
	}
	absorb(out, rec)
}

// deleteAt deletes one thing of the control plane; a failure is recorded with its exchange.
func (in *instance) deleteAt(ctx context.Context, rec *transport.Recorder, path string) {
	in.direct(ctx, rec, bundle.OpCleanup, in.render().Surface(in.form(), surface.Control, "DELETE", path, nil))
}
