package zoo

import (
	"net/http"
	"sync"
	"time"

	"assay/fakes/controlplane"
	"assay/internal/crash"
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
		}, onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes {
			return &undead{Sandboxes: next, resuming: map[string]controlplane.Info{}, back: map[string]controlplane.Info{}}
		})},
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
	mu   sync.Mutex
	busy map[string]time.Time
}

func (s *settling) Pause(id string) error {
	err := s.Sandboxes.Pause(id)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.busy == nil || len(s.busy) >= maxMemory {
			s.busy = map[string]time.Time{}
		}
		s.busy[id] = time.Now().Add(settleTime)
	}
	return err
}

func (s *settling) Connect(id string, d time.Duration) (controlplane.Info, bool, error) {
	s.mu.Lock()
	busy := time.Now().Before(s.busy[id])
	s.mu.Unlock()
	if busy {
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
		if id := r.Header.Get("E2b-Sandbox-Id"); asleep.wasResumed(id) {
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
	mu      sync.Mutex
	resumed map[string]bool
}

func (a *wakeful) Connect(id string, d time.Duration) (controlplane.Info, bool, error) {
	i, resumed, err := a.Sandboxes.Connect(id, d)
	if err != nil || !resumed {
		return i, resumed, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.resumed == nil || len(a.resumed) >= maxMemory {
		a.resumed = map[string]bool{}
	}
	a.resumed[id] = true
	if !a.keeps {
		time.AfterFunc(time.Until(i.End)-settleTime/2, func() {
			defer crash.Catch()
			_ = a.Kill(id) // it may have ended
		})
	}
	return i, resumed, nil
}

func (a *wakeful) wasResumed(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.resumed[id]
}

// eager resumes a sandbox with every connect once it was paused.
type eager struct {
	controlplane.Sandboxes
	mu     sync.Mutex
	paused map[string]bool
}

func (e *eager) Pause(id string) error {
	err := e.Sandboxes.Pause(id)
	if err == nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.paused == nil || len(e.paused) >= maxMemory {
			e.paused = map[string]bool{}
		}
		e.paused[id] = true
	}
	return err
}

func (e *eager) Connect(id string, d time.Duration) (controlplane.Info, bool, error) {
	i, resumed, err := e.Sandboxes.Connect(id, d)
	e.mu.Lock()
	defer e.mu.Unlock()
	return i, resumed || e.paused[id], err
}

// restoreTime is how long a resume of undead takes.
const restoreTime = 50 * time.Millisecond

// undead brings back what is deleted during a resume.
type undead struct {
	controlplane.Sandboxes
	mu             sync.Mutex
	resuming, back map[string]controlplane.Info
}

func (u *undead) Connect(id string, d time.Duration) (controlplane.Info, bool, error) {
	i, err := u.Sandboxes.Find(id)
	if err != nil || i.State != controlplane.Paused {
		return u.Sandboxes.Connect(id, d)
	}
	u.mu.Lock()
	u.resuming[id] = i
	u.mu.Unlock()
	time.Sleep(restoreTime)
	u.mu.Lock()
	delete(u.resuming, id)
	revived, dead := u.back[id]
	u.mu.Unlock()
	if dead {
		return revived, true, nil
	}
	return u.Sandboxes.Connect(id, d)
}

func (u *undead) Kill(id string) error {
	u.mu.Lock()
	if i, ok := u.resuming[id]; ok && len(u.back) < maxMemory {
		i.State = controlplane.Running
		u.back[id] = i
	}
	u.mu.Unlock()
	return u.Sandboxes.Kill(id)
}

func (u *undead) Find(id string) (controlplane.Info, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if i, ok := u.back[id]; ok {
		return i, nil
	}
	return u.Sandboxes.Find(id)
}
