package target_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/internal/testkit"
)

// sockets is the stdio surface of a gateway in the tests. It runs nothing: it plays the commands
// of the probes.
type sockets struct {
	without []string // of eof, pty, session, shared, panes
	query   string   // that every request must have
	lax     bool     // run a shell for a request that names no command
	token   string   // that every request must have, "" for none

	mu       sync.Mutex
	sessions map[string]chan struct{} // closed when the process has had its line
}

func (s *sockets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	name, role := q.Get("session"), q.Get("role")
	s.mu.Lock()
	line, joins := s.sessions[name]
	if !joins {
		line = make(chan struct{})
	}
	if name != "" && s.has("session") {
		if s.sessions == nil {
			s.sessions = map[string]chan struct{}{}
		}
		s.sessions[name] = line
	}
	s.mu.Unlock()
	switch {
	case r.Header.Get("Upgrade") == "":
		_, _ = w.Write([]byte("this is a WebSocket endpoint"))
		return
	case s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token:
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	case !strings.HasPrefix(r.URL.RawQuery, s.query), q.Get("cmd") == "" && !joins && !s.lax, role != "" && !s.has("shared") && !s.lax:
		http.Error(w, "no command", http.StatusBadRequest)
		return
	}
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = c.CloseNow() }()
	if q.Get("cmd") != "" || joins {
		go func() {
			select {
			case <-line:
				_ = c.Write(r.Context(), websocket.MessageBinary, []byte("\x01answer-line\n"))
			case <-r.Context().Done():
			}
		}()
	}
	s.play(r.Context(), c, line, q)
}

func (s *sockets) has(what string) bool { return !slices.Contains(s.without, what) }

// play runs the command of a probe, and closes line at the first input.
func (s *sockets) play(ctx context.Context, c *websocket.Conn, line chan struct{}, q url.Values) {
	text, terminal := strings.Join(q["arg"], " "), q.Get("pty") == "1" && s.has("pty")
	say := func(kind websocket.MessageType, message string) { _ = c.Write(ctx, kind, []byte(message)) }
	end := func() {
		say(websocket.MessageText, `{"type":"exit","code":0}`)
		_ = c.Close(websocket.StatusNormalClosure, "")
	}
	switch {
	case strings.Contains(text, "test -t") && terminal:
		say(websocket.MessageBinary, "\x01terminal\r\n")
		end()
		return
	case strings.Contains(text, "test -t"):
		say(websocket.MessageBinary, "\x01pipe\n")
		end()
		return
	case strings.Contains(text, "-c : "):
		end()
		return
	}
	for {
		kind, p, err := c.Read(ctx)
		if err != nil {
			return
		}
		if kind == websocket.MessageBinary {
			close(line)
			continue
		}
		var m struct{ Type, Pane string }
		_ = json.Unmarshal(p, &m)
		switch {
		case m.Type == "eof" && s.has("eof"), m.Type == "signal":
			end()
			return
		case m.Type == "open" && s.has("panes"):
			say(websocket.MessageText, `{"type":"opened","pane":"`+m.Pane+`","stdout":3,"stderr":4}`)
		default:
			say(websocket.MessageText, `{"type":"error","message":"unknown type"}`)
		}
	}
}

func TestProbeFindsWhatTheStdioSurfaceLacks(t *testing.T) {
	for _, missing := range []string{"eof", "pty", "session", "shared", "panes"} {
		t.Run(missing, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			mux.Handle("/", (&gateway{}).handler())
			mux.Handle("GET /attach", &sockets{without: []string{missing}})
			ids := []string{"stdio.eof", "stdio.panes", "stdio.pty", "stdio.session", "stdio.shared", "stdio.ws"}
			f := probe(t, target.Options{URL: serveHTTP(t, mux)}, ids...)
			for _, id := range ids {
				want := bundle.FeaturePresent
				if id == "stdio."+missing || missing == "session" && id == "stdio.shared" {
					want = bundle.FeatureAbsent
				}
				if f[id].State != want || f[id].Detail == "" {
					t.Errorf("%s = %+v, want it %s with a detail", id, f[id], want)
				}
			}
		})
	}
}

// A server that knows no sessions may run a shell for a request that names no command.
func TestAShellThatIsRunUnaskedIsNoSession(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/", (&gateway{}).handler())
	mux.Handle("GET /attach", &sockets{without: []string{"session", "shared"}, lax: true})
	f := probe(t, target.Options{URL: serveHTTP(t, mux), TimeScale: 0.1 * testkit.Slowdown}, "stdio.session", "stdio.shared")
	for id, feature := range f {
		if feature.State != bundle.FeatureAbsent {
			t.Errorf("%s = %+v, want it absent", id, feature)
		}
	}
}

