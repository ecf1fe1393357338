package controlplane

import (
	"net/http"
	"time"

	"assay/fakes/strict"
)

// maxRefresh limits the duration of a refresh in seconds.
const maxRefresh = 3600

func (p *Plane) create(w http.ResponseWriter, r *http.Request) error {
	var body createRequest
	if err := read(r, false, &body); err != nil {
		return err
	}
	return p.createFrom(w, &body, shortTimeout)
}

// createSecure creates a sandbox that needs its token.
func (p *Plane) createSecure(w http.ResponseWriter, r *http.Request) error {
	var body createRequest
	if err := read(r, false, &body); err != nil {
		return err
	}
	body.Secure = true
	return p.createFrom(w, &body, longTimeout)
}

func (p *Plane) createFrom(w http.ResponseWriter, body *createRequest, timeout time.Duration) error {
	spec, err := body.spec(timeout)
	if err != nil {
		return err
	}
	i, err := p.boxes.Create(spec)
	if err != nil {
		return err
	}
	strict.WriteJSON(w, http.StatusCreated, p.reply(i))
	return nil
}

// find returns the sandbox that a path names.
func (p *Plane) find(r *http.Request) (Info, error) {
	id, err := idOf(r)
	if err != nil {
		return Info{}, err
	}
	return p.boxes.Find(id)
}

func (p *Plane) get(w http.ResponseWriter, r *http.Request) error {
	i, err := p.find(r)
	if err != nil {
		return err
	}
	strict.WriteJSON(w, http.StatusOK, p.detailed(i))
	return nil
}

// done writes the response of a call without a result.
func done(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (p *Plane) kill(w http.ResponseWriter, r *http.Request) error {
	id, err := idOf(r)
	if err != nil {
		return err
	}
	return done(w, p.boxes.Kill(id))
}

// timeoutRequest is the body of the calls that set a deadline.
type timeoutRequest struct {
	Timeout *int `json:"timeout"`
}

func (p *Plane) setTimeout(w http.ResponseWriter, r *http.Request) error {
	id, err := idOf(r)
	if err != nil {
		return err
	}
	var body timeoutRequest
	if err := read(r, false, &body); err != nil {
		return err
	}
	if body.Timeout == nil {
		return failure(http.StatusBadRequest, "timeout is missing")
	}
	d, err := seconds(body.Timeout, 0, 0)
	if err != nil {
		return err
	}
	return done(w, p.boxes.SetTimeout(id, d))
}

func (p *Plane) refresh(w http.ResponseWriter, r *http.Request) error {
	id, err := idOf(r)
	if err != nil {
		return err
	}
	var body struct {
		Duration *int `json:"duration"`
	}
	if err := read(r, true, &body); err != nil {
		return err
	}
	d, err := seconds(body.Duration, shortTimeout, 0)
	if err != nil {
		return err
	}
	if d > maxRefresh*time.Second {
		return failure(http.StatusBadRequest, "duration: at most %d seconds", maxRefresh)
	}
	return done(w, p.boxes.Extend(id, d))
}

func (p *Plane) connect(w http.ResponseWriter, r *http.Request) error {
	var body timeoutRequest
	if err := read(r, false, &body); err != nil {
		return err
	}
	if body.Timeout == nil {
		return failure(http.StatusBadRequest, "timeout is missing")
	}
	return p.connectFor(w, r, body)
}

func (p *Plane) connectV2(w http.ResponseWriter, r *http.Request) error {
	var body timeoutRequest
	if err := read(r, true, &body); err != nil {
		return err
	}
	return p.connectFor(w, r, body)
}

func (p *Plane) connectFor(w http.ResponseWriter, r *http.Request, body timeoutRequest) error {
	id, err := idOf(r)
	if err != nil {
		return err
	}
	d, err := seconds(body.Timeout, longTimeout, 0)
	if err != nil {
		return err
	}
	i, resumed, err := p.boxes.Connect(id, d)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if resumed {
		status = http.StatusCreated
	}
	strict.WriteJSON(w, status, p.reply(i))
	return nil
}

// resume is the older form of connect: the sandbox must be paused.
func (p *Plane) resume(w http.ResponseWriter, r *http.Request) error {
	var body timeoutRequest
	if err := read(r, true, &body); err != nil {
		return err
	}
	i, err := p.find(r)
	if err != nil {
		return err
	}
	d, err := seconds(body.Timeout, shortTimeout, 1)
	if err != nil {
		return err
	}
	resumed := false
	if i.State == Paused {
		i, resumed, err = p.boxes.Connect(i.ID, d)
	}
	if err != nil {
		return err
	}
	if !resumed {
		return failure(http.StatusConflict, "sandbox %q is running", i.ID)
	}
	strict.WriteJSON(w, http.StatusCreated, p.reply(i))
	return nil
}

func (p *Plane) pause(w http.ResponseWriter, r *http.Request) error {
	id, err := idOf(r)
	if err != nil {
		return err
	}
	var body struct {
		Memory *bool `json:"memory"`
	}
	if err := read(r, true, &body); err != nil {
		return err
	}
	if body.Memory != nil && !*body.Memory {
		return failure(http.StatusNotImplemented, "memory false is not implemented: a paused sandbox keeps its processes")
	}
	return done(w, p.boxes.Pause(id))
}

// alias tells whether a template exists.
func (p *Plane) alias(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("alias")
	if !p.store.hasTemplate(id) {
		return failure(http.StatusNotFound, "template %q not found", id)
	}
	strict.WriteJSON(w, http.StatusOK, struct {
		TemplateID string `json:"templateID"`
		Public     bool   `json:"public"`
	}{templateName(id), true})
	return nil
}
