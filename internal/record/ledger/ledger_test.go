package ledger

import (
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/proto"

	"assay/internal/envd/call"
	"assay/internal/envd/process"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

func start(pid uint32, exit *bundle.Exit) bundle.Exchange {
	x := bundle.Exchange{
		Name: "p", Op: "start", RPC: call.ProcessStart, Surface: "process", Shape: bundle.ShapeStream, Codec: "json",
		Outcome: bundle.OutcomeComplete, Response: &bundle.Response{Status: 200},
		Events: []bundle.Event{{Kind: bundle.EventStart, PID: pid}},
	}
	if exit != nil {
		x.Events = append(x.Events, bundle.Event{Kind: bundle.EventEnd, Exit: exit})
	}
	return x
}

func signal(pid uint32, name string, status int) bundle.Exchange {
	body, _ := json.Marshal(map[string]any{"process": map[string]any{"pid": pid}, "signal": name})
	return bundle.Exchange{
		Name: "k", Op: "signal", RPC: call.ProcessSendSignal, Surface: "process", Shape: bundle.ShapeUnary, Codec: "json",
		Outcome: bundle.OutcomeComplete, Request: bundle.Request{Method: "POST", Body: bundle.NewBlob(body, nil)},
		Response: &bundle.Response{Status: status},
	}
}

func alias(pid uint32, body string, exit *bundle.Exit) bundle.Exchange {
	x := start(pid, exit)
	x.RPC, x.Surface, x.Shape = "", "commands", bundle.ShapeNDJSON
	x.Request = bundle.Request{Method: "POST", Path: "/commands", Body: bundle.NewBlob([]byte(body), nil)}
	return x
}

func attach(status int, exit *bundle.Exit) bundle.Exchange {
	x := bundle.Exchange{
		Name: "p", Op: "start", Surface: "stdio", Shape: bundle.ShapeStdio, Outcome: bundle.OutcomeComplete,
		Response: &bundle.Response{Status: status},
	}
	if exit != nil {
		x.Events = []bundle.Event{{Kind: bundle.EventEnd, Exit: exit}}
	}
	return x
}

func TestOf(t *testing.T) {
	ok, failed := &bundle.Exit{Exited: true}, &bundle.Exit{Code: 3, Exited: true}
	killed := &bundle.Exit{Code: -1, Status: "signal: killed", Signal: "SIGKILL"}
	termed := &bundle.Exit{Code: -1, Status: "signal: terminated", Signal: "SIGTERM"}
	with := func(x bundle.Exchange, change func(*bundle.Exchange)) bundle.Exchange {
		change(&x)
		return x
	}
	cases := []struct {
		name string
		xs   []bundle.Exchange
		proc []bundle.Process
		want Ledger
	}{
		{"a WebSocket whose process exits with 0", []bundle.Exchange{attach(101, &bundle.Exit{})}, nil, Ledger{Started: 1, OK: 1}},
		{"a WebSocket whose process is killed by pid", []bundle.Exchange{attach(101, &bundle.Exit{Code: 137}), signal(5, "SIGNAL_SIGKILL", 200)},
			[]bundle.Process{{Name: "p", PID: 5}}, Ledger{Started: 1, Killed: 1}},
		{"a WebSocket without an exit message", []bundle.Exchange{attach(101, nil)}, nil, Ledger{Started: 1, Open: 1}},
		{"a refused WebSocket", []bundle.Exchange{attach(404, nil)}, nil, Ledger{}},
		{"an exit with 0", []bundle.Exchange{start(1, ok)}, nil, Ledger{Started: 1, OK: 1}},
		{"another exit", []bundle.Exchange{start(1, failed)}, nil, Ledger{Started: 1, Error: 1}},
		{"a signal that nobody sent", []bundle.Exchange{start(1, killed)}, nil, Ledger{Started: 1, Error: 1}},
		{"no end was seen", []bundle.Exchange{start(1, nil)}, nil, Ledger{Started: 1, Open: 1}},
		{"SIGKILL counts at once", []bundle.Exchange{start(1, nil), signal(1, "SIGNAL_SIGKILL", 200)}, nil, Ledger{Started: 1, Killed: 1}},
		{"SIGKILL twice counts once", []bundle.Exchange{start(1, killed), signal(1, "SIGNAL_SIGKILL", 200), signal(1, "SIGNAL_SIGKILL", 200)}, nil, Ledger{Started: 1, Killed: 1}},
		{"a SIGKILL that came too late", []bundle.Exchange{start(1, ok), signal(1, "SIGNAL_SIGKILL", 404)}, nil, Ledger{Started: 1, OK: 1}},
		{"a SIGTERM of which it died", []bundle.Exchange{start(1, termed), signal(1, "SIGNAL_SIGTERM", 200)}, nil, Ledger{Started: 1, Killed: 1}},
		{"a SIGTERM that was trapped", []bundle.Exchange{start(1, failed), signal(1, "SIGNAL_SIGTERM", 200)}, nil, Ledger{Started: 1, Error: 1}},
		{"a signal to another process", []bundle.Exchange{start(1, nil), start(2, ok), signal(1, "SIGNAL_SIGKILL", 200)}, nil, Ledger{Started: 2, OK: 1, Killed: 1}},
		{"the end comes on another stream", []bundle.Exchange{start(1, nil), with(start(1, ok), func(x *bundle.Exchange) { x.RPC, x.Op = "process.Process/Connect", "connect" })}, nil, Ledger{Started: 1, OK: 1}},
		{"a start that was refused", []bundle.Exchange{with(start(1, nil), func(x *bundle.Exchange) { x.Events = nil })}, nil, Ledger{}},
		{"the stream's deadline", []bundle.Exchange{with(start(1, nil), func(x *bundle.Exchange) { x.Error = &bundle.RPCError{Code: "deadline_exceeded"} })}, nil, Ledger{Started: 1, Killed: 1}},
		{"the clean-up killed it", []bundle.Exchange{start(1, nil)}, []bundle.Process{{PID: 1, Cleanup: "killed"}}, Ledger{Started: 1, Killed: 1}},
		{"the alias", []bundle.Exchange{alias(1, `{"cmd":"true"}`, &bundle.Exit{})}, nil, Ledger{Started: 1, OK: 1}},
		{"the alias's deadline", []bundle.Exchange{alias(1, `{"cmd":"sleep 9","timeout_ms":50}`, &bundle.Exit{Code: -1})}, nil, Ledger{Started: 1, Killed: 1}},
		{"the alias without deadline", []bundle.Exchange{alias(1, `{"cmd":"kill -9 $$","timeout_ms":0}`, &bundle.Exit{Code: -1})}, nil, Ledger{Started: 1, Error: 1}},
		{"a kill over the alias", []bundle.Exchange{alias(7, `{"cmd":"sleep 9"}`, nil), {
			Surface: "commands", Shape: bundle.ShapePlain, Outcome: bundle.OutcomeComplete,
			Request: bundle.Request{Method: "POST", Path: "/x/commands/7/kill"}, Response: &bundle.Response{Status: 204},
		}}, nil, Ledger{Started: 1, Killed: 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := &bundle.Observation{Iterations: []bundle.Iteration{{Exchanges: c.xs, Processes: c.proc}, {}}}
			if got := Of(o); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestOfReadsProtobufAndTags(t *testing.T) {
	tag := "t1"
	req, err := proto.Marshal(&process.StartRequest{Tag: &tag})
	if err != nil {
		t.Fatal(err)
	}
	x := start(5, nil)
	x.Codec, x.Request.Body = "proto", bundle.NewBlob(wire.AppendEnvelope(nil, 0, req), nil)
	kill, err := proto.Marshal(&process.SendSignalRequest{
		Process: &process.ProcessSelector{Selector: &process.ProcessSelector_Tag{Tag: tag}}, Signal: process.Signal_SIGNAL_SIGKILL,
	})
	if err != nil {
		t.Fatal(err)
	}
	k := signal(0, "", 200)
	k.Codec, k.Request.Body = "proto", bundle.NewBlob(kill, nil)
	o := &bundle.Observation{Iterations: []bundle.Iteration{{Exchanges: []bundle.Exchange{x, k}}}}
	if got, want := Of(o), (Ledger{Started: 1, Killed: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestUncertain(t *testing.T) {
	cut, refused := start(1, nil), start(1, nil)
	cut.Events, cut.Outcome = nil, bundle.OutcomeReset
	refused.Events, refused.Error = nil, &bundle.RPCError{Code: "internal"}
	never := cut
	never.Outcome = bundle.OutcomeNoConnect
	lost := attach(101, nil)
	lost.Outcome = bundle.OutcomeReset
	unanswered := attach(0, nil)
	unanswered.Response, unanswered.Outcome = nil, bundle.OutcomeClosed
	o := &bundle.Observation{Iterations: []bundle.Iteration{{Exchanges: []bundle.Exchange{start(1, nil), cut, refused, never, lost, unanswered}}}}
	if got := Uncertain(o); got != 2 {
		t.Errorf("got %d, want 2: the cut start and the unanswered handshake", got)
	}
}

func TestInvariants(t *testing.T) {
	before := Counters{Started: 10, OK: 5, Error: 1, Killed: 2, Active: 2}
	after := Counters{Started: 14, OK: 8, Error: 1, Killed: 3, Active: 2}
	d := Diff(before, after)
	if d.Started != 4 || d.OK != 3 || d.Error != 0 || d.Killed != 1 || d.Active != 0 || Partition(d, 0) != "" {
		t.Errorf("difference %+v", d)
	}
	if down := Monotone(before, after); down != nil {
		t.Errorf("down: %q", down)
	}
	down := Monotone(after, before)
	if len(down) != 3 || down[0] != "started decreased from 14 to 10" {
		t.Errorf("down: %q", down)
	}
	twice := after
	twice.Killed++
	if got, want := Partition(twice, 0), "started 14 is not ok 8 + error 1 + killed 4 + active 2 = 15"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Partition(twice, 1); got != "" {
		t.Errorf("one is in flight: %q", got)
	}
}
