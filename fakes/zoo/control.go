package zoo

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"assay/fakes/controlplane"
)

// controlFaults returns the faults of the control plane.
func controlFaults() []fault {
	return slices.Concat(controlEndFaults(), controlTimeFaults(), controlPauseFaults(), controlListFaults(), controlAnswerFaults(), controlTrafficFaults())
}

// controlEndFaults returns the faults in ending sandboxes.
func controlEndFaults() []fault {
	return []fault{
		{Fault{
			ID:     "delete-not-done",
			Title:  "A deletion is answered with 204, and the sandbox goes on",
			Breaks: []string{"control.delete.gone", "control.delete.twice", "control.delete.streams", "control.delete.traffic", "control.delete.paused", "control.connect.dead"},
			Source: "openkruise/agents#741: DELETE 204 without deleting",
		}, onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes { return immortal{next} })},
		{Fault{
			ID:     "delete-keeps-processes",
			Title:  "A deleted sandbox is not found, and its processes go on",
			Breaks: []string{"control.delete.streams", "control.delete.traffic"},
			Source: "openkruise/agents#535: what is left of a sandbox stays",
		}, onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes { return &forgetful{Sandboxes: next} })},
		{Fault{
			ID:     "delete-twice-ok",
			Title:  "The second deletion is answered with 204",
			Breaks: []string{"control.delete.twice"},
			Source: "E2B's kill() returns false only for 404",
		}, onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes {
			return &haunted{Sandboxes: next, deletes: true}
		})},
		{Fault{
			ID:     "get-after-delete",
			Title:  "A deleted sandbox is still described",
			Breaks: []string{"control.delete.gone"},
			Source: "openkruise/agents#535: the failed sandbox stays",
		}, onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes {
			return &haunted{Sandboxes: next, finds: true}
		})},
		{Fault{
			ID:     "connect-to-dead-ok",
			Title:  "A connect to a sandbox that has ended is answered with 200",
			Breaks: []string{"control.connect.dead", "control.delete.paused"},
			Source: "CubeSandbox#221: connect 200 for a dead sandbox",
		}, onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes {
			return &haunted{Sandboxes: next, connects: true}
		})},
	}
}

// controlTimeFaults returns the faults in the deadlines of sandboxes.
func controlTimeFaults() []fault {
	return []fault{
		{Fault{
			ID:     "connect-shortens",
			Title:  "A connect sets the timeout, also to a shorter one",
			Breaks: []string{"control.connect.extends-only"},
			Source: "E2B#1055: connect shortens to 5 min; OpenE2B",
		}, onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes { return hastyConnect{next} })},
		{Fault{
			ID:     "refresh-shortens",
			Title:  "A refresh sets the timeout, also to a shorter one",
			Breaks: []string{"control.refresh.extends-only"},
			Source: "openkruise/agents#506: refreshes mistaken for timeouts",
		}, onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes { return hastyRefresh{next} })},
		{Fault{
			ID:     "set-timeout-idle",
			Title:  "Setting a timeout is answered with 204 and changes nothing",
			Breaks: []string{"control.timeout.shortens", "control.timeout.extends", "control.timeout.zero"},
			Source: "CubeSandbox#624: setTimeout idle",
		}, onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes { return idleTimeout{next} })},
		{Fault{
			ID:     "timeout-zero-refused",
			Title:  "A timeout of 0 is refused",
			Breaks: []string{"control.timeout.zero"},
			Source: "Dormice: setTimeout 0 refused",
		}, onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes { return neverNow{next} })},
	}
}

// onSandboxes puts a decorator around the sandboxes of the control plane.
func onSandboxes(decorate func(controlplane.Sandboxes) controlplane.Sandboxes) func(*build) {
	return func(b *build) {
		seams := b.controlSeams()
		seams.Sandboxes = around(seams.Sandboxes, decorate)
	}
}

