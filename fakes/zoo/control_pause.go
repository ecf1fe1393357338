package zoo

import (
	"net/http"
	"time"

	"assay/fakes/controlplane"
	"assay/internal/base/crash"
)

// controlPauseFaults returns the faults in pausing sandboxes and in creating them.
func controlPauseFaults() []fault {
	return []fault{
		{Fault{
			ID:     "pause-twice-ok",
			Title:  "A pause of a paused sandbox is answered with 204",
			Breaks: []string{"control.pause.twice"},
			Source: "openkruise/agents#422: second pause 204, not 409",
		}, onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes { return drowsy{next} })},
		{Fault{
			ID:     "pause-keeps-clock",
			Title:  "A paused sandbox ends at its deadline",
			Breaks: []string{"control.pause.clock"},
			Source: "openkruise/agents#50: a pause uses up the timeout",
		}, onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes { return ticking{next} })},
		{Fault{
			ID:     "pause-refused-late",
			Title:  "A pause is answered before it is done, and a connect is refused meanwhile",
			Breaks: []string{"control.connect.resumes", "control.pause.keeps-files", "control.pause.keeps-processes"},
			Source: "openkruise/agents#296, superserve-ai/sandbox#382: pause answered too early, resume 409",
		}, onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes { return &settling{Sandboxes: next} })},
		{Fault{
			ID:     "resume-is-a-flag",
			Title:  "A resumed sandbox is described as running and takes no requests",
			Breaks: []string{"control.connect.resumes", "control.pause.keeps-files", "control.pause.keeps-processes"},
			Source: "OpenE2B: resume only flips a flag",
		}, resumeFlag},
		{Fault{
			ID:     "resume-collides",
			Title:  "Every connect to a sandbox that was paused is answered with 201",
			Breaks: []string{"control.connect.resumes-once"},
			Source: "e2b-dev/infra#3641: resumes collide",
		}, onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes { return &eager{Sandboxes: next} })},
		{Fault{
			ID:     "deleted-comes-back",
			Title:  "A resume takes 50 ms, and brings back a sandbox that is deleted meanwhile",
			Breaks: []string{"control.delete.stays"},
			Source: "e2b-dev/infra#3641: a resume and an end of one sandbox at the same time",
		}, onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes { return &undead{Sandboxes: next} })},
		{Fault{
			ID:     "auto-pause-dropped",
			Title:  "A sandbox that was resumed ends at its deadline in spite of autoPause",
			Breaks: []string{"control.pause.automatic"},
			Source: "E2B#879, #875: connect drops autoPause",
		}, onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes { return &wakeful{Sandboxes: next} })},
		{Fault{
			ID:     "env-vars-dropped",
			Title:  "The variables of a creation do not reach the processes",
			Breaks: []string{"control.create.variables"},
			Source: "E2B's own suite: envVars of create in commands",
		}, onCreate(func(s *controlplane.Spec) { s.Envs = nil })},
		{Fault{
			ID:     "any-template",
			Title:  "A template that does not exist counts as the default one",
			Breaks: []string{"control.create.template"},
			Source: "CubeSandbox#1787: what a request asks for is dropped silently",
		}, onCreate(func(s *controlplane.Spec) { s.Template = "base" })},
	}
}

// onCreate changes every creation.
func onCreate(change func(*controlplane.Spec)) func(*build) {
	return onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes { return changedCreate{next, change} })
}

// changedCreate changes every creation.
type changedCreate struct {
	controlplane.Sandboxes
	change func(*controlplane.Spec)
}

func (c changedCreate) Create(s controlplane.Spec) (controlplane.Info, error) {
	c.change(&s)
	return c.Sandboxes.Create(s)
}

// drowsy pauses what is paused.
type drowsy struct{ controlplane.Sandboxes }

func (d drowsy) Pause(id string) error {
	if i, err := d.Find(id); err == nil && i.State == controlplane.Paused {
		return nil
	}
	return d.Sandboxes.Pause(id)
}

// ticking ends paused sandboxes at the deadline that they had.
type ticking struct{ controlplane.Sandboxes }

