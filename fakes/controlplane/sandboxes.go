package controlplane

import (
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/fakes/gateway"
	"assay/internal/base/crash"
)

// Sandboxes are the sandboxes of a plane, as the API sees them. Errors are *Error;
// a sandbox that has ended is not found.
type Sandboxes interface {
	// Create returns when the sandbox serves requests.
	Create(s Spec) (Info, error)
	Find(id string) (Info, error)
	// List returns all sandboxes in no order.
	List() []Info
	// Kill returns when no process of the sandbox is left.
	Kill(id string) error
	// SetTimeout sets the time that is left, which 0 ends.
	SetTimeout(id string, d time.Duration) error
	// Extend sets the time that is left if that is more than what is left.
	Extend(id string, d time.Duration) error
	// Connect resumes a paused sandbox, and extends the time of a running one.
	Connect(id string, d time.Duration) (i Info, resumed bool, err error)
	Pause(id string) error
}

// store holds the sandboxes.
type store struct {
	o Options

	mu     sync.Mutex
	all    map[string]*Sandbox
	making int // sandboxes under construction
	closed bool
	made   crash.Group // waits for those under construction
}

var _ Sandboxes = (*store)(nil)

// errClosed refuses a sandbox at the end.
var errClosed = failure(http.StatusServiceUnavailable, "the control plane is shutting down")

func (p *store) Create(spec Spec) (Info, error) {
	if !p.hasTemplate(spec.Template) {
		return Info{}, failure(http.StatusNotFound, "template %q not found: there are %s", spec.Template, strings.Join(p.o.Templates, ", "))
	}
	if spec.Timeout > p.o.MaxTimeout {
		return Info{}, p.tooLong()
	}
	if err := p.reserve(); err != nil {
		return Info{}, err
	}
	defer p.made.Done()
	s, err := p.build(spec)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.making--
	if err != nil {
		return Info{}, err
	}
	p.all[s.id] = s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run(spec.Timeout, "created")
	return s.snapshot(), nil
}

// hasTemplate reports whether there is a template.
func (p *store) hasTemplate(id string) bool {
	return slices.Contains(p.o.Templates, templateName(id))
}

// templateName returns the name of a template without its tag.
func templateName(id string) string {
	name, _, _ := strings.Cut(id, ":")
	return name
}

// tooLong refuses a timeout.
func (p *store) tooLong() error {
	return failure(http.StatusBadRequest, "timeout: at most %d seconds", int(p.o.MaxTimeout.Seconds()))
}

// reserve makes room for one more sandbox.
func (p *store) reserve() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errClosed
	}
	if len(p.all)+p.making >= p.o.MaxSandboxes {
		e := failure(http.StatusTooManyRequests, "%d sandboxes exist, which is the maximum: delete one", p.o.MaxSandboxes)
		e.Retry = 1
		return e
	}
	p.making++
	p.made.Add(1)
	return nil
}

// build creates a sandbox that does not run yet.
func (p *store) build(spec Spec) (*Sandbox, error) {
	s := &Sandbox{spec: spec, id: newID(), max: p.o.MaxTimeout, traffic: map[*passage]struct{}{}}
	o := p.o.Gateway
	o.Envs = environment(spec.Envs, s.id)
	if spec.Secure || o.Processes == gateway.ProcessesOS {
		s.token = strings.ToLower(rand.Text())
		o.Token = s.token
	}
	s.release = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.all, s.id)
	}
	var err error
	s.gateway, err = gateway.New(o)
	return s, err
}

// environment adds the variables by which a process knows its sandbox.
func environment(own map[string]string, id string) map[string]string {
	all := map[string]string{"E2B_SANDBOX_ID": id}
	maps.Copy(all, own)
	all["E2B_SANDBOX"] = "true"
	return all
}

// idLength is the length of an id without its first letter.
const idLength = 19

// newID returns the id of a sandbox, which nobody can guess.
func newID() string { return "i" + strings.ToLower(rand.Text())[:idLength] }

// get returns a sandbox, which may have ended.
func (p *store) get(id string) (*Sandbox, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.all[id]; s != nil {
		return s, nil
	}
	return nil, notFound(id)
}

// sandboxes returns all sandboxes, some of which may have ended.
func (p *store) sandboxes() []*Sandbox {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*Sandbox, 0, len(p.all))
	for _, s := range p.all {
		all = append(all, s)
	}
	return all
}

func (p *store) Find(id string) (Info, error) {
	s, err := p.get(id)
	if err != nil {
		return Info{}, err
	}
	i, ok := s.info()
	if !ok {
		return Info{}, notFound(id)
	}
	return i, nil
}

func (p *store) List() []Info {
	var all []Info
	for _, s := range p.sandboxes() {
		if i, ok := s.info(); ok {
			all = append(all, i)
		}
	}
	return all
}

func (p *store) Kill(id string) error {
	s, err := p.get(id)
	if err != nil {
		return err
	}
	if !s.kill() {
		return notFound(id)
	}
	return nil
}

func (p *store) SetTimeout(id string, d time.Duration) error {
	if d > p.o.MaxTimeout {
		return p.tooLong()
	}
	s, err := p.get(id)
	if err != nil {
		return err
	}
	return s.setTimeout(d)
}

func (p *store) Extend(id string, d time.Duration) error {
	s, err := p.get(id)
	if err != nil {
		return err
	}
	return s.extend(d)
}

func (p *store) Connect(id string, d time.Duration) (Info, bool, error) {
	if d > p.o.MaxTimeout {
		return Info{}, false, p.tooLong()
	}
	s, err := p.get(id)
	if err != nil {
		return Info{}, false, err
	}
	return s.connect(d)
}

func (p *store) Pause(id string) error {
	s, err := p.get(id)
	if err != nil {
		return err
	}
	return s.pause()
}

// close ends all sandboxes and refuses later ones.
func (p *store) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.made.Wait()
	var killers crash.Group
	for _, s := range p.sandboxes() {
		killers.Go(func() {
			s.kill()
			_ = s.gateway.Close() // waits if its deadline is ending it
		})
	}
	killers.Wait()
}
