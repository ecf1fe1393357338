package target_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"assay/internal/envd/process"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
)

// Every process that a probe started is gone when Probe returns, no matter which method
// for ending it the target lacks.
func TestProbesLeaveNothingBehind(t *testing.T) {
	t.Parallel() // processes that cannot be killed end by themselves, after 20 s
	gateways := map[string]*gateway{
		"all methods":                 {},
		"no SendSignal":               {noSignal: true},
		"no process found to kill":    {killsNobody: true},
		"no List":                     {noList: true},
		"SendInput waits for readers": {blocksInput: true},
		"SendInput waits for readers, and no SendSignal": {blocksInput: true, noSignal: true},
		"start events too late":                          {lateStarts: true},
	}
	found := map[string]map[string]bundle.Feature{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for name, g := range gateways {
		tg := newTarget(t, target.Options{URL: g.serve(t), TimeScale: 4}) // a call may take 20 s
		all.Go(func() {
			f, err := tg.Probe(context.Background(), transport.NewClock(), bundle.Calibration{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			found[name] = f
		})
	}
	all.Wait()
	for name, g := range gateways {
		if started, running := g.idle(); started < 8 || running != 0 {
			t.Errorf("%s: %d processes were started, %d still run", name, started, running)
		}
		f := found[name]
		if s := f["process.start"]; s.State != bundle.FeaturePresent {
			t.Errorf("%s: process.start = %+v", name, s)
		}
		if s := f["process.input"]; s.State != bundle.FeaturePresent && !g.lateStarts {
			t.Errorf("%s: process.input = %+v", name, s)
		}
	}
}

// unmarked collects the Starts that are not marked as ours, and those that read input
// without stdin.
type unmarked struct {
	*gateway
	mu   sync.Mutex
	said []string
}

func (u *unmarked) Start(ctx context.Context, req *connect.Request[process.StartRequest], out *connect.ServerStream[process.StartResponse]) error {
	u.mu.Lock()
	if mark := req.Msg.GetProcess().GetEnvs()["ASSAY_RUN"]; !strings.HasPrefix(mark, "assay/") {
		u.said = append(u.said, fmt.Sprintf("%v is marked %q", req.Msg, mark))
	}
	if req.Header().Get("Connect-Timeout-Ms") == "" && req.Header().Get("Grpc-Timeout") == "" {
		u.said = append(u.said, fmt.Sprintf("%v has no deadline", req.Msg))
	}
	if req.Msg.Pty == nil && req.Msg.Stdin == nil || req.Msg.Pty != nil && req.Msg.Stdin != nil {
		u.said = append(u.said, fmt.Sprintf("%v leaves stdin open, or has one beside a terminal", req.Msg))
	}
	u.mu.Unlock()
	return u.gateway.Start(ctx, req, out)
}

func TestEveryProcessOfAProbeIsMarkedAndBounded(t *testing.T) {
	u := &unmarked{gateway: &gateway{blocksInput: true, silentPTYs: 9, keepalive: true}}
	tg := newTarget(t, target.Options{URL: serveBoth(t, handle(u))})
	cal, err := tg.Calibrate(context.Background(), transport.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tg.Probe(context.Background(), transport.NewClock(), cal); err != nil {
		t.Fatal(err)
	}
	for _, said := range u.said {
		t.Error(said)
	}
}

// mutePreface is a listener of a server that hangs on the HTTP/2 preface.
type mutePreface struct {
	net.Listener
	over chan struct{}
	hung *atomic.Int64 // how many connections
}

func (l mutePreface) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &muteConn{c, l}, err
}

type muteConn struct {
	net.Conn
	of mutePreface
}

func (c *muteConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if strings.HasPrefix(string(p[:n]), "PRI ") {
		c.of.hung.Add(1)
		<-c.of.over
		return 0, io.EOF
	}
	return n, err
}

func TestPeerThatHangsOnHTTP2CostsOneDeadline(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(onlyType("application/json", (&gateway{keepalive: true}).handler()))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	over := make(chan struct{})
	var hung atomic.Int64
	s.Listener = mutePreface{s.Listener, over, &hung}
	s.Start()
	t.Cleanup(func() { close(over); s.Close() })
	const deadline = 10 * time.Second
	tg := newTarget(t, target.Options{URL: s.URL, TimeScale: 2})
	began := time.Now()
	f, err := tg.Probe(context.Background(), transport.NewClock(), bundle.Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	if n, took := hung.Load(), time.Since(began); n < 4 || took >= time.Duration(n)*deadline {
		t.Errorf("Probe took %v, want less than %d deadlines of %v one after the other", took, n, deadline)
	}
	for _, id := range []string{"http.h2c", "protocol.grpc"} {
		if f[id].State != bundle.FeatureUnknown || !strings.Contains(f[id].Detail, "no response within "+deadline.String()) {
			t.Errorf("%s = %+v, want it unknown without a response", id, f[id])
		}
	}
	for _, id := range []string{"codec.proto", "protocol.grpc-web"} { // refused where the target responds
		if f[id].State != bundle.FeatureAbsent {
			t.Errorf("%s = %+v, want it absent", id, f[id])
		}
	}
}

func TestTerminalIsKnownThoughItsOutputIsLost(t *testing.T) {
	for _, tt := range []struct {
		name    string
		gateway *gateway
		want    bundle.FeatureState
	}{
		{"the first is silent", &gateway{silentPTYs: 1}, bundle.FeaturePresent},
		{"all but the last are silent", &gateway{silentPTYs: 3}, bundle.FeaturePresent},
		{"all are silent", &gateway{silentPTYs: 99}, bundle.FeaturePresent},
		{"the first is silent, without a terminal", &gateway{silentPTYs: 1, plainPTY: true}, bundle.FeatureAbsent},
		{"all but the last are silent, without a terminal", &gateway{silentPTYs: 3, plainPTY: true}, bundle.FeatureAbsent},
		{"everything is silent", &gateway{silent: true}, bundle.FeatureUnknown},
		{"refused as invalid", &gateway{invalidPTY: true}, bundle.FeatureAbsent},
	} {
		if f := probe(t, target.Options{URL: tt.gateway.serve(t)}, "process.pty"); f["process.pty"].State != tt.want {
			t.Errorf("%s: process.pty = %+v, want it %s", tt.name, f["process.pty"], tt.want)
		}
	}
}
