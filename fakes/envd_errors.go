package fakes

import (
	"errors"
	"net/http"

	"connectrpc.com/connect"

	"assay/fakes/virtual"
	"assay/internal/envd/process/processconnect"
)

// connectName is the name that connect-go has for the Connect protocol.
const connectName = connect.ProtocolConnect

// onDaemonErrors changes the errors of the process service.
func onDaemonErrors(change func(error) error) func(*seams, *Options) {
	return func(s *seams, _ *Options) { s.errors = around(s.errors, change) }
}

// recode gives an error another code, and keeps what it wraps.
func recode(err error, code connect.Code) error {
	var e *connect.Error
	if errors.As(err, &e) {
		return connect.NewError(code, e.Unwrap())
	}
	return connect.NewError(code, err)
}

// missingUnimplemented is the default case of the daemon's type switches.
func missingUnimplemented(err error) error {
	if errors.Is(err, errNoSelector) || errors.Is(err, errUnknownSignal) || errors.Is(err, errNoInput) {
		return recode(err, connect.CodeUnimplemented)
	}
	return err
}

// inputInternal wraps whatever a write returned.
func inputInternal(err error) error {
	for _, cause := range []error{virtual.ErrStdinClosed, virtual.ErrBrokenPipe, errStdinOfTerminal, errNoTerminal} {
		if errors.Is(err, cause) {
			return recode(err, connect.CodeInternal)
		}
	}
	return err
}

// closeUnknown returns an error that has no code.
func closeUnknown(err error) error {
	if errors.Is(err, errCloseTerminal) {
		return recode(err, connect.CodeUnknown)
	}
	return err
}

// streamInputUnknown wraps the error of a stream without its code.
func streamInputUnknown(err error) error {
	var e *procedureError
	if errors.As(err, &e) && e.procedure == processconnect.ProcessStreamInputProcedure && connect.CodeOf(err) == connect.CodeInvalidArgument {
		return recode(err, connect.CodeUnknown)
	}
	return err
}

// dataBeforeStartCuts is a nil pointer that net/http recovers from.
func dataBeforeStartCuts(err error) error {
	if errors.Is(err, errDataBeforeStart) {
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to cut an answer
	}
	return err
}
