package transport_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"assay/internal/envd/call"
	"assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/internal/testkit"
)

// gateway is a small gateway on connect-go, which speaks all three protocols.
type gateway struct {
	processconnect.UnimplementedProcessHandler
}

const errorText = "no pid 9: 100% gönë"

func (gateway) List(context.Context, *connect.Request[process.ListRequest]) (*connect.Response[process.ListResponse], error) {
	r := connect.NewResponse(&process.ListResponse{Processes: []*process.ProcessInfo{{Pid: 7}}})
	r.Trailer().Set("x-trailing", "yes")
	return r, nil
}

func (gateway) SendSignal(context.Context, *connect.Request[process.SendSignalRequest]) (*connect.Response[process.SendSignalResponse], error) {
	e := connect.NewError(connect.CodeNotFound, errors.New(errorText))
	d, err := connect.NewErrorDetail(&process.ProcessInfo{Pid: 9})
	if err != nil {
		return nil, err
	}
	e.AddDetail(d)
	return nil, e
}

// Start sends hello once for each argument of the process, and fails for the command "fail".
func (gateway) Start(_ context.Context, req *connect.Request[process.StartRequest], out *connect.ServerStream[process.StartResponse]) error {
	p := req.Msg.GetProcess()
	events := []*process.ProcessEvent{{Event: &process.ProcessEvent_Start{Start: &process.ProcessEvent_StartEvent{Pid: 7}}}}
	for range p.GetArgs() {
		events = append(events, &process.ProcessEvent{Event: &process.ProcessEvent_Data{Data: &process.ProcessEvent_DataEvent{
			Output: &process.ProcessEvent_DataEvent_Stdout{Stdout: []byte(strings.Repeat("hello ", 5000))}}}})
	}
	if p.GetCmd() != "fail" {
		events = append(events, &process.ProcessEvent{Event: &process.ProcessEvent_End{End: &process.ProcessEvent_EndEvent{Exited: true, Status: "exit status 0"}}})
	}
	for _, e := range events {
		if err := out.Send(&process.StartResponse{Event: e}); err != nil {
			return err
		}
	}
	if p.GetCmd() == "fail" {
		return connect.NewError(connect.CodeInternal, errors.New("gave up"))
	}
	return nil
}

// way is one way to reach the gateway: an HTTP version and what it needs.
type way struct {
	addr    string
	options transport.Options
}

