package interpreter

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"time"
)

// maxContexts limits the contexts of a server: each may hold much memory.
const maxContexts = 64

// defaultCwd is the working directory of contexts that name none. No code can see more of it.
const defaultCwd = "/home/user"

// The reasons for which a run is interrupted by somebody else than its client.
var (
	errRestarting = errors.New("context restarted")
	errRemoved    = errors.New("context removed")
)

// kernel is where code runs: its variables, one run at a time, and the order of those that wait.
type kernel struct {
	ID       string `json:"id"`
	Language string `json:"language"`
	Cwd      string `json:"cwd"`

	order int           // of creation
	turn  chan struct{} // holds a value while code runs

	mu    sync.Mutex
	life  context.Context // until a restart or the removal; its cause says which
	end   context.CancelCauseFunc
	state *state
}

// newKernel returns a kernel with no variables.
func newKernel(id, language, cwd string) *kernel {
	k := &kernel{ID: id, Language: language, Cwd: cmp.Or(cwd, defaultCwd), turn: make(chan struct{}, 1)}
	k.renew()
	return k
}

// renew gives the kernel a new life.
func (k *kernel) renew() {
	k.life, k.end = context.WithCancelCause(context.Background())
	k.state = newState(k.Cwd)
}

// restart interrupts the run and forgets all variables, and the number of runs.
func (k *kernel) restart() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if errors.Is(context.Cause(k.life), errRemoved) {
		return
	}
	k.end(errRestarting)
	k.renew()
}

// remove interrupts the run, and those that wait.
func (k *kernel) remove() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.end(errRemoved)
}

// current returns the life of the kernel and its variables.
func (k *kernel) current() (context.Context, *state) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.life, k.state
}

// acquire waits for the turn of a run, until its client is gone or the kernel is removed. A
// restart does not end the wait.
func (k *kernel) acquire(client context.Context) (life context.Context, s *state, err error) {
	for {
		life, _ = k.current()
		select {
		case k.turn <- struct{}{}:
			if life, s = k.current(); life.Err() != nil {
				<-k.turn
				return nil, nil, context.Cause(life)
			}
			return life, s, nil
		case <-client.Done():
			return nil, nil, client.Err()
		case <-life.Done():
			if err := context.Cause(life); !errors.Is(err, errRestarting) {
				return nil, nil, err
			}
		}
	}
}

// idle reports whether no code runs, or its run ends within a limit.
func (k *kernel) idle(client context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(client, limit)
	defer cancel()
	_, _, err := k.acquire(ctx)
	if err == nil {
		k.release()
	}
	return !errors.Is(err, context.DeadlineExceeded)
}

// release lets the next run begin.
func (k *kernel) release() { <-k.turn }

// kernels are the contexts of a server.
type kernels struct {
	mu       sync.Mutex
	made     int
	byID     map[string]*kernel
	defaults map[string]*kernel // by language: those of requests that name no context
}

// errFull refuses one more context.
var errFull = errors.New("too many contexts: remove one")

// create adds a kernel.
func (ks *kernels) create(language, cwd string) (*kernel, error) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return ks.add(language, cwd)
}

func (ks *kernels) add(language, cwd string) (*kernel, error) {
	if len(ks.byID) >= maxContexts {
		return nil, errFull
	}
	k := newKernel(newID(), language, cwd)
	ks.made++
	k.order = ks.made
	ks.byID[k.ID] = k
	return k, nil
}

// byDefault returns the default kernel of a language, and creates it at its first use.
func (ks *kernels) byDefault(language string) (*kernel, error) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if k := ks.defaults[language]; k != nil {
		return k, nil
	}
	k, err := ks.add(language, "")
	if err == nil {
		ks.defaults[language] = k
	}
	return k, err
}

// get returns the kernel with an id, or nil.
func (ks *kernels) get(id string) *kernel {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return ks.byID[id]
}

// list returns all kernels, the oldest first.
func (ks *kernels) list() []*kernel {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	all := make([]*kernel, 0, len(ks.byID))
	for _, k := range ks.byID {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b *kernel) int { return a.order - b.order })
	return all
}

// remove removes a kernel and interrupts its runs.
func (ks *kernels) remove(id string) bool {
	ks.mu.Lock()
	k := ks.byID[id]
	if k != nil {
		delete(ks.byID, id)
		if ks.defaults[k.Language] == k {
			delete(ks.defaults, k.Language)
		}
	}
	ks.mu.Unlock()
	if k != nil {
		k.remove()
	}
	return k != nil
}

// newID returns a random id in the form of a UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
