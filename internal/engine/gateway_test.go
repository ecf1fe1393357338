package engine

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// miniature is a gateway that knows four commands (echo X, exit N, read x, sleep), for
// the engine's own tests. It keeps every byte that it receives.
type miniature struct {
	*httptest.Server
	tap *tapListener

	mu      sync.Mutex
	next    uint32
	live    map[uint32]*miniProcess
	started int
	done    map[string]int // by status

	spawned chan uint32 // the pid of each process, for tests that wait for it
}

type miniProcess struct {
	pid    uint32
	config json.RawMessage
	ended  chan struct{}
	code   int
	signal string
}

func newMiniature(t *testing.T) *miniature {
	t.Helper()
	m := &miniature{live: make(map[uint32]*miniProcess), done: make(map[string]int), next: 100, spawned: make(chan uint32, 1000)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /process.Process/Start", m.start)
	mux.HandleFunc("POST /process.Process/Connect", m.connect)
	mux.HandleFunc("POST /process.Process/SendSignal", m.signal)
	mux.HandleFunc("POST /process.Process/SendInput", m.input)
	mux.HandleFunc("POST /process.Process/CloseStdin", m.input)
	mux.HandleFunc("POST /process.Process/Update", m.empty)
	mux.HandleFunc("POST /process.Process/List", m.list)
	mux.HandleFunc("POST /commands", m.commands)
	mux.HandleFunc("GET /commands", m.list)
	mux.HandleFunc("POST /commands/{pid}/kill", m.kill)
	mux.HandleFunc("GET /metrics", m.metrics)
	m.Server = httptest.NewUnstartedServer(mux)
	m.tap = &tapListener{Listener: m.Listener}
	m.Listener = m.tap
	m.Start()
	t.Cleanup(m.Close)
	return m
}

func (m *miniature) spawn(config json.RawMessage, sh string) *miniProcess {
	m.mu.Lock()
	m.next++
	p := &miniProcess{pid: m.next, config: config, ended: make(chan struct{})}
	m.live[p.pid] = p
	m.started++
	m.mu.Unlock()
	select {
	case m.spawned <- p.pid:
	default: // no test waits for so many
	}
	if code, ok := strings.CutPrefix(sh, "exit "); ok {
		n, _ := strconv.Atoi(code)
		m.end(p.pid, n, "")
	} else if strings.HasPrefix(sh, "echo ") {
		m.end(p.pid, 0, "")
	}
	return p
}

// end ends a live process and reports whether there was one.
func (m *miniature) end(pid uint32, code int, signal string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.live[pid]
	if p == nil {
		return false
	}
	delete(m.live, pid)
	p.code, p.signal = code, signal
	switch {
	case signal != "":
		m.done["killed"]++
	case code == 0:
		m.done["ok"]++
	default:
		m.done["error"]++
	}
	close(p.ended)
	return true
}

func (m *miniature) alive() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.live)
}

func (m *miniature) start(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var req struct {
		Process json.RawMessage `json:"process"`
	}
	var config struct {
		Args []string `json:"args"`
	}
	if len(body) < 5 || json.Unmarshal(body[5:], &req) != nil || json.Unmarshal(req.Process, &config) != nil || len(config.Args) == 0 {
		w.Header().Set("Content-Type", "application/connect+json")
		envelope(w, 2, `{"error":{"code":"invalid_argument","message":"what is this"}}`)
		return
	}
	sh := config.Args[len(config.Args)-1]
	m.stream(w, r, m.spawn(req.Process, sh), strings.TrimPrefix(sh, "echo "), strings.HasPrefix(sh, "echo "))
}

func (m *miniature) connect(w http.ResponseWriter, r *http.Request) {
	p := m.selected(r)
	w.Header().Set("Content-Type", "application/connect+json")
	if p == nil {
		envelope(w, 2, `{"error":{"code":"not_found"}}`)
		return
	}
	m.stream(w, r, p, "", false)
}

func (m *miniature) stream(w http.ResponseWriter, r *http.Request, p *miniProcess, text string, echo bool) {
	w.Header().Set("Content-Type", "application/connect+json")
	envelope(w, 0, fmt.Sprintf(`{"event":{"start":{"pid":%d}}}`, p.pid))
	if echo {
		out, _ := json.Marshal([]byte(text + "\n"))
		envelope(w, 0, fmt.Sprintf(`{"event":{"data":{"stdout":%s}}}`, out))
	}
	select {
	case <-p.ended:
	case <-r.Context().Done():
		return
	}
	end := fmt.Sprintf(`{"exitCode":%d,"exited":true,"status":"exit status %d"}`, p.code, p.code)
	if p.signal != "" {
		end = `{"exitCode":-1,"status":"signal: killed","error":"signal: killed"}`
	}
	envelope(w, 0, `{"event":{"end":`+end+`}}`)
	envelope(w, 2, `{}`)
}

func (m *miniature) selected(r *http.Request) *miniProcess {
	body, _ := io.ReadAll(r.Body)
	if r.Header.Get("Content-Type") == "application/connect+json" && len(body) >= 5 {
		body = body[5:]
	}
	var req struct {
		Process struct {
			PID uint32 `json:"pid"`
		} `json:"process"`
	}
	_ = json.Unmarshal(body, &req)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.live[req.Process.PID]
}

func (m *miniature) signal(w http.ResponseWriter, r *http.Request) {
	m.unary(w, m.selected(r), func(p *miniProcess) bool { return m.end(p.pid, -1, "SIGKILL") })
}

