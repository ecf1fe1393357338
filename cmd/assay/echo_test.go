package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"assay/internal/testkit"
)

// echoGateway is a gateway that repeats the secrets of its requests in every encoding and in
// every part of its responses. It serves HTTP/1.1 and h2c.
type echoGateway struct {
	secrets []string
	refuse  bool // every response is no RPC
	count   atomic.Int64
}

// startEcho starts a gateway that finds these secrets in the requests.
func startEcho(t *testing.T, refuse bool, secrets ...string) string {
	t.Helper()
	s := httptest.NewUnstartedServer(&echoGateway{secrets: secrets, refuse: refuse})
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// secret returns a secret, another one for each response.
func (g *echoGateway) secret() string { return g.secrets[int(g.count.Load())%len(g.secrets)] }

// echo returns all encodings of a secret, between spaces. Each response has another one, so that
// the chunks of a body split different encodings of it.
func (g *echoGateway) echo() string {
	secret := g.secret()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(testkit.Encodings)) {
		b.WriteString(testkit.Encodings[name](secret) + " ")
	}
	return b.String()
}

// printable is echo without what no header value or JSON text can hold.
func (g *echoGateway) printable() string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > 0x7e {
			return '.'
		}
		return r
	}, g.echo())
}

func (g *echoGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if g.refuse {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprintf(w, "bad token %s", g.echo())
		return
	}
	secret := g.secrets[int(g.count.Add(1))%len(g.secrets)]
	for i, name := range slices.Sorted(maps.Keys(testkit.Encodings)) {
		if !strings.Contains(name, "Huffman") { // no header value can hold it
			w.Header().Set(fmt.Sprintf("X-Echo-%d", i), testkit.Encodings[name](secret))
		}
	}
	w.Header().Set("Trailer", "X-Echo-Trailer")
	defer w.Header().Set("X-Echo-Trailer", secret)
	kind := r.Header.Get("Content-Type")
	switch {
	case strings.HasPrefix(kind, "application/grpc"):
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Grpc-Status", "3")
		w.Header().Set("Grpc-Message", url.PathEscape(g.secret()))
		w.Header().Set("Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString([]byte("\x08\x03\x12"+string(rune(len(secret)))+secret)))
	case r.URL.Path == "/metrics":
		g.metrics(w)
	case r.URL.Path == "/health":
		_, _ = io.WriteString(w, g.echo())
	case strings.HasSuffix(r.URL.Path, "/List"):
		g.list(w)
	case strings.HasPrefix(kind, "application/connect+json"):
		g.stream(w, r, kind)
	default:
		g.unary(w, r)
	}
}

// metrics writes an exposition with the secret in a comment, a name of a label and its value.
func (g *echoGateway) metrics(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = fmt.Fprintf(w, "# HELP coppice_commands_active %s\n", g.printable())
	for _, name := range []string{"started_total", "active", `finished_total{outcome="ok"}`} {
		_, _ = fmt.Fprintf(w, "coppice_commands_%s %d\n", name, g.count.Load())
	}
	_, _ = fmt.Fprintf(w, "broken{token=\"%s\"} %s\n", g.secrets[0], g.secrets[0])
}

// list writes a list of one process with a secret.
func (g *echoGateway) list(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"processes": []any{map[string]any{
		"pid": 7, "tag": g.secret(), "config": map[string]any{"cmd": g.secret(), "envs": map[string]string{"TOKEN": g.secrets[0]}},
	}}})
}

