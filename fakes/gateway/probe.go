package gateway

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/strict"
	"assay/internal/envd/probe"
	"assay/internal/envd/probe/probeconnect"
)

// The limits of a probe's script; see probe.proto.
const (
	maxProbePayload  = 4 << 20
	maxProbeMessages = 10_000
	maxProbeDelay    = 60_000 // ms
)

// probeService responds as its requests specify.
type probeService struct{}

var _ probeconnect.ProbeHandler = probeService{}

// Unary responds to one message.
func (s probeService) Unary(ctx context.Context, req *connect.Request[probe.UnaryRequest]) (*connect.Response[probe.UnaryResponse], error) {
	seen := newSeen(ctx, req.Header())
	seen.count(req.Msg.GetPayload())
	res := connect.NewResponse(&probe.UnaryResponse{Seen: seen.Seen})
	var err error
	res.Msg.Payload, err = s.answer(ctx, req.Msg.GetScript(), metadata{res.Header(), res.Trailer(), req.Peer().Protocol})
	return res, err
}

// Safe is Unary, also by GET.
func (s probeService) Safe(ctx context.Context, req *connect.Request[probe.SafeRequest]) (*connect.Response[probe.SafeResponse], error) {
	seen := newSeen(ctx, req.Header())
	seen.count(req.Msg.GetPayload())
	res := connect.NewResponse(&probe.SafeResponse{Seen: seen.Seen})
	var err error
	res.Msg.Payload, err = s.answer(ctx, req.Msg.GetScript(), metadata{res.Header(), res.Trailer(), req.Peer().Protocol})
	return res, err
}

// ServerStream sends the messages of the script, and then its error.
func (s probeService) ServerStream(ctx context.Context, req *connect.Request[probe.ServerStreamRequest], out *connect.ServerStream[probe.ServerStreamResponse]) error {
	seen := newSeen(ctx, req.Header())
	seen.count(req.Msg.GetPayload())
	script := req.Msg.GetScript()
	md := metadata{header: out.ResponseHeader(), trailer: out.ResponseTrailer()}
	if err := checkScript(script); err != nil {
		return err
	}
	md.fill(script)
	for i := range script.GetMessages() {
		if err := s.wait(ctx, script); err != nil {
			return err
		}
		m := &probe.ServerStreamResponse{Index: i, Payload: pattern(script.GetPayload())}
		if i == 0 {
			m.Seen = seen.Seen
		}
		if err := out.Send(m); err != nil {
			return err
		}
	}
	return scripted(script)
}

