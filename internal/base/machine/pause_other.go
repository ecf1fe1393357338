//go:build !unix

package machine

import "errors"

// CanPause reports whether this system can stop processes.
const CanPause = false

// Pause returns an error: this system cannot stop processes.
func Pause(int) error { return errors.ErrUnsupported }

// Continue returns an error, as Pause does.
func Continue(int) error { return errors.ErrUnsupported }