// serveWays serves the gateway in cleartext (HTTP/1.1 and h2c) and over TLS.
func serveWays(t *testing.T, h http.Handler) map[string]way {
	t.Helper()
	plain := httptest.NewUnstartedServer(h)
	plain.Config.Protocols = new(http.Protocols)
	plain.Config.Protocols.SetHTTP1(true)
	plain.Config.Protocols.SetUnencryptedHTTP2(true)
	plain.Start()
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(h)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(secure.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	config := &tls.Config{RootCAs: roots}
	at := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	return map[string]way{
		"1.1":         {at(plain), transport.Options{}},
		"h2c":         {at(plain), transport.Options{HTTP: transport.H2C}},
		"1.1 and TLS": {at(secure), transport.Options{TLS: config}},
		"h2-tls":      {at(secure), transport.Options{HTTP: transport.H2TLS, TLS: config}},
	}
}

func serveGateway(t *testing.T) map[string]way {
	mux := http.NewServeMux()
	mux.Handle(processconnect.NewProcessHandler(gateway{}))
	return serveWays(t, mux)
}

func (c *client) open(w way) *transport.Conn {
	c.t.Helper()
	conn, err := transport.Open(c.ctx, c.rec, "c", w.addr, w.options)
	if err != nil {
		c.t.Fatal(err)
	}
	return conn
}

// rpc is one call in any protocol.
type rpc struct {
	name, protocol, codec, message string
	gzip                           bool
}

// call makes it on a connection of any version.
func (c *client) call(conn *transport.Conn, r rpc) *transport.Exchange {
	c.t.Helper()
	name := "process.Process/" + r.name
	form := call.Form{Protocol: r.protocol, Codec: r.codec}
	if r.gzip {
		form.Compression = call.Gzip
	}
	body, err := form.Body(call.Text{RPC: name, JSON: []byte(r.message)})
	if err != nil {
		c.t.Fatal(err)
	}
	hs := []bundle.Header{{Name: "Host", Value: "gateway"}, {Name: "Connection", Value: "keep-alive"},
		{Name: "Content-Type", Value: form.ContentType(name)}, {Name: "TE", Value: "trailers"}}
	if r.gzip {
		declared, accepted := form.EncodingNames(name)
		hs = append(hs, bundle.Header{Name: declared, Value: "gzip"}, bundle.Header{Name: accepted, Value: "gzip"})
	}
	tc := transport.Call{Name: "x", Op: "call", RPC: name, Protocol: r.protocol, Surface: "process",
		Shape: bundle.Shape(call.ShapeOf(name)), Codec: r.codec, Method: "POST", Path: "/" + name, Headers: hs, Body: body}
	if !conn.HTTP2() {
		tc.Headers = append(hs, bundle.Header{Name: "Content-Length", Value: strconv.Itoa(len(body))})
		x := conn.Begin(tc)
		if err := conn.Write(c.ctx, append(transport.RequestHead("POST", tc.Path, tc.Headers), body...)); err != nil {
			c.t.Fatal(err)
		}
		x.MarkSent()
		return x
	}
	x, err := conn.Request(c.ctx, tc, false)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := x.Data(c.ctx, body, true); err != nil {
		c.t.Error(err)
	}
	return x
}

// Every protocol means the same over every HTTP version, codec and compression.
func TestConnectGoIsUnderstoodInEveryProtocolOnEveryVersion(t *testing.T) {
	t.Parallel()
	ways := serveGateway(t)
	for version, w := range ways {
		for _, protocol := range []string{"connect", "grpc", "grpc-web"} {
			if protocol == "grpc" && w.options.HTTP == "" {
				continue
			}
			for _, codec := range []string{"json", "proto"} {
				for _, packed := range []bool{false, true} {
					t.Run(strings.Join([]string{version, protocol, codec, strconv.FormatBool(packed)}, " "), func(t *testing.T) {
						checkCalls(t, w, rpc{protocol: protocol, codec: codec, gzip: packed})
					})
				}
			}
		}
	}
}

func checkCalls(t *testing.T, w way, r rpc) {
	c := newClient(t)
	conn := c.open(w)
	call := func(name, message string) *transport.Exchange {
		r.name, r.message = name, message
		x := c.call(conn, r)
		c.done(x)
		return x
	}
	listed := call("List", "{}")
	call("SendSignal", `{"process":{"pid":9}}`)
	call("Start", `{"process":{"cmd":"x","args":["1","2","3"]}}`)
	call("Start", `{"process":{"cmd":"fail"}}`)
	body := listed.BodyBytes()
	conns, xs := c.rec.Finish(nil)

	var list process.ListResponse
	err := proto.Unmarshal(body, &list)
	if r.codec == "json" {
		err = unmarshalJSON(body, &list)
	}
	if err != nil || len(list.Processes) != 1 || list.Processes[0].Pid != 7 {
		t.Errorf("list = %q (%v)", body, err)
	}
	for i, x := range xs {
		if x.Outcome != bundle.OutcomeComplete || len(x.Violations) > 0 {
			t.Errorf("%s (%d): %s %s, violations %+v", x.RPC, i, x.Outcome, x.Detail, x.Violations)
		}
		if grpc := r.protocol != "connect"; grpc != (x.GRPC != nil) {
			t.Errorf("%s (%d): status = %+v", x.RPC, i, x.GRPC)
		}
		if x.Sent == nil || (x.Stream != 0) != conn.HTTP2() || x.Protocol != r.protocol {
			t.Errorf("%s (%d): sent %v, stream %d, protocol %q", x.RPC, i, x.Sent, x.Stream, x.Protocol)
		}
	}
	value := proto.Clone(&process.ProcessInfo{Pid: 9})
	packed, _ := proto.Marshal(value)
	want := &bundle.RPCError{Code: "not_found", Message: errorText, Details: []bundle.ErrorDetail{{Type: "process.ProcessInfo", Value: raw64(packed)}}}
	if diff := cmp.Diff(want, xs[1].Error); diff != "" {
		t.Errorf("error of SendSignal (-want +got):\n%s", diff)
	}
	if got := kinds(xs[2]); got != "start data data data end" || xs[2].Outputs["stdout"].Len != 90_000 || xs[2].Error != nil {
		t.Errorf("Start = %q, %d bytes, error %+v", got, xs[2].Outputs["stdout"].Len, xs[2].Error)
	}
	if e := xs[3].Error; kinds(xs[3]) != "start" || e == nil || e.Code != "internal" || e.Message != "gave up" {
		t.Errorf("failing Start = %q, error %+v", kinds(xs[3]), e)
	}
	if len(xs) != 4 || len(conns) != 1 {
		t.Errorf("%d exchanges on %d connections", len(xs), len(conns))
	}
	checkConn(t, &conns[0], w)
}

func checkConn(t *testing.T, c *bundle.Conn, w way) {
	t.Helper()
	version := w.options.HTTP
	if version == "" {
		version = "1.1"
	}
	if c.HTTP != version || (c.TLS != nil) != (w.options.TLS != nil) || (len(c.H2) > 0) != (version != "1.1") {
		t.Errorf("connection = %s, TLS %+v, %d frames", c.HTTP, c.TLS, len(c.H2))
	}
	if c.TLS != nil && (!strings.HasPrefix(c.TLS.Version, "TLS 1.") || (version == "h2-tls") != (c.TLS.ALPN == "h2") || c.TLS.Subject == "") {
		t.Errorf("TLS = %+v", c.TLS)
	}
	begin := "POST /process"
	if version != "1.1" {
		begin = "PRI * HTTP/2"
	}
	if !strings.HasPrefix(string(c.Sent.Data), begin) {
		t.Errorf("sent = %.40q", c.Sent.Data)
	}
}

func TestStatusOfGRPCIsRecordedWithItsPlaceAndMetadata(t *testing.T) {
	ways := serveGateway(t)
	tests := []struct {
		name string
		way  string
		rpc  rpc
		want bundle.GRPCStatus
	}{
		{"in trailers", "h2c", rpc{name: "List", protocol: "grpc", codec: "proto", message: "{}"}, bundle.GRPCStatus{In: "trailers"}},
		{"in trailers of an error", "h2c", rpc{name: "Update", protocol: "grpc", codec: "proto", message: "{}"},
			bundle.GRPCStatus{Code: 12, Message: "process.Process.Update is not implemented", In: "trailers"}},
		{"in the trailer frame", "1.1", rpc{name: "List", protocol: "grpc-web", codec: "proto", message: "{}"}, bundle.GRPCStatus{In: "frame"}},
		{"in the headers of gRPC-Web", "1.1", rpc{name: "Update", protocol: "grpc-web", codec: "proto", message: "{}"},
			bundle.GRPCStatus{Code: 12, Message: "process.Process.Update is not implemented", In: "headers"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t)
			x := c.done(c.call(c.open(ways[tt.way]), tt.rpc))
			if x.GRPC == nil {
				t.Fatalf("no status: %+v", x)
			}
			got := *x.GRPC
			trailing := false
			for _, m := range got.Metadata {
				trailing = trailing || strings.EqualFold(m.Name, "x-trailing") && m.Value == "yes"
			}
			if wantTrailing := tt.rpc.name == "List"; trailing != wantTrailing {
				t.Errorf("metadata = %+v", got.Metadata)
			}
			got.Metadata, got.Details = nil, nil
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("status (-want +got):\n%s\n%+v", diff, x.Violations)
			}
		})
	}
}

