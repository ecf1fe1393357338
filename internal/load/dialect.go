package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/envd/process"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/wire"
)

// The codecs of a dialect.
const (
	CodecJSON  = call.JSON
	CodecProto = call.Proto
)

// Dialect is a protocol with a codec, for one target and one command. It builds the
// requests of a run and reads their responses. It is immutable.
type Dialect struct {
	// Protocol is one of the protocols of a plan, Codec json or proto.
	Protocol, Codec string
	// Target gives paths and headers.
	Target *target.Target
	// Command is run by the target's shell (by the gateway's own over NDJSON).
	Command string
	// Run names the run. Every process of the run carries it, in its mark.
	Run string
	// Part is the number of this process among those that share a plan, from 0. Each lists
	// and kills only the processes that it started.
	Part int
	// Stdin says that the process gets an input, which Input writes. NDJSON has none.
	Stdin bool
}

// Request is one HTTP request.
type Request struct {
	Method, Path string
	Headers      []bundle.Header
	Body         []byte
}

// mark returns the value of call.Mark.
func (d *Dialect) mark() string {
	if d.Part > 0 {
		return d.Run + "/load." + strconv.Itoa(d.Part)
	}
	return d.Run + "/load"
}

// marked returns the command with its mark, as NDJSON and stdio over WebSocket send it.
func (d *Dialect) marked() string { return call.NoOp(d.mark()) + "; " + d.Command }

// Start returns the request that begins a stream.
func (d *Dialect) Start() (Request, error) {
	switch d.Protocol {
	case ProtocolNDJSON:
		body, err := json.Marshal(call.Command{Cmd: d.marked(), TimeoutMS: new(int64(0))})
		return d.plain("POST", "", body), err
	case ProtocolWS:
		return d.attach(), nil
	}
	words := append(d.Target.Shell(), d.Command)
	return d.rpc(call.Sorted{Message: call.Start{
		Process: call.Config{Cmd: words[0], Args: words[1:], Envs: map[string]string{call.Mark: d.mark()}},
		Stdin:   &d.Stdin,
	}})
}

// Kill returns the request that kills a process.
func (d *Dialect) Kill(pid uint32) (Request, error) {
	if d.Protocol == ProtocolNDJSON {
		return d.plain("POST", call.KillPath(int64(pid)), []byte{}), nil
	}
	return d.rpc(call.Kill(call.ByPID(pid)))
}

// Input returns the request that writes to the standard input of a process.
func (d *Dialect) Input(pid uint32, data []byte) (Request, error) {
	return d.rpc(call.Sorted{Message: call.Write(call.ByPID(pid), data)})
}

// CloseStdin returns the request that closes the standard input of a process.
func (d *Dialect) CloseStdin(pid uint32) (Request, error) {
	return d.rpc(call.CloseStdin{Process: call.ByPID(pid)})
}

// List returns the request for all live processes.
func (d *Dialect) List() (Request, error) {
	if d.Protocol == ProtocolNDJSON {
		return d.plain("GET", "", nil), nil
	}
	return d.rpc(call.List{})
}

// form returns the form of the requests.
func (d *Dialect) form() call.Form {
	if d.Protocol == ProtocolWS { // its unary calls
		return call.Form{Protocol: ProtocolConnect, Codec: d.Codec}
	}
	return call.Form{Protocol: d.Protocol, Codec: d.Codec}
}

// rpc returns a call of the process service.
func (d *Dialect) rpc(m call.Message) (Request, error) {
	form, name := d.form(), m.Procedure()
	body, err := form.Body(m)
	if err != nil {
		return Request{}, err
	}
	r := Request{Method: "POST", Path: d.Target.Path("process", name), Headers: d.Target.Headers("load", d.Run), Body: body}
	own := form.ProtocolField()
	r.set(strings.ToLower(own.Name), own.Value)
	r.set("content-type", form.ContentType(name))
	return r, nil
}

// plain returns a request of the alias; a nil body is no body.
func (d *Dialect) plain(method, rest string, body []byte) Request {
	r := Request{Method: method, Path: d.Target.Path("commands", rest), Headers: d.Target.Headers("load", d.Run), Body: body}
	if len(body) > 0 {
		r.set("content-type", "application/json")
	}
	return r
}

// set sets a header, in the place of the one it replaces.
func (r *Request) set(name, value string) {
	for i, h := range r.Headers {
		if strings.EqualFold(h.Name, name) {
			r.Headers[i].Value = value
			return
		}
	}
	r.Headers = append(r.Headers, bundle.Header{Name: name, Value: value})
}