// controlSeams returns the seams of the control plane, which is there from then on.
func (b *build) controlSeams() *controlplane.Seams {
	if b.plane == nil {
		b.plane = &controlplane.Options{}
	}
	return &b.plane.Seams
}

// immortal deletes nothing.
type immortal struct{ controlplane.Sandboxes }

func (i immortal) Kill(id string) error {
	_, err := i.Find(id)
	return err
}

// forgetful hides a deleted sandbox instead of ending it.
type forgetful struct {
	controlplane.Sandboxes
	hidden notes[bool]
}

func (f *forgetful) Kill(id string) error {
	_, err := f.Find(id)
	if err == nil {
		f.hidden.put(id, true)
	}
	return err
}

func (f *forgetful) isHidden(id string) bool {
	_, hidden := f.hidden.get(id)
	return hidden
}

// gone is the error for a sandbox that does not exist.
func gone(id string) error {
	return &controlplane.Error{Status: http.StatusNotFound, Message: "sandbox " + strconv.Quote(id) + " not found"}
}

func (f *forgetful) Find(id string) (controlplane.Info, error) {
	if f.isHidden(id) {
		return controlplane.Info{}, gone(id)
	}
	return f.Sandboxes.Find(id)
}

func (f *forgetful) Connect(id string, d time.Duration) (controlplane.Info, bool, error) {
	if f.isHidden(id) {
		return controlplane.Info{}, false, gone(id)
	}
	return f.Sandboxes.Connect(id, d)
}

func (f *forgetful) List() []controlplane.Info {
	return slices.DeleteFunc(f.Sandboxes.List(), func(i controlplane.Info) bool { return f.isHidden(i.ID) })
}

// haunted answers some calls for sandboxes that have ended.
type haunted struct {
	controlplane.Sandboxes
	finds, deletes, connects bool
	known                    notes[controlplane.Info] // as they were created
}

func (h *haunted) Create(s controlplane.Spec) (controlplane.Info, error) {
	i, err := h.Sandboxes.Create(s)
	if err == nil {
		h.known.put(i.ID, i)
	}
	return i, err
}

func (h *haunted) Find(id string) (controlplane.Info, error) {
	i, err := h.Sandboxes.Find(id)
	if old, ok := h.known.get(id); ok && h.finds && err != nil {
		return old, nil
	}
	return i, err
}

func (h *haunted) Kill(id string) error {
	err := h.Sandboxes.Kill(id)
	if _, ok := h.known.get(id); ok && h.deletes {
		return nil
	}
	return err
}

func (h *haunted) Connect(id string, d time.Duration) (controlplane.Info, bool, error) {
	i, resumed, err := h.Sandboxes.Connect(id, d)
	if old, ok := h.known.get(id); ok && h.connects && err != nil {
		return old, false, nil
	}
	return i, resumed, err
}

// hastyConnect sets the timeout with every connect.
type hastyConnect struct{ controlplane.Sandboxes }

func (h hastyConnect) Connect(id string, d time.Duration) (controlplane.Info, bool, error) {
	i, resumed, err := h.Sandboxes.Connect(id, d)
	if err == nil && !resumed {
		err = h.SetTimeout(id, d)
	}
	return i, resumed, err
}

// hastyRefresh sets the timeout with every refresh.
type hastyRefresh struct{ controlplane.Sandboxes }

func (h hastyRefresh) Extend(id string, d time.Duration) error { return h.SetTimeout(id, d) }

// idleTimeout ignores timeouts.
type idleTimeout struct{ controlplane.Sandboxes }

func (i idleTimeout) SetTimeout(id string, _ time.Duration) error {
	_, err := i.Find(id)
	return err
}

// neverNow refuses a timeout of 0.
type neverNow struct{ controlplane.Sandboxes }

func (n neverNow) SetTimeout(id string, d time.Duration) error {
	if d == 0 {
		return &controlplane.Error{Status: http.StatusBadRequest, Message: "timeout must be at least 1"}
	}
	return n.Sandboxes.SetTimeout(id, d)
}
