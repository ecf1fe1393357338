package target

import (
	"context"
	"encoding/json"

	"assay/internal/record/bundle"
	"assay/internal/record/surface"
)

// probeControl lists the sandboxes, with the key and without it.
func probeControl(ctx context.Context, c *client) findings {
	plane, err := c.target.ControlPlane()
	if err != nil {
		return findings{featControl: unknown(err.Error()), featControlKey: unknown(err.Error())}
	}
	f := c.askControl(ctx, plane)
	switch {
	case f.State != bundle.FeaturePresent:
		return findings{featControl: f, featControlKey: {State: f.State, Detail: f.Detail}}
	case c.target.options.Control.APIKey == "":
		return findings{featControl: f, featControlKey: absent("no key to leave out")}
	}
	if plane, err = c.target.keyless(); err != nil {
		return findings{featControl: f, featControlKey: unknown(err.Error())}
	}
	key := absent("a request without the key is answered")
	if without := c.askControl(ctx, plane); without.State != bundle.FeaturePresent {
		key = present("a request without the key: " + without.Detail)
	}
	return findings{featControl: f, featControlKey: key}
}

// askControl makes the request at a control plane.
func (c *client) askControl(ctx context.Context, plane *Target) bundle.Feature {
	at := *c
	at.target = plane
	r := ask(surface.Control)
	x := at.do(ctx, r)
	var list []any
	ok := succeeded(x.Snapshot()) && json.Unmarshal(x.BodyBytes(), &list) == nil
	return at.decidePage(ctx, r, x, ok)
}

// keyless returns the target for requests to the control plane without the key.
func (t *Target) keyless() (*Target, error) {
	o := t.options
	o.Control.APIKey, o.Token = "", ""
	bare, err := t.derive(o)
	if err != nil {
		return nil, err
	}
	return bare.ControlPlane()
}
