package gateway

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"assay/fakes/gatewaytest"

	"connectrpc.com/connect"

	"assay/internal/envd/probe"
	"assay/internal/envd/probe/probeconnect"
)

func TestTheProbeAnswersAsItIsTold(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	for name, opts := range map[string][]connect.ClientOption{
		"connect": nil, "json": {connect.WithProtoJSON()}, "grpc": {connect.WithGRPC()}, "grpc-web": {connect.WithGRPCWeb()},
	} {
		t.Run(name, func(t *testing.T) {
			c := probeconnect.NewProbeClient(gatewaytest.HTTPClient(t, g, "h2c"), g.URL(), opts...)
			probeUnary(t, c)
			probeStreams(t, c)
		})
	}
}

// probeUnary asks for metadata, a payload and an error of each code.
func probeUnary(t *testing.T, c probeconnect.ProbeClient) {
	t.Helper()
	script := &probe.Script{
		Payload:  300,
		Headers:  []*probe.Field{{Name: "x-lead", Text: "a"}, {Name: "x-lead", Text: "b"}, {Name: "x-raw-bin", Bin: []byte{0, 255}}},
		Trailers: []*probe.Field{{Name: "x-trail", Text: "z"}},
	}
	req := connect.NewRequest(&probe.UnaryRequest{Script: script, Payload: []byte("12345")})
	req.Header().Add("X-Sent", "one")
	req.Header().Add("X-Sent", "two")
	req.Header().Set("X-Sent-Bin", "AP8=")
	res, err := c.Unary(gatewaytest.Deadline(t), req)
	if err != nil {
		t.Fatal(err)
	}
	m := res.Msg
	if len(m.GetPayload()) != 300 || m.GetPayload()[299] != 299&0xff || m.GetSeen().GetPayload() != 5 || m.GetSeen().GetMethod() != "POST" || m.GetSeen().TimeoutMs == nil {
		t.Errorf("%v", m.GetSeen())
	}
	var seen strings.Builder
	for _, f := range m.GetSeen().GetMetadata() {
		seen.WriteString(f.GetName() + "=" + f.GetText() + string(f.GetBin()) + ";")
	}
	if got := seen.String(); got != "x-sent=one;x-sent=two;x-sent-bin=\x00\xff;" {
		t.Errorf("seen %q", got)
	}
	if h := res.Header(); strings.Join(h["X-Lead"], " ") != "a b" || h.Get("X-Raw-Bin") != "AP8" || res.Trailer().Get("X-Trail") != "z" {
		t.Errorf("metadata %v, %v", h, res.Trailer())
	}
	for code := connect.Code(1); code <= 16; code++ {
		script.Error = &probe.Error{Code: int32(code), Message: "ünique", Details: []*probe.Detail{{Text: "why"}}}
		_, err := c.Unary(gatewaytest.Deadline(t), connect.NewRequest(&probe.UnaryRequest{Script: script}))
		var e *connect.Error
		if !errors.As(err, &e) || e.Code() != code || e.Message() != "ünique" || len(e.Details()) != 1 || e.Meta().Get("X-Trail") != "z" {
			t.Errorf("%v: %v, %v", code, err, e.Meta())
		}
	}
	for _, bad := range []*probe.Script{
		{Payload: maxProbePayload + 1}, {Messages: maxProbeMessages + 1}, {DelayMs: maxProbeDelay + 1}, {Error: &probe.Error{Code: 17}}, {Error: &probe.Error{}},
		{Headers: []*probe.Field{{Name: "content-type", Text: "x"}}}, {Trailers: []*probe.Field{{Name: "x", Text: "a\nb"}}}, {Headers: []*probe.Field{{}}},
	} {
		if _, err := c.Unary(gatewaytest.Deadline(t), connect.NewRequest(&probe.UnaryRequest{Script: bad})); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if _, err := c.Unimplemented(gatewaytest.Deadline(t), connect.NewRequest(&probe.UnimplementedRequest{})); connect.CodeOf(err) != connect.CodeUnimplemented {
		t.Errorf("Unimplemented: %v", err)
	}
}

// probeStreams asks for each shape of stream.
func probeStreams(t *testing.T, c probeconnect.ProbeClient) {
	t.Helper()
	script := &probe.Script{Messages: 3, Payload: 2, Error: &probe.Error{Code: 10, Message: "after three"}, Trailers: []*probe.Field{{Name: "x-trail", Text: "z"}}}
	down, err := c.ServerStream(gatewaytest.Deadline(t), connect.NewRequest(&probe.ServerStreamRequest{Script: script}))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for down.Receive() {
		n++
	}
	if n != 3 || connect.CodeOf(down.Err()) != connect.CodeAborted || down.ResponseTrailer().Get("X-Trail") != "z" {
		t.Errorf("server stream: %d messages, %v, %v", n, down.Err(), down.ResponseTrailer())
	}
	up := c.ClientStream(gatewaytest.Deadline(t))
	for range 4 {
		if err := up.Send(&probe.ClientStreamRequest{Payload: []byte("abc"), Script: &probe.Script{Payload: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	res, err := up.CloseAndReceive()
	if err != nil || res.Msg.GetSeen().GetMessages() != 4 || res.Msg.GetSeen().GetPayload() != 12 || len(res.Msg.GetPayload()) != 1 {
		t.Errorf("client stream: %v, %v", res, err)
	}
	both := c.BidiStream(gatewaytest.Deadline(t))
	for i := range uint32(3) {
		if err := both.Send(&probe.BidiStreamRequest{Payload: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		if m, err := both.Receive(); err != nil || m.GetIndex() != i || m.GetSeen().GetMessages() != i+1 {
			t.Errorf("bidi: %v, %v", m, err)
		}
	}
	_ = both.CloseRequest()
	if _, err := both.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("bidi: %v, want its end", err)
	}
}

func TestTheProbesDelayEndsAtTheDeadline(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := probeconnect.NewProbeClient(gatewaytest.HTTPClient(t, g, "1.1"), g.URL())
	req := connect.NewRequest(&probe.UnaryRequest{Script: &probe.Script{DelayMs: maxProbeDelay}})
	req.Header().Set("Connect-Timeout-Ms", "30")
	began := time.Now()
	if _, err := c.Unary(context.Background(), req); connect.CodeOf(err) != connect.CodeDeadlineExceeded || time.Since(began) > gatewaytest.Patience {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