// ClientStream responds after the last request message.
func (s probeService) ClientStream(ctx context.Context, in *connect.ClientStream[probe.ClientStreamRequest]) (*connect.Response[probe.ClientStreamResponse], error) {
	seen := newSeen(ctx, in.RequestHeader())
	var script *probe.Script
	for in.Receive() {
		seen.count(in.Msg().GetPayload())
		if script == nil {
			script = in.Msg().GetScript()
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	res := connect.NewResponse(&probe.ClientStreamResponse{Seen: seen.Seen})
	var err error
	res.Msg.Payload, err = s.answer(ctx, script, metadata{res.Header(), res.Trailer(), in.Peer().Protocol})
	return res, err
}

// BidiStream responds to every message at once.
func (s probeService) BidiStream(ctx context.Context, stream *connect.BidiStream[probe.BidiStreamRequest, probe.BidiStreamResponse]) error {
	seen := newSeen(ctx, stream.RequestHeader())
	md := metadata{header: stream.ResponseHeader(), trailer: stream.ResponseTrailer()}
	for i := uint32(0); ; i++ {
		m, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		seen.count(m.GetPayload())
		script := m.GetScript()
		if err := checkScript(script); err != nil {
			return err
		}
		md.fill(script)
		if script.GetError() != nil {
			return scripted(script)
		}
		if err := s.wait(ctx, script); err != nil {
			return err
		}
		if err := stream.Send(&probe.BidiStreamResponse{Seen: seen.Seen, Index: i, Payload: pattern(script.GetPayload())}); err != nil {
			return err
		}
	}
}

// Unimplemented exists but is not implemented.
func (probeService) Unimplemented(context.Context, *connect.Request[probe.UnimplementedRequest]) (*connect.Response[probe.UnimplementedResponse], error) {
	return nil, connect.NewError(connect.CodeUnimplemented, errors.New("assay.v1.Probe.Unimplemented is not implemented"))
}

// answer runs the script of one message.
func (s probeService) answer(ctx context.Context, script *probe.Script, md metadata) ([]byte, error) {
	if err := checkScript(script); err != nil {
		return nil, err
	}
	md.fill(script)
	if err := s.wait(ctx, script); err != nil {
		return nil, err
	}
	return pattern(script.GetPayload()), md.onError(scripted(script))
}

// wait waits for the delay of a script, or until the deadline.
func (probeService) wait(ctx context.Context, script *probe.Script) error {
	if script.GetDelayMs() == 0 {
		return nil
	}
	over := time.NewTimer(time.Duration(script.GetDelayMs()) * time.Millisecond)
	defer over.Stop()
	select {
	case <-over.C:
		return nil
	case <-ctx.Done():
		return strict.AsError(ctx.Err())
	}
}

// checkScript refuses a script that exceeds the limits.
func checkScript(s *probe.Script) error {
	switch {
	case s.GetPayload() > maxProbePayload:
		return invalid("script.payload is %d: at most %d are sent", s.GetPayload(), maxProbePayload)
	case s.GetMessages() > maxProbeMessages:
		return invalid("script.messages is %d: at most %d are sent", s.GetMessages(), maxProbeMessages)
	case s.GetDelayMs() > maxProbeDelay:
		return invalid("script.delay_ms is %d: at most %d", s.GetDelayMs(), maxProbeDelay)
	case s.GetError() != nil && (s.GetError().GetCode() < 1 || s.GetError().GetCode() > 16):
		return invalid("script.error.code is %d: the codes are 1 to 16", s.GetError().GetCode())
	}
	for _, f := range slices.Concat(s.GetHeaders(), s.GetTrailers()) {
		if err := checkField(f); err != nil {
			return err
		}
	}
	return nil
}

// checkField refuses metadata that cannot be sent, and names that belong to the
// protocol.
func checkField(f *probe.Field) error {
	name := f.GetName()
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" || isProtocolHeader(name) {
		return invalid("script: %q is not a metadata name", name)
	}
	for i := range len(f.GetText()) {
		if c := f.GetText()[i]; c < ' ' || c > '~' {
			return invalid("script: the value of %q contains the byte 0x%02x: anything but printable ASCII needs a name that ends in -bin", name, c)
		}
	}
	return nil
}

// scripted returns the error of a script, or nil.
func scripted(s *probe.Script) error {
	if s.GetError() == nil {
		return nil
	}
	err := connect.NewError(connect.Code(s.GetError().GetCode()), errors.New(s.GetError().GetMessage()))
	for _, d := range s.GetError().GetDetails() {
		detail, derr := connect.NewErrorDetail(d)
		if derr != nil {
			return connect.NewError(connect.CodeInternal, fmt.Errorf("detail: %w", derr))
		}
		err.AddDetail(detail)
	}
	return err
}

// metadata is the leading and trailing metadata of a response, for one protocol
// of connect-go.
type metadata struct {
	header, trailer http.Header
	protocol        string
}

// onError adds the metadata of the response to an error that replaces it.
// connect-go writes the metadata of an error unchanged: for a Connect call into
// the header, where trailing metadata has a prefix, for other calls into the
// trailers.
func (m metadata) onError(err error) error {
	var e *connect.Error
	if !errors.As(err, &e) {
		return err
	}
	prefix := ""
	if m.protocol == connect.ProtocolConnect {
		prefix = "Trailer-"
		maps.Copy(e.Meta(), m.header)
	}
	for name, values := range m.trailer {
		e.Meta()[prefix+name] = values
	}
	return err
}

// fill adds the metadata of a script.
func (m metadata) fill(s *probe.Script) {
	addFields(m.header, s.GetHeaders())
	addFields(m.trailer, s.GetTrailers())
}

func addFields(h http.Header, fields []*probe.Field) {
	for _, f := range fields {
		v := f.GetText()
		if strings.HasSuffix(f.GetName(), "-bin") {
			v = base64.RawStdEncoding.EncodeToString(f.GetBin())
		}
		h.Add(f.GetName(), v)
	}
}

// pattern returns n bytes that count up.
func pattern(n uint32) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i)
	}
	return p
}
