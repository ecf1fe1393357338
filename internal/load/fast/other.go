//go:build !linux || !(amd64 || arm64)

package fast

import (
	"context"
	"errors"

	"assay/internal/load"
)

// Engine is not available on this system: use package portable.
type Engine struct {
	// Loops is as on Linux.
	Loops int
}

var (
	_ load.Engine = Engine{}
	_ load.Looper = Engine{}
)

// Available reports that the engine cannot run here.
func Available() bool { return false }

// Name returns "fast".
func (Engine) Name() string { return "fast" }

// EventLoops returns 0.
func (Engine) EventLoops(*load.Plan) int { return 0 }

// Run returns an error.
func (Engine) Run(context.Context, *load.Plan, load.Sink) error {
	return errors.New("the fast engine needs Linux on amd64 or arm64: use the portable one")
}