func (t ticking) Pause(id string) error {
	i, found := t.Find(id)
	err := t.Sandboxes.Pause(id)
	if err == nil && found == nil {
		time.AfterFunc(time.Until(i.End), func() {
			defer crash.Catch()
			if now, err := t.Find(id); err == nil && now.State == controlplane.Paused {
				_ = t.Kill(id) // it may have ended
			}
		})
	}
	return err
}

// settleTime is how long a pause goes on after its answer.
const settleTime = 2 * time.Second

// settling refuses connects while a pause goes on.
type settling struct {
	controlplane.Sandboxes
	busy notes[time.Time] // until then
}

func (s *settling) Pause(id string) error {
	err := s.Sandboxes.Pause(id)
	if err == nil {
		s.busy.put(id, time.Now().Add(settleTime))
	}
	return err
}

func (s *settling) Connect(id string, d time.Duration) (controlplane.Info, bool, error) {
	if until, _ := s.busy.get(id); time.Now().Before(until) {
		return controlplane.Info{}, false, &controlplane.Error{Status: http.StatusConflict, Message: "the sandbox is being paused"}
	}
	return s.Sandboxes.Connect(id, d)
}

// resumeFlag lets no request reach a sandbox that was resumed.
func resumeFlag(b *build) {
	asleep := &wakeful{}
	onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes {
		asleep.Sandboxes, asleep.keeps = next, true
		return asleep
	})(b)
	onTraffic(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		id := r.Header.Get("E2b-Sandbox-Id")
		if _, resumed := asleep.resumed.get(id); resumed {
			writeProxyError(w, http.StatusBadGateway, id, "The sandbox is paused")
			return
		}
		next.ServeHTTP(w, r)
	})(b)
}

// wakeful knows the sandboxes that were resumed, and drops their autoPause unless keeps is set.
type wakeful struct {
	controlplane.Sandboxes
	keeps   bool
	resumed notes[bool]
}

func (a *wakeful) Connect(id string, d time.Duration) (controlplane.Info, bool, error) {
	i, resumed, err := a.Sandboxes.Connect(id, d)
	if err != nil || !resumed {
		return i, resumed, err
	}
	a.resumed.put(id, true)
	if !a.keeps {
		time.AfterFunc(time.Until(i.End)-settleTime/2, func() {
			defer crash.Catch()
			_ = a.Kill(id) // it may have ended
		})
	}
	return i, resumed, nil
}

// eager resumes a sandbox with every connect once it was paused.
type eager struct {
	controlplane.Sandboxes
	paused notes[bool]
}

func (e *eager) Pause(id string) error {
	err := e.Sandboxes.Pause(id)
	if err == nil {
		e.paused.put(id, true)
	}
	return err
}

func (e *eager) Connect(id string, d time.Duration) (controlplane.Info, bool, error) {
	i, resumed, err := e.Sandboxes.Connect(id, d)
	_, paused := e.paused.get(id)
	return i, resumed || paused, err
}

// restoreTime is how long a resume of undead takes.
const restoreTime = 50 * time.Millisecond

// undead brings back what is deleted during a resume.
type undead struct {
	controlplane.Sandboxes
	resuming, back notes[controlplane.Info]
}

func (u *undead) Connect(id string, d time.Duration) (controlplane.Info, bool, error) {
	i, err := u.Sandboxes.Find(id)
	if err != nil || i.State != controlplane.Paused {
		return u.Sandboxes.Connect(id, d)
	}
	u.resuming.put(id, i)
	time.Sleep(restoreTime)
	u.resuming.drop(func(other string, _ controlplane.Info) bool { return other == id })
	if revived, dead := u.back.get(id); dead {
		return revived, true, nil
	}
	return u.Sandboxes.Connect(id, d)
}

func (u *undead) Kill(id string) error {
	if i, ok := u.resuming.get(id); ok {
		i.State = controlplane.Running
		u.back.put(id, i)
	}
	return u.Sandboxes.Kill(id)
}

func (u *undead) Find(id string) (controlplane.Info, error) {
	if i, ok := u.back.get(id); ok {
		return i, nil
	}
	return u.Sandboxes.Find(id)
}
