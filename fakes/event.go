package fakes

import (
	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
)

// eventKind is the kind of a process event.
type eventKind int

const (
	eventStart eventKind = iota + 1
	eventData
	eventEnd
	eventKeepAlive
)

// event is one process event on its way to one subscriber, whatever the
// surface.
type event struct {
	kind  eventKind
	pid   uint32 // start
	chunk chunk  // data
	end   ending // end
	// more says that another event follows at once, so that this one need not
	// be flushed on its own.
	more bool
}

// eventSink sends events to one subscriber.
type eventSink interface {
	send(e event) error
}

// eventSinkFunc is a function as an eventSink.
type eventSinkFunc func(event) error

func (f eventSinkFunc) send(e event) error { return f(e) }

// message is e as the process service sends it.
func (e event) message() *envd.ProcessEvent {
	switch e.kind {
	case eventStart:
		return &envd.ProcessEvent{Event: &envd.ProcessEvent_Start{Start: &envd.ProcessEvent_StartEvent{Pid: e.pid}}}
	case eventData:
		d := &envd.ProcessEvent_DataEvent{}
		switch e.chunk.stream {
		case virtual.Stderr:
			d.Output = &envd.ProcessEvent_DataEvent_Stderr{Stderr: e.chunk.data}
		case virtual.PTY:
			d.Output = &envd.ProcessEvent_DataEvent_Pty{Pty: e.chunk.data}
		default:
			d.Output = &envd.ProcessEvent_DataEvent_Stdout{Stdout: e.chunk.data}
		}
		return &envd.ProcessEvent{Event: &envd.ProcessEvent_Data{Data: d}}
	case eventEnd:
		end := &envd.ProcessEvent_EndEvent{ExitCode: e.end.code, Exited: e.end.exited, Status: e.end.status}
		if e.end.err != "" {
			end.Error = &e.end.err
		}
		return &envd.ProcessEvent{Event: &envd.ProcessEvent_End{End: end}}
	default:
		return &envd.ProcessEvent{Event: &envd.ProcessEvent_Keepalive{Keepalive: &envd.ProcessEvent_KeepAlive{}}}
	}
}
