package portable_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"

	"assay/internal/bundle"
	"assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
	"assay/internal/load"
	"assay/internal/load/loadtest"
	"assay/internal/load/portable"
)

// stub is a process service without processes: every Start prints three numbers, and then
// waits for its kill if the stub is endless.
type stub struct {
	processconnect.UnimplementedProcessHandler
	endless bool

	mu   sync.Mutex
	next uint32
	live map[uint32]chan struct{}
	envs map[uint32]map[string]string
}

func (s *stub) Start(ctx context.Context, req *connect.Request[process.StartRequest], out *connect.ServerStream[process.StartResponse]) error {
	s.mu.Lock()
	s.next++
	pid := s.next
	killed := make(chan struct{})
	s.live[pid] = killed
	s.envs[pid] = req.Msg.GetProcess().GetEnvs()
	s.mu.Unlock()
	send := func(e *process.ProcessEvent) error { return out.Send(&process.StartResponse{Event: e}) }
	err := send(&process.ProcessEvent{Event: &process.ProcessEvent_Start{Start: &process.ProcessEvent_StartEvent{Pid: pid}}})
	for i := 1; i <= 3 && err == nil; i++ {
		err = send(&process.ProcessEvent{Event: &process.ProcessEvent_Data{Data: &process.ProcessEvent_DataEvent{
			Output: &process.ProcessEvent_DataEvent_Stdout{Stdout: fmt.Appendf(nil, "%d\n", i)}}}})
	}
	if err != nil {
		return err
	}
	end := &process.ProcessEvent_EndEvent{Exited: true, Status: "exit status 0"}
	if s.endless {
		select {
		case <-killed:
			end = &process.ProcessEvent_EndEvent{ExitCode: -1, Status: "signal: killed"}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return send(&process.ProcessEvent{Event: &process.ProcessEvent_End{End: end}})
}

func (s *stub) SendSignal(_ context.Context, req *connect.Request[process.SendSignalRequest]) (*connect.Response[process.SendSignalResponse], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	killed, ok := s.live[req.Msg.GetProcess().GetPid()]
	if !ok || !s.endless {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("no such process"))
	}
	if req.Msg.GetSignal() != process.Signal_SIGNAL_SIGKILL {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("not SIGKILL"))
	}
	delete(s.live, req.Msg.GetProcess().GetPid())
	close(killed)
	return connect.NewResponse(&process.SendSignalResponse{}), nil
}

func (s *stub) List(context.Context, *connect.Request[process.ListRequest]) (*connect.Response[process.ListResponse], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &process.ListResponse{}
	for pid := range s.live {
		out.Processes = append(out.Processes, &process.ProcessInfo{Pid: pid, Config: &process.ProcessConfig{Envs: s.envs[pid]}})
	}
	return connect.NewResponse(out), nil
}