// stream writes a Connect stream: the output is a secret. Every second one of a scenario or
// a load run ends with an error.
func (g *echoGateway) stream(w http.ResponseWriter, r *http.Request, kind string) {
	w.Header().Set("Content-Type", kind)
	send := func(flags byte, v any) {
		payload, _ := json.Marshal(v)
		if strings.Contains(r.Header.Get("Connect-Accept-Encoding"), "gzip") {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = z.Write(payload)
			_ = z.Close()
			payload, flags = b.Bytes(), flags|1
		}
		head := binary.BigEndian.AppendUint32([]byte{flags}, uint32(len(payload))) //nolint:gosec // it is short
		_, _ = w.Write(append(head, payload...))
	}
	if strings.Contains(r.Header.Get("Connect-Accept-Encoding"), "gzip") {
		w.Header().Set("Connect-Content-Encoding", "gzip")
	}
	event := func(kind string, v any) { send(0, map[string]any{"event": map[string]any{kind: v}}) }
	event("start", map[string]any{"pid": 7})
	event("data", map[string]any{"stdout": []byte(g.secret())})
	event("end", map[string]any{"exited": true, "status": "exit status 0 " + g.secret()})
	end := map[string]any{"metadata": map[string][]string{"x-echo": {g.secret()}}}
	if agent := r.UserAgent(); !strings.Contains(agent, "calibrate") && !strings.Contains(agent, "probe") && g.count.Load()%2 == 0 {
		end["error"] = g.wrong()
	}
	send(2, end)
}

// wrong is an RPC error with a secret.
func (g *echoGateway) wrong() map[string]any {
	return map[string]any{
		"code": "unauthenticated", "message": "bad token " + g.secret(),
		"details": []any{map[string]any{"type": "a.b.C", "value": base64.RawStdEncoding.EncodeToString([]byte(g.secret()))}},
	}
}

// unary writes an error: as Connect writes it, or on HTTP/1.1 with the secret as the reason.
func (g *echoGateway) unary(w http.ResponseWriter, r *http.Request) {
	text, _ := json.Marshal(g.wrong())
	if h, ok := w.(http.Hijacker); ok && g.count.Load()%3 == 0 {
		conn, _, err := h.Hijack()
		if err != nil {
			return
		}
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 400 bad %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
			g.secrets[0], len(text), text)
		_ = conn.Close()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = w.Write(text)
}

// echoSecrets are the secrets of the test, and echoHeaders the file that has all but the
// token.
const (
	echoToken   = `t0ken/"with+ch&rs\%0123456789`
	echoBearer  = "bear3r-abcdef0123456789"
	echoCookie  = "c00kie-value-9876543210"
	echoKey     = "k3y with <spaces>, 5550123"
	echoBasic   = "hunter2-passphrase-0815"
	echoHeaders = "Authorization: Bearer " + echoBearer + "\nCookie: theme=dark; session=" + echoCookie + "; lang=en\nX-Api-Key: " + echoKey + "\n"
)