// StreamType reports whether a content type is that of a stream's response.
func (d *Dialect) StreamType(got string) bool {
	got, _, _ = strings.Cut(strings.ToLower(got), ";")
	got = strings.TrimSpace(got)
	if d.Protocol == ProtocolNDJSON {
		return wire.NDJSONType(got)
	}
	return d.form().Accepts(call.ProcessStart, got)
}

// ErrGone is the error of Reply for a process that the gateway does not know, or no longer.
var ErrGone = errors.New("not found")

// Answer is a whole response to a unary call.
type Answer struct {
	Status           int
	Fields, Trailers []wire.Field
	Body             []byte
}

// Reply returns the message of the response to a unary call, or an error: ErrGone for
// not_found.
func (d *Dialect) Reply(a *Answer) ([]byte, error) {
	switch {
	case d.Protocol == ProtocolGRPC || d.Protocol == ProtocolWeb:
		return d.grpcUnary(a)
	case a.Status == 200, d.Protocol == ProtocolNDJSON && a.Status/100 == 2:
		return a.Body, nil
	}
	e, _ := wire.DecodeError(a.Body)
	switch {
	case e != nil && e.Code == "not_found", (e == nil || e.Code == "") && a.Status == 404 && d.Protocol == ProtocolNDJSON:
		return nil, ErrGone
	case e != nil && e.Code != "":
		return nil, fmt.Errorf("HTTP %d, %s: %.200s", a.Status, e.Code, e.Message)
	}
	return nil, fmt.Errorf("HTTP %d", a.Status)
}

func (d *Dialect) grpcUnary(a *Answer) ([]byte, error) {
	if a.Status != 200 {
		return nil, fmt.Errorf("HTTP %d", a.Status)
	}
	fields := append(a.Trailers, a.Fields...)
	var message []byte
	dec := wire.EnvelopeDecoder{Protocol: d.Framing(), OnFrame: func(f wire.Frame) {
		if f.Flags&wire.FlagTrailer == 0 {
			message = bytes.Clone(f.Payload)
			return
		}
		web, _ := wire.DecodeWebTrailers(f.Payload)
		fields = append(web, fields...)
	}}
	dec.Feed(a.Body)
	s, ok, _ := wire.DecodeGRPCStatus(fields)
	switch {
	case !ok:
		return nil, errors.New("no grpc-status")
	case s.Code == 0:
		return message, nil
	case s.Code == 5:
		return nil, ErrGone
	}
	return nil, fmt.Errorf("grpc-status %d: %.200s", s.Code, s.Message)
}

// Framing returns the protocol of the envelopes.
func (d *Dialect) Framing() wire.Protocol {
	switch d.Protocol {
	case ProtocolGRPC:
		return wire.GRPC
	case ProtocolWeb:
		return wire.GRPCWeb
	default:
		return wire.Connect
	}
}

// Listed returns the pids of this run in the response to List.
func (d *Dialect) Listed(message []byte) (ours []uint32, err error) {
	if d.Protocol == ProtocolNDJSON {
		return d.listedCommands(message)
	}
	var m process.ListResponse
	if err := call.Decode(d.Codec, message, &m); err != nil {
		return nil, fmt.Errorf("the response to List: %w", err)
	}
	for _, p := range m.GetProcesses() {
		if d.Protocol == ProtocolWS {
			if d.attached(p) {
				ours = append(ours, p.GetPid())
			}
			continue
		}
		mark := p.GetConfig().GetEnvs()[call.Mark]
		if mark == d.mark() {
			ours = append(ours, p.GetPid())
		}
	}
	return ours, nil
}

func (d *Dialect) listedCommands(message []byte) (ours []uint32, err error) {
	var m struct {
		Commands []struct {
			PID   uint32 `json:"pid"`
			Cmd   string `json:"cmd"`
			State string `json:"state"`
		} `json:"commands"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return nil, fmt.Errorf("the list of commands: %w", err)
	}
	for _, c := range m.Commands {
		if c.State == "ending" || c.State == "ended" {
			continue
		}
		if d.carriesMark(c.Cmd) {
			ours = append(ours, c.PID)
		}
	}
	return ours, nil
}

// carriesMark reports whether a command was started by this part, with its mark in the
// command.
func (d *Dialect) carriesMark(command string) bool {
	return command == d.marked()
}