// alias is the NDJSON surface of the stub.
func (s *stub) alias(w http.ResponseWriter, r *http.Request) {
	rest, _ := strings.CutPrefix(r.URL.Path, "/commands/")
	if pid, ok := strings.CutSuffix(rest, "/kill"); ok {
		n, _ := strconv.ParseUint(pid, 10, 32)
		s.mu.Lock()
		defer s.mu.Unlock()
		if killed, known := s.live[uint32(n)]; known {
			delete(s.live, uint32(n))
			close(killed)
			_, _ = w.Write([]byte("{}"))
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"code":"not_found","message":"gone"}`))
		return
	}
	s.mu.Lock()
	s.next++
	pid, killed := s.next, make(chan struct{})
	s.live[pid] = killed
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-ndjson")
	line := func(text string) {
		_, _ = w.Write([]byte(text + "\n"))
		_ = http.NewResponseController(w).Flush()
	}
	line(fmt.Sprintf(`{"type":"start","pid":%d}`, pid))
	for i := 1; i <= 3; i++ {
		line(fmt.Sprintf(`{"type":"stdout","data":"%d\n"}`, i))
	}
	code := 0
	if s.endless {
		select {
		case <-killed:
			code = -1
		case <-r.Context().Done():
			return
		}
	}
	line(fmt.Sprintf(`{"type":"end","exit_code":%d}`, code))
}

// startStub serves a stub over HTTP/1.1 and HTTP/2, with TLS or without.
func startStub(t testing.TB, endless, secure bool) (s *stub, server *httptest.Server) {
	t.Helper()
	s = &stub{endless: endless, live: map[uint32]chan struct{}{}, envs: map[uint32]map[string]string{}}
	mux := http.NewServeMux()
	mux.Handle(processconnect.NewProcessHandler(s))
	mux.HandleFunc("/commands", s.alias)
	mux.HandleFunc("/commands/", s.alias)
	server = httptest.NewUnstartedServer(mux)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetHTTP2(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	if secure {
		server.EnableHTTP2 = true
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return s, server
}

// ways returns all valid combinations of protocol, codec and version.
func ways() (out [][3]string) {
	for _, protocol := range []string{load.ProtocolConnect, load.ProtocolGRPC, load.ProtocolWeb, load.ProtocolNDJSON} {
		for _, codec := range []string{load.CodecJSON, load.CodecProto} {
			for _, version := range []string{load.HTTP11, load.H2C, load.H2TLS} {
				if protocol == load.ProtocolGRPC && version == load.HTTP11 || protocol == load.ProtocolNDJSON && codec == load.CodecProto {
					continue
				}
				out = append(out, [3]string{protocol, codec, version})
			}
		}
	}
	return out
}

func TestEveryProtocolCodecAndVersion(t *testing.T) {
	for _, way := range ways() {
		for _, forever := range []bool{false, true} {
			name := strings.Join(way[:], " ")
			if forever {
				name += ", killed"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s, server := startStub(t, forever, way[2] == load.H2TLS)
				p := loadtest.Plan(t, strings.TrimPrefix(strings.TrimPrefix(server.URL, "https://"), "http://"))
				p.Classes[0].Dialect.Protocol, p.Classes[0].Dialect.Codec, p.HTTP, p.Streams, p.Count = way[0], way[1], way[2], 3, 10
				p.Limits = load.DefaultLimits(1)
				want := map[bundle.StreamOutcome]int64{bundle.StreamOK: 10}
				if forever {
					loadtest.Endless(p)
					p.Classes[0].Check.First = 1
					want = map[bundle.StreamOutcome]int64{bundle.StreamKilled: 3}
				}
				if way[2] == load.H2TLS {
					p.TLS = clientTLS(server)
				}
				loadtest.Drive(t.Context(), t, portable.Engine{}, p).Want(t, want)
				s.mu.Lock()
				defer s.mu.Unlock()
				for pid := range s.live {
					if forever {
						t.Errorf("process %d was left running", pid)
					}
				}
				for pid, envs := range s.envs {
					if envs["ASSAY_RUN"] != "test/load" {
						t.Errorf("process %d is not marked as ours: %v", pid, envs)
					}
				}
			})
		}
	}
}

func clientTLS(server *httptest.Server) *tls.Config {
	roots := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	return &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
}

// A stream whose start event never came may have left a process. The sweep finds it by its
// mark and kills it, and no others.
func TestProcessesThatNoStreamKnowsAreSwept(t *testing.T) {
	each(t, func(t *testing.T, e load.Engine) {
		s := &stub{endless: true, live: map[uint32]chan struct{}{}, envs: map[uint32]map[string]string{}}
		for pid, run := range map[uint32]string{1: "test/load", 2: "other/load", 3: "test/load"} {
			s.live[pid], s.envs[pid] = make(chan struct{}), map[string]string{"ASSAY_RUN": run}
		}
		_, handler := processconnect.NewProcessHandler(s)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/Start") {
				panic(http.ErrAbortHandler)
			}
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		c := loadtest.Drive(t.Context(), t, e, loadtest.Plan(t, strings.TrimPrefix(server.URL, "http://")))
		c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamReset: 1})
		if c.Found != 2 {
			t.Errorf("%d processes were swept, want 2", c.Found)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, alive := s.live[2]; !alive || len(s.live) != 1 {
			t.Errorf("%d are left alive, want the foreign one", len(s.live))
		}
	})
}

// A process whose kill fails at first is killed by the sweep, and counted once.
func TestAProcessThatIsFoundLaterIsCountedOnce(t *testing.T) {
	each(t, func(t *testing.T, e load.Engine) {
		s := &stub{endless: true, live: map[uint32]chan struct{}{}, envs: map[uint32]map[string]string{}}
		_, handler := processconnect.NewProcessHandler(s)
		var listed atomic.Bool
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/List"):
				listed.Store(true)
			case strings.HasSuffix(r.URL.Path, "/SendSignal") && !listed.Load():
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		c := loadtest.Drive(t.Context(), t, e, loadtest.Plan(t, strings.TrimPrefix(server.URL, "http://"), loadtest.Endless,
			func(p *load.Plan) { p.Streams, p.Classes[0].Check = 3, load.Check{} }))
		c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamCancelled: 3})
		if c.Fates()[load.FateKilled] != 3 || c.Found != 0 {
			t.Errorf("fates %v, %d swept besides", c.Fates(), c.Found)
		}
	})
}
