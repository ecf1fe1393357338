package gateway

import (
	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
)

// EventKind is the kind of a process event.
type EventKind int

// The kinds of events.
const (
	EventStart EventKind = iota + 1
	EventData
	EventEnd
	EventKeepAlive
)

// Event is one process event for one subscriber, on any surface.
type Event struct {
	Kind  EventKind
	PID   uint32 // start
	Chunk Chunk  // data
	End   Ending // end
	// More reports that another event follows at once, so that this one need
	// not be flushed separately.
	More bool
}

// EventSink sends events to one subscriber.
type EventSink interface {
	// Send blocks until the event has been sent or cannot be sent.
	Send(e Event) error
}

// EventSinkFunc is a function as an EventSink.
type EventSinkFunc func(Event) error

// Send calls f.
func (f EventSinkFunc) Send(e Event) error { return f(e) }

// message returns e as a message of the process service.
func (e Event) message() *envd.ProcessEvent {
	switch e.Kind {
	case EventStart:
		return &envd.ProcessEvent{Event: &envd.ProcessEvent_Start{Start: &envd.ProcessEvent_StartEvent{Pid: e.PID}}}
	case EventData:
		d := &envd.ProcessEvent_DataEvent{}
		switch e.Chunk.Stream {
		case virtual.Stderr:
			d.Output = &envd.ProcessEvent_DataEvent_Stderr{Stderr: e.Chunk.Data}
		case virtual.PTY:
			d.Output = &envd.ProcessEvent_DataEvent_Pty{Pty: e.Chunk.Data}
		default:
			d.Output = &envd.ProcessEvent_DataEvent_Stdout{Stdout: e.Chunk.Data}
		}
		return &envd.ProcessEvent{Event: &envd.ProcessEvent_Data{Data: d}}
	case EventEnd:
		end := &envd.ProcessEvent_EndEvent{ExitCode: e.End.Code, Exited: e.End.Exited, Status: e.End.Status}
		if e.End.Err != "" {
			end.Error = &e.End.Err
		}
		return &envd.ProcessEvent{Event: &envd.ProcessEvent_End{End: end}}
	default:
		return &envd.ProcessEvent{Event: &envd.ProcessEvent_Keepalive{Keepalive: &envd.ProcessEvent_KeepAlive{}}}
	}
}