func TestOpenSaysWhyThereIsNoHTTP2(t *testing.T) {
	t.Parallel()
	ways := serveGateway(t)
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.StartTLS()
	t.Cleanup(old.Close)
	trusting := &tls.Config{InsecureSkipVerify: true}
	closed, _ := testkit.ClosedPort(t)
	tests := []struct {
		name string
		way  way
		want any
	}{
		{"TLS to a plain port", way{ways["h2c"].addr, transport.Options{HTTP: "h2-tls", TLS: trusting}}, new(tls.RecordHeaderError)},
		{"an authority that is not known", way{ways["h2-tls"].addr, transport.Options{HTTP: "h2-tls", TLS: &tls.Config{}}}, new(*tls.CertificateVerificationError)},
		{"no h2 by ALPN", way{old.Listener.Addr().String(), transport.Options{HTTP: "h2-tls", TLS: trusting}}, new(*transport.NoH2Error)},
		{"nothing listens", way{closed, transport.Options{HTTP: "h2c"}}, new(*net.OpError)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t)
			_, err := transport.Open(c.ctx, c.rec, "c", tt.way.addr, tt.way.options)
			var dial *transport.DialError
			if !errors.As(err, &dial) || !errors.As(err, tt.want) {
				t.Errorf("err = %v", err)
			}
			conns, _ := c.rec.Finish(nil)
			if len(conns) != 1 || conns[0].DialError == "" || conns[0].HTTP != tt.way.options.HTTP {
				t.Errorf("conns = %+v", conns)
			}
		})
	}
	c := newClient(t)
	for _, o := range []transport.Options{{HTTP: "3"}, {HTTP: "h2c", TLS: trusting}, {HTTP: "h2-tls"}} {
		if _, err := transport.Open(c.ctx, c.rec, "c", ways["h2c"].addr, o); err == nil {
			t.Errorf("options %+v are accepted", o)
		}
	}
}
