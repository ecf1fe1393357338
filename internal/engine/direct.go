package engine

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"assay/internal/engine/render"
	"assay/internal/envd/call"
	"assay/internal/envd/process"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// housekeeper returns an instance without a scenario, for the engine's own calls. It
// speaks the plainest form of the protocol that the target supports.
func (e *env) housekeeper(name string) *instance {
	return &instance{env: e, target: e.target, s: &scenarios.Scenario{ID: name}, axes: e.plainest}
}

// plain returns the instance on the plainest axes: cleaning up after a scenario must
// not depend on the axes under test.
func (in *instance) plain() *instance {
	return &instance{env: in.env, target: in.target, s: in.s, axes: in.plainest}
}

// direct makes one call on a connection of its own and waits until the response is
// complete or ctx ends. A call that is refused as one too many is made again.
func (in *instance) direct(ctx context.Context, rec *transport.Recorder, name string, req render.Request) *transport.Exchange {
	for try := 0; ; try++ {
		in.pace(ctx, 1)
		x := in.once(ctx, rec, name, req)
		s := x.Snapshot()
		limits := in.target.Pace().Limits() || s.Response != nil && s.Response.Status == http.StatusTooManyRequests
		if s.Refusal() != bundle.RefusalLimit || !limits || try == mostTurns || !in.makeWay(ctx, &s, try, limits) {
			return x
		}
	}
}

// once makes one call.
func (in *instance) once(ctx context.Context, rec *transport.Recorder, name string, req render.Request) *transport.Exchange {
	req.Name, req.Step, req.Op = name, name, name
	conn, err := in.dial(ctx, rec, name, in.axes.HTTP)
	if err != nil {
		return rec.Failed(req.Call, failedConn(err), err)
	}
	x, err := begin(ctx, rec, conn, &req)
	if err == nil {
		// If the request could not be sent, the outcome of the exchange says why.
		_ = in.transmit(ctx, x, outgoing{pieces: req.Pieces(nil), http2: req.HTTP2})
	}
	select {
	case <-x.Done():
	case <-ctx.Done():
		x.GiveUp(bundle.OutcomeNoAnswer, "nothing came in the remaining time")
	}
	conn.Close(closeFIN)
	return x
}

// listed returns the live processes. ok is false when the target did not list them.
func (in *instance) listed(ctx context.Context, rec *transport.Recorder, op string) (list []listedProcess, ok bool) {
	req, err := in.render().RPC(in.form(), call.List{})
	if err != nil {
		return nil, false
	}
	x := in.direct(ctx, rec, op, req)
	s := x.Snapshot()
	if s.Outcome != bundle.OutcomeComplete || s.Response == nil || s.Response.Status != 200 {
		return nil, false
	}
	return readList(in.axes.Codec, x.BodyBytes())
}

// listedProcess holds the parts of an entry of List that the clean-up needs.
type listedProcess struct {
	pid  uint32
	mark string // the value of call.Mark
}

// maxList is the longest response to List that is decoded: its processes take many times its
// length.
const maxList = 4 << 20

// readList reads the response to List.
func readList(codec string, body []byte) (list []listedProcess, ok bool) {
	if len(body) > maxList {
		return nil, false
	}
	if codec != call.Proto {
		return readJSONList(body)
	}
	var m process.ListResponse
	if proto.Unmarshal(body, &m) != nil {
		return nil, false
	}
	for _, p := range m.GetProcesses() {
		list = append(list, listedProcess{pid: p.GetPid(), mark: markOf(p.GetConfig().GetEnvs(), p.GetConfig().GetArgs())})
	}
	return list, true
}

// readJSONList reads only what it needs: a target that breaks the JSON mapping
// elsewhere is cleaned up as well.
func readJSONList(body []byte) (list []listedProcess, ok bool) {
	var m struct {
		Processes []struct {
			PID    uint32 `json:"pid"`
			Config struct {
				Envs map[string]string `json:"envs"`
				Args []string          `json:"args"`
			} `json:"config"`
		} `json:"processes"`
	}
	if json.Unmarshal(body, &m) != nil {
		return nil, false
	}
	for _, p := range m.Processes {
		list = append(list, listedProcess{pid: p.PID, mark: markOf(p.Config.Envs, p.Config.Args)})
	}
	return list, true
}

// markOf returns the mark of a process: in its environment, or as its last argument, "" without one.
func markOf(envs map[string]string, args []string) string {
	if mark := envs[call.Mark]; mark != "" || len(args) == 0 {
		return mark
	}
	mark, ok := strings.CutPrefix(args[len(args)-1], call.Mark+"=")
	if !ok {
		return ""
	}
	return mark
}

// alive calls the target twice and reports whether it responds. It never reports the
// target dead in an interrupted run.
func (e *env) alive(ctx context.Context) bool {
	rec := e.target.NewRecorder(e.clock)
	defer rec.Finish(nil)
	return e.housekeeper("probe").answers(ctx, rec)
}

// plainRequest returns a request with which nothing is wrong: List, or GET for a service that is no gateway.
func (in *instance) plainRequest() (render.Request, error) {
	if in.target.IsService() {
		return in.render().Surface(in.form(), "", "GET", "", nil), nil
	}
	return in.render().RPC(in.form(), call.List{})
}

// answers reports whether one of two attempts at a call gets a response, whatever it
// is.
func (in *instance) answers(ctx context.Context, rec *transport.Recorder) bool {
	req, err := in.plainRequest()
	if err != nil {
		return true
	}
	for range 2 {
		bounded, cancel := context.WithTimeout(ctx, in.probeBound())
		s := in.direct(bounded, rec, bundle.OpProbe, req).Snapshot()
		cancel()
		if s.Response != nil || ctx.Err() != nil {
			return true
		}
		if sleep(ctx, in.poll()) != nil {
			return true
		}
	}
	return false
}

// opScrape is the operation of a scrape, which is recorded apart.
const opScrape = "scrape"

// aside returns a context for work that must be done even if ctx is cancelled: it lasts
// for normal, but no longer than after once ctx is cancelled. All such work of a run ends
// within afterAll of its interrupt.
func (e *env) aside(ctx context.Context, normal, after time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithTimeout(context.WithoutCancel(ctx), normal)
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(min(after, e.leftAfterAll()))
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-out.Done():
		}
	})
	return out, func() {
		stop()
		cancel()
	}
}

// leftAfterAll returns what is left of afterAll.
func (e *env) leftAfterAll() time.Duration {
	if at := e.interrupted.Load(); at != nil {
		return afterAll - time.Since(*at)
	}
	return afterAll
}

// noteInterrupt records when ctx, the context of the run, is cancelled. Call stop at the end.
func (e *env) noteInterrupt(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		now := time.Now()
		e.interrupted.Store(&now)
	})
}

// absorb appends the records of the engine's own calls to an iteration, and renumbers
// them.
func absorb(it *bundle.Iteration, rec *transport.Recorder) {
	conns, exchanges := rec.Finish(nil)
	firstConn, firstExchange := 0, len(it.Exchanges)
	for i := range it.Conns {
		firstConn = max(firstConn, it.Conns[i].ID+1)
	}
	for _, c := range conns {
		c.ID += firstConn
		it.Conns = append(it.Conns, c)
	}
	for _, x := range exchanges {
		x.ID += firstExchange
		if x.Conn >= 0 {
			x.Conn += firstConn
		}
		it.Exchanges = append(it.Exchanges, x)
	}
}