func (m *miniature) input(w http.ResponseWriter, r *http.Request) {
	m.unary(w, m.selected(r), func(p *miniProcess) bool { return m.end(p.pid, 0, "") })
}

func (m *miniature) unary(w http.ResponseWriter, p *miniProcess, do func(*miniProcess) bool) {
	w.Header().Set("Content-Type", "application/json")
	if p == nil || !do(p) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"code":"not_found"}`)
		return
	}
	_, _ = io.WriteString(w, `{}`)
}

func (m *miniature) empty(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{}`)
}

func (m *miniature) list(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for _, p := range m.live {
		all = append(all, fmt.Sprintf(`{"pid":%d,"config":%s}`, p.pid, p.config))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"processes":[`+strings.Join(all, ",")+`]}`)
}

func (m *miniature) commands(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Cmd string `json:"cmd"`
	}
	_ = json.NewDecoder(r.Body).Decode(&req)
	p := m.spawn(json.RawMessage(`{}`), req.Cmd)
	w.Header().Set("Content-Type", "application/x-ndjson")
	_, _ = fmt.Fprintf(w, `{"type":"start","pid":%d}`+"\n", p.pid)
	w.(http.Flusher).Flush()
	select {
	case <-p.ended:
		_, _ = fmt.Fprintf(w, `{"type":"end","exit_code":%d}`+"\n", p.code)
	case <-r.Context().Done():
	}
}

func (m *miniature) kill(w http.ResponseWriter, r *http.Request) {
	pid, _ := strconv.ParseUint(r.PathValue("pid"), 10, 32)
	if !m.end(uint32(pid), -1, "SIGKILL") {
		w.WriteHeader(http.StatusNotFound)
	}
}

func (m *miniature) metrics(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = fmt.Fprintf(w, "# TYPE t_started_total counter\nt_started_total %d\n# TYPE t_finished_total counter\n", m.started)
	for _, status := range []string{"ok", "error", "killed"} {
		_, _ = fmt.Fprintf(w, "t_finished_total{status=%q} %d\n", status, m.done[status])
	}
	_, _ = fmt.Fprintf(w, "# TYPE t_active gauge\nt_active %d\n", len(m.live))
}

func envelope(w http.ResponseWriter, flags byte, payload string) {
	head := binary.BigEndian.AppendUint32([]byte{flags}, uint32(len(payload)))
	_, _ = w.Write(append(head, payload...))
	w.(http.Flusher).Flush()
}

// tapListener records the bytes received on each connection.
type tapListener struct {
	net.Listener
	mu    sync.Mutex
	conns []*tapConn
}

func (l *tapListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tc := &tapConn{Conn: c}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, tc)
	return tc, nil
}

// received returns the bytes received, one string per connection.
func (l *tapListener) received() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, c := range l.conns {
		c.mu.Lock()
		all = append(all, c.in.String())
		c.mu.Unlock()
	}
	return all
}

type tapConn struct {
	net.Conn
	mu sync.Mutex
	in bytes.Buffer
}

func (c *tapConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in.Write(p[:n])
	return n, err
}

// bench runs the scenarios of a test.
type bench struct {
	t       *testing.T
	options Options
}

// newBench returns a run against a URL, with every feature present and a short
// calibration.
func newBench(t *testing.T, url string) *bench {
	t.Helper()
	tgt, err := target.New(target.Options{URL: url, UserAgent: "assay/test"})
	if err != nil {
		t.Fatal(err)
	}
	features := make(map[string]bundle.Feature)
	for _, id := range target.Features() {
		features[id] = bundle.Feature{State: bundle.FeaturePresent}
	}
	return &bench{t: t, options: Options{
		Target: tgt,
		Clock:  transport.NewClock(),
		Run: &bundle.Run{
			ID: "run1", Seed: 7, Features: features,
			Calibration: bundle.Calibration{RTT: 300_000, Spawn: 600_000, TimeScale: 1},
		},
		Profile: &scenarios.Profile{Metrics: map[string]string{
			"started": "t_started_total", "finished": "t_finished_total", "active": "t_active",
		}},
	}}
}

var firstName = regexp.MustCompile(`as: (\w+)`)

// parse reads a script, after adding the fields that every script must have.
func parse(t *testing.T, text string) *scenarios.Scenario {
	t.Helper()
	if !strings.HasPrefix(strings.TrimSpace(text), "id:") {
		text = "id: test.script\n" + text
	}
	expects := strings.Contains(text, "expect:")
	if !expects {
		name := "send"
		if m := firstName.FindStringSubmatch(text); m != nil {
			name = m[1]
		}
		text += "\nexpect: {" + name + ": {start: true}}\n"
	}
	if !strings.Contains(text, "rules:") {
		text = "rules: [test.rule]\n" + text
	}
	s, err := scenarios.Parse("test.yaml", []byte("title: A test\n"+text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !expects {
		s.Expect = nil
	}
	return s
}

func instanceOf(s *scenarios.Scenario) scenarios.Instance {
	return scenarios.Instance{Scenario: s, Axes: plainAxes}
}

// run runs one script to its end.
func (b *bench) run(text string) *bundle.Observation {
	b.t.Helper()
	return b.runInstance(instanceOf(parse(b.t, text)))
}

func (b *bench) runInstance(i scenarios.Instance) *bundle.Observation {
	b.t.Helper()
	o := Start(b.t.Context(), b.options, []scenarios.Instance{i}).Observations()[0]
	if o.Defect != "" {
		b.t.Fatalf("defect: %s", o.Defect)
	}
	return o
}

func (b *bench) start(is ...scenarios.Instance) *Engine {
	return Start(b.t.Context(), b.options, is)
}