// No output of a run holds a secret that the gateway echoes, whatever the encoding, and no
// argument of a child process does.
func TestNoOutputHoldsASecretThatTheGatewayEchoes(t *testing.T) {
	t.Parallel()
	secrets := []string{echoToken, echoBearer, echoCookie, echoKey, echoBasic}
	headers := echoHeaders + "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+echoBasic)) + "\n"
	const reproducing = "conform with reproducers"
	for name, tc := range map[string]struct {
		refuse bool
		args   []string
		codes  []int
	}{
		"conform": {args: []string{"conform", "URL", "--verbose", "--profile", "coppice", "--reproduce", "2", "--out", "run", "--report", "json=r.json,junit=r.xml,markdown=r.md,text=r.txt,html=r.html",
			"--select", "connect.error.details,grpc.status.text,coppice.at-rest,commands.example"}, codes: []int{1}},
		// A large time scale: on a busy machine too, there is time for the tools of its reproducers.
		reproducing:                       {args: []string{"conform", "URL", "--time-scale", "20", "--out", "run", "--select", "connect.unary.not-found,axis:json"}, codes: []int{1}},
		"conform with JSON on stdout":     {args: []string{"conform", "URL", "--format", "json", "--select", "connect.unary.not-found,connect.compression.gzip-both-ways,connect.compression.negotiated"}, codes: []int{1}},
		"conform without a gateway":       {refuse: true, args: []string{"conform", "URL", "--out", "run"}, codes: []int{3}},
		"conform without one, with JSON":  {refuse: true, args: []string{"conform", "URL", "--format", "json"}, codes: []int{3}},
		"load":                            {args: []string{"load", "URL", "--count", "40", "--streams", "4", "--command", "true", "--profile", "coppice", "--out", "run", "--report", "json=r.json,junit=r.xml,markdown=r.md,text=r.txt,html=r.html"}, codes: []int{1}},
		"load with JSON, portable engine": {args: []string{"load", "URL", "--count", "40", "--streams", "4", "--command", "true", "--format", "json", "--engine", "portable", "--out", "run"}, codes: []int{1}},
		"load over HTTP/2":                {args: []string{"load", "URL", "--count", "40", "--streams", "4", "--command", "true", "--format", "json", "--http", "h2c", "--out", "run"}, codes: []int{1}},
		"load without a gateway":          {refuse: true, args: []string{"load", "URL", "--count", "4", "--streams", "4", "--out", "run"}, codes: []int{1, 3}},
		"doctor":                          {args: []string{"doctor", "URL"}, codes: []int{0, 3}},
		"doctor with JSON":                {args: []string{"doctor", "URL", "--format", "json"}, codes: []int{0, 3}},
		"doctor without a gateway":        {refuse: true, args: []string{"doctor", "URL"}, codes: []int{3}},
		"replay":                          {args: []string{"replay", "connect.unary.unknown-field", "URL"}, codes: []int{0, 1, 2, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append(slices.Clone(tc.args), "--token-file", "../token", "--header-file", "../headers")
			args[slices.Index(args, "URL")] = startEcho(t, tc.refuse, secrets...)
			c, out, stderr := program(t, args...)
			dir := c.Dir
			c.Dir = filepath.Join(dir, "work")
			putFile(t, filepath.Join(dir, "token"), echoToken)
			putFile(t, filepath.Join(dir, "headers"), headers)
			wrapTools(t, c, dir)
			if err := os.Mkdir(c.Dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := c.Run(); err != nil && c.ProcessState == nil {
				t.Fatal(err)
			}
			if !slices.Contains(tc.codes, c.ProcessState.ExitCode()) {
				t.Errorf("exit code %d, want one of %v\n%s\n%s", c.ProcessState.ExitCode(), tc.codes, out, stderr)
			}
			putFile(t, filepath.Join(c.Dir, "stdout"), out.String())
			putFile(t, filepath.Join(c.Dir, "stderr"), stderr.String())
			wantNoSecret(t, c.Dir, secrets)
			if args, err := os.ReadFile(filepath.Join(dir, "arguments")); err == nil {
				for _, s := range secrets {
					if strings.Contains(string(args), s) {
						t.Errorf("a child process has %q among its arguments:\n%s", s, args)
					}
				}
			} else if _, none := exec.LookPath("curl"); none == nil && name == reproducing {
				t.Errorf("no child process was started: %v", err)
			}
		})
	}
}

// wantNoSecret looks for secrets in all files of a directory.
func wantNoSecret(t *testing.T, dir string, secrets []string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		seen += len(text)
		for _, s := range secrets {
			if names := testkit.Remains(text, s); len(names) > 0 {
				t.Errorf("%s has %q: %s", filepath.Base(path), s, strings.Join(names, "; "))
			}
		}
		return err
	})
	if err != nil || seen == 0 {
		t.Errorf("%d bytes were looked at: %v", seen, err)
	}
}

// wrapTools puts programs first in the command's PATH that write their arguments, and those of
// the shell that runs them, to a file.
func wrapTools(t *testing.T, c *exec.Cmd, dir string) {
	t.Helper()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"curl", "nc"} {
		real, err := exec.LookPath(tool)
		if err != nil {
			continue
		}
		text := fmt.Sprintf("#!/bin/sh\n{ printf '%%s\\n' \"$@\"; tr '\\0' ' ' </proc/$PPID/cmdline; } >>'%s/arguments'\nexec '%s' \"$@\"\n", dir, real)
		if err := os.WriteFile(filepath.Join(bin, tool), []byte(text), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	c.Env = append(c.Env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
