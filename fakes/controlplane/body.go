package controlplane

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"assay/fakes/gateway"
)

// maxBody limits a request body.
const maxBody = 1 << 20

// read decodes the JSON body of a request into v. An empty body is accepted where
// optional is set.
func read(r *http.Request, optional bool, v any) error {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return failure(http.StatusBadRequest, "read the body: %v", err)
	case len(raw) > maxBody:
		return failure(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", maxBody)
	case len(raw) == 0 && optional:
		return nil
	case len(raw) == 0:
		return failure(http.StatusBadRequest, "the body is empty: want a JSON object")
	}
	if err := json.Unmarshal(raw, v); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) && kind.Field != "" {
			return failure(http.StatusBadRequest, "%s: want %s, got %s", kind.Field, kind.Type, kind.Value)
		}
		return failure(http.StatusBadRequest, "the body is not the JSON object that is wanted: %v", err)
	}
	return nil
}

// The timeouts of requests that name none.
const (
	shortTimeout = 15 * time.Second
	longTimeout  = 300 * time.Second
)

// seconds converts a timeout of a request; least is the smallest allowed number.
func seconds(n *int, absent time.Duration, least int) (time.Duration, error) {
	if n == nil {
		return absent, nil
	}
	if *n < least {
		return 0, failure(http.StatusBadRequest, "timeout: %d seconds; want at least %d", *n, least)
	}
	return time.Duration(min(*n, maxSeconds)) * time.Second, nil
}

// maxSeconds is the largest number of seconds that time.Duration can hold.
const maxSeconds = int(1<<63-1) / int(time.Second)

// createRequest is the body of a creation.
type createRequest struct {
	TemplateID string            `json:"templateID"`
	Timeout    *int              `json:"timeout"`
	Metadata   map[string]string `json:"metadata"`
	EnvVars    map[string]string `json:"envVars"`
	Secure     bool              `json:"secure"`
	AutoPause  bool              `json:"autoPause"`
	AutoResume *struct {
		Enabled bool `json:"enabled"`
	} `json:"autoResume"`

	// What would be dropped silently otherwise.
	MCP          json.RawMessage `json:"mcp"`
	IAM          json.RawMessage `json:"iam"`
	Network      json.RawMessage `json:"network"`
	VolumeMounts json.RawMessage `json:"volumeMounts"`
}

// spec validates the body.
func (c *createRequest) spec(timeout time.Duration) (Spec, error) {
	if c.TemplateID == "" {
		return Spec{}, failure(http.StatusBadRequest, "templateID is missing")
	}
	for name, value := range map[string]json.RawMessage{"mcp": c.MCP, "iam": c.IAM, "network": c.Network, "volumeMounts": c.VolumeMounts} {
		if text := string(value); text != "" && text != "null" && text != "{}" && text != "[]" {
			return Spec{}, failure(http.StatusNotImplemented, "%s is not implemented", name)
		}
	}
	d, err := seconds(c.Timeout, timeout, 1)
	return Spec{
		Template: c.TemplateID, Timeout: d, Metadata: c.Metadata, Envs: c.EnvVars, Secure: c.Secure,
		AutoPause: c.AutoPause, AutoResume: c.AutoResume != nil && c.AutoResume.Enabled,
	}, err
}

// What every sandbox is said to have.
const (
	clientID = "local"
	cpuCount = 2
	memoryMB = 512
	diskMB   = 1024
)

// reply is a sandbox in the responses of creation and connect.
type reply struct {
	TemplateID  string  `json:"templateID"`
	SandboxID   string  `json:"sandboxID"`
	ClientID    string  `json:"clientID"`
	EnvdVersion string  `json:"envdVersion"`
	Token       string  `json:"envdAccessToken,omitempty"`
	Domain      *string `json:"domain"`
}

func (p *Plane) reply(i Info) reply {
	r := reply{TemplateID: i.Template, SandboxID: i.ID, ClientID: clientID, EnvdVersion: gateway.EnvdVersion, Token: i.Token}
	if p.o.Domain != "" {
		r.Domain = &p.o.Domain
	}
	return r
}

// details is a sandbox in lists and by itself.
type details struct {
	reply

	StartedAt  time.Time         `json:"startedAt"`
	EndAt      time.Time         `json:"endAt"`
	CPUCount   int               `json:"cpuCount"`
	MemoryMB   int               `json:"memoryMB"`
	DiskSizeMB int               `json:"diskSizeMB"`
	State      State             `json:"state"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	Lifecycle  *lifecycle        `json:"lifecycle,omitempty"`
}

// lifecycle is what happens to a sandbox at its deadline and at a later request.
type lifecycle struct {
	OnTimeout  string `json:"onTimeout"`
	AutoResume bool   `json:"autoResume"`
}

// listed returns a sandbox as lists show it, which is without its token.
func (p *Plane) listed(i Info) details {
	d := details{
		reply: p.reply(i), StartedAt: i.Started.UTC(), EndAt: i.End.UTC(), CPUCount: cpuCount, MemoryMB: memoryMB, DiskSizeMB: diskMB,
		State: i.State, Metadata: i.Metadata,
	}
	d.Token = ""
	return d
}

// detailed returns a sandbox with everything that is known.
func (p *Plane) detailed(i Info) details {
	d := p.listed(i)
	d.Token = i.Token
	d.Lifecycle = &lifecycle{OnTimeout: "kill", AutoResume: i.AutoResume}
	if i.AutoPause {
		d.Lifecycle.OnTimeout = "pause"
	}
	return d
}

// number reads an integer of a query within bounds; text is "" if it is absent.
func number(name, text string, least, most, absent int) (int, error) {
	if text == "" {
		return absent, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || strconv.Itoa(n) != text || n < least || n > most {
		return 0, failure(http.StatusBadRequest, "%s %q: want a number from %d to %d", name, text, least, most)
	}
	return n, nil
}