// A gateway that answers other requests, and closes each upgrade without a byte, has no WebSocket.
func TestAnUpgradeThatIsClosedWithoutAnAnswerIsAbsent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		closes int // upgrades
		want   bundle.FeatureState
	}{"each": {1000, bundle.FeatureAbsent}, "the first": {1, bundle.FeaturePresent}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			mux := http.NewServeMux()
			mux.Handle("/", (&gateway{}).handler())
			mux.HandleFunc("GET /attach", func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) > int64(c.closes) {
					(&sockets{}).ServeHTTP(w, r)
					return
				}
				panic(http.ErrAbortHandler)
			})
			for id, feature := range probe(t, target.Options{URL: serveHTTP(t, mux)}, "stdio.pty", "stdio.ws") {
				if feature.State != c.want || feature.Detail == "" {
					t.Errorf("%s = %+v, want it %s with a detail", id, feature, c.want)
				}
			}
		})
	}
}

// Silence tells nothing about the features of a server.
func TestASilentSocketLeavesOpenWhichFeaturesItHas(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle("/", (&gateway{}).handler())
	mux.HandleFunc("GET /attach", func(w http.ResponseWriter, r *http.Request) {
		if c, err := websocket.Accept(w, r, nil); err == nil {
			<-c.CloseRead(r.Context()).Done()
		}
	})
	for id, feature := range probe(t, target.Options{URL: serveHTTP(t, mux), TimeScale: 2}, "stdio.eof", "stdio.panes", "stdio.pty", "stdio.session", "stdio.shared") {
		if feature.State != bundle.FeatureUnknown {
			t.Errorf("%s = %+v, want it unknown", id, feature)
		}
	}
}

func TestAServerWithNothingButSocketsIsATarget(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("GET /in/here", &sockets{query: "sandbox=s1"})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	address := "ws" + strings.TrimPrefix(server.URL, "http") + "/in/here?sandbox=s1"
	tg := newTarget(t, target.Options{URL: address})
	cal, err := tg.Calibrate(t.Context(), transport.NewClock())
	if err != nil || cal.RTT <= 0 || cal.Spawn <= 0 || cal.End < cal.RTT {
		t.Fatalf("calibration %+v, %v", cal, err)
	}
	f, err := tg.Probe(t.Context(), transport.NewClock(), cal, "stdio.ws", "process.start")
	if err != nil || f["stdio.ws"].State != bundle.FeaturePresent || f["process.start"].State != bundle.FeatureAbsent {
		t.Errorf("features %+v, %v", f, err)
	}
	if id := tg.Identity(); id.URL != address || id.Paths["stdio"] != "/here" || tg.AttachPath("cmd=x") != "/in/here?sandbox=s1&cmd=x" || tg.Path("health", "") != "/in/health" {
		t.Errorf("identity %+v, attach %s", id, tg.AttachPath("cmd=x"))
	}
}

func TestAServerWithNothingButSocketsMayRequireAToken(t *testing.T) {
	for demanded, want := range map[string]bundle.FeatureState{"": bundle.FeatureAbsent, goodToken: bundle.FeaturePresent} {
		for _, given := range []string{"", goodToken} {
			if demanded != "" && given == "" {
				continue // not a target
			}
			server := httptest.NewServer(&sockets{token: demanded})
			t.Cleanup(server.Close)
			f := probe(t, target.Options{URL: "ws" + strings.TrimPrefix(server.URL, "http") + "/attach", Token: given}, "auth.token")
			if f["auth.token"].State != want {
				t.Errorf("demanded %q, given %q: %+v", demanded, given, f["auth.token"])
			}
		}
	}
}

func TestACallOverHTTPDoesNotFallBackToAServerThatIsSilent(t *testing.T) {
	began := time.Now()
	tg := newTarget(t, target.Options{URL: "http" + strings.TrimPrefix(rawServer(t, nil), "http"), TimeScale: 0.05})
	if _, err := tg.Calibrate(t.Context(), transport.NewClock()); err == nil {
		t.Error("a silent server was calibrated")
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestSocketURLsThatAreRefused(t *testing.T) {
	for address, want := range map[string]string{
		"ws://h/attach?token=x":      "--token-file",
		"ws://h/attach?cmd=x":        "runs commands of its own",
		"ws://h/attach?a=%zz":        "malformed",
		"wss://user@h/attach":        "user name",
		"ws://h/attach#part":         "fragment",
		"http://h/attach?sandbox=s1": "query",
		"wsx://h/attach":             "ws and wss",
	} {
		if _, err := target.New(target.Options{URL: address}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}

func TestUsersCannotBeNamedBesideAnotherAuthorization(t *testing.T) {
	o := target.Options{URL: (&gateway{}).serve(t), Headers: []bundle.Header{{Name: "Authorization", Value: "Bearer x"}}}
	if f := probe(t, o, "process.user")["process.user"]; f.State != bundle.FeatureAbsent || !f.Hidden {
		t.Errorf("process.user = %+v, want it hidden", f)
	}
}

func TestTheTokenIsABearerOnTheStdioSurface(t *testing.T) {
	for _, c := range []struct {
		o    target.Options
		want string
	}{
		{target.Options{}, ""},
		{target.Options{Token: goodToken}, "Bearer " + goodToken},
		{target.Options{Token: goodToken, Headers: []bundle.Header{{Name: "authorization", Value: "Basic eA=="}}}, ""},
	} {
		c.o.URL = "http://127.0.0.1:1"
		if got := newTarget(t, c.o).Bearer(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.o.Headers, got, c.want)
		}
	}
}
