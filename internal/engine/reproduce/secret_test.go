package reproduce

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/base/secret"
	"assay/internal/record/bundle"
)

// alike returns secrets with the same text in a record.
func alike() []secretHeader {
	return secretHeaders([]bundle.Header{
		{Name: "Token", Value: "other"}, {Name: "x-access-token", Value: "token"},
		{Name: "X-Key", Value: "aaaaaaaa11"}, {Name: "x-key", Value: "bbbbbbbb22"}, {Name: "Plain", Value: "p"},
	}, secret.New([]string{"other", "token", "aaaaaaaa11", "bbbbbbbb22"}))
}

func TestEverySecretHasAVariableOfItsOwn(t *testing.T) {
	var got []string
	for _, s := range alike() {
		got = append(got, s.variable+"="+s.value)
	}
	want := "ASSAY_SECRET_TOKEN=other ASSAY_TOKEN=token ASSAY_SECRET_X_KEY=aaaaaaaa11 ASSAY_SECRET_X_KEY_2=bbbbbbbb22"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

func TestSecretsThatLookTheSameTakeTurns(t *testing.T) {
	const one = "GET / HTTP/1.1\r\nX-KEY: **********\r\nx-key: **********\r\nx-access-token: *****\r\n\r\n"
	const told = "GET / HTTP/1.1\r\nX-KEY: aaaaaaaa11\r\nx-key: bbbbbbbb22\r\nx-access-token: token\r\n\r\n"
	tests := []struct {
		name, sent, want string
		cut              int // where a second write begins, after a pause
	}{
		{name: "in one request", sent: one, want: told},
		{name: "in two requests", sent: one + one, want: told + told},
		{name: "after bytes whose lower case is longer", sent: "\xff\xfe\u0130" + one, want: "\xff\xfe\u0130" + told},
		{name: "with a pause between the two", sent: one, want: told, cut: strings.Index(one, "x-key")},
		{name: "at the end of the bytes", sent: "\r\nx-key: ", want: "\r\nx-key: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := sourceOf(sending([]byte(tt.sent), bundle.Exchange{}))
			if err != nil {
				t.Fatal(err)
			}
			if tt.cut > 0 {
				s.writes = []write{{data: []byte(tt.sent[:tt.cut])}, {data: []byte(tt.sent[tt.cut:]), pause: turnPause}}
			}
			text, _, err := s.request(alike())
			if err != nil {
				t.Fatal(err)
			}
			var env []string
			for _, s := range alike() {
				env = append(env, s.variable+"="+s.value)
			}
			if got := sh(t, text+"request\n", env...); got != tt.want {
				t.Errorf("it writes\n%q\nwant\n%q", got, tt.want)
			}
		})
	}
}

func TestASecretThatWasCutHasNoScript(t *testing.T) {
	s, err := sourceOf(sending([]byte("x"), bundle.Exchange{}))
	if err != nil {
		t.Fatal(err)
	}
	s.writes = []write{{data: []byte("GET / HTTP/1.1\r\nx-key: ***")}, {data: []byte("*******\r\n\r\n")}}
	if text, _, err := s.request(alike()); err == nil {
		t.Errorf("got a script:\n%s", text)
	}
}

// fails runs a text that must fail, and returns its output.
func fails(t *testing.T, text string, env ...string) (stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}, env...)
	var out, why bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &why
	if err := cmd.Run(); err == nil {
		t.Errorf("the text does not fail:\n%s", text)
	}
	return out.String(), why.String()
}

// recorder returns a directory with programs that write their arguments to a file
// "args", the fields of "-H @FILE" to "fields", and their input to "input".
func recorder(t *testing.T, programs ...string) string {
	t.Helper()
	dir := t.TempDir()
	text := "#!/bin/sh\ncd \"${0%/*}\"\nprintf '%s\\n' \"$@\" >args\ncase \" $* \" in\n" +
		"*' @/dev/fd/3 '*) cat <&3 >fields; cat >input;;\n*' @- '*--data-binary' @- '*) exit 9;;\n*' -H @- '*) cat >fields;;\n*) cat >input;;\nesac\n"
	for _, p := range programs {
		if err := os.WriteFile(filepath.Join(dir, p), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func kept(t *testing.T, dir, name string) string {
	t.Helper()
	p, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(p)
}

func TestASecretIsNoArgumentAndIsNeverSentEmpty(t *testing.T) {
	const token, key = "s3cr$t\"'%s\\n`id`", "Bearer k$y"
	real := []bundle.Header{{Name: "x-access-token", Value: token}, {Name: "x`id`-key", Value: key}}
	secrets := secretHeaders(real, secret.New([]string{token, key}))
	headers := []bundle.Header{
		{Name: "host", Value: "h"}, {Name: "x-access-token", Value: secrets[0].masked}, {Name: "x-empty"},
		{Name: "x`id`-key", Value: secrets[1].masked}, {Name: "x-last", Value: "$HOME"},
	}
	const fields = "host: h\nx-access-token: " + token + "\nx-empty;\nx`id`-key: " + key + "\nx-last: $HOME\n"
	env := []string{secrets[0].variable + "=" + token, secrets[1].variable + "=" + key}
	bodies := map[string]string{"a text": `{"a":1}`, "bytes": "\x00\xff'%\n", "a file's name": "@-"}
	for name, body := range bodies {
		f := unary(body, headers...)
		s, err := sourceOf(f)
		if err != nil {
			t.Fatal(err)
		}
		line, err := s.curl(Dialing{URL: "http://h"}, secrets)
		if err != nil {
			t.Fatal(err)
		}
		script, err := s.script(Dialing{Host: "h", Port: "1"}, secrets, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Run("curl, "+name, func(t *testing.T) {
			dir := recorder(t, "curl")
			sh(t, "PATH="+dir+":$PATH\n"+line, env...)
			if got, _, _ := strings.Cut(kept(t, dir, "fields"), "Accept:"); got != fields {
				t.Errorf("curl is given the fields %q, want %q", got, fields)
			}
			if got := kept(t, dir, "input"); name != "a text" && got != body {
				t.Errorf("curl is given the body %q, want %q", got, body)
			}
			noArgument(t, kept(t, dir, "args"), token, key)
		})
		t.Run("nc, "+name, func(t *testing.T) {
			t.Parallel()
			dir := recorder(t, "nc")
			sh(t, "PATH="+dir+":$PATH\n"+script, env...)
			want := strings.NewReplacer(secrets[0].masked, token, secrets[1].masked, key).Replace(string(f.Observation.Iterations[0].Conns[0].Sent.Data))
			if got := kept(t, dir, "input"); got != want {
				t.Errorf("nc is given %q, want %q", got, want)
			}
			noArgument(t, kept(t, dir, "args"), token, key)
		})
		for program, text := range map[string]string{"curl": line, "nc": script} {
			for missing, env := range map[string][]string{"missing": {}, "empty": {"ASSAY_TOKEN="}, "half": env[:1]} {
				t.Run(program+" without a secret, "+missing+", "+name, func(t *testing.T) {
					dir := recorder(t, program)
					_, why := fails(t, "PATH="+dir+":$PATH\n"+text, env...)
					if !strings.Contains(why, "set it to ") {
						t.Errorf("the message is %q", why)
					}
					if args := kept(t, dir, "args"); args != "" {
						t.Errorf("%s ran: %s", program, args)
					}
				})
			}
		}
	}
}

func noArgument(t *testing.T, args string, secrets ...string) {
	t.Helper()
	if args == "" {
		t.Error("the program did not run")
	}
	for _, s := range secrets {
		if strings.Contains(args, s) {
			t.Errorf("every user of the machine can read %q in\n%s", s, args)
		}
	}
}

// textsOf returns all texts of a call that sent two secrets, made from its record.
func textsOf(t *testing.T, token, credential string, body []byte, http2 bool) (masked, texts []string) {
	t.Helper()
	real := []bundle.Header{{Name: "x-access-token", Value: token}, {Name: "authorization", Value: "Bearer " + credential}}
	secrets := secretHeaders(real, secret.New([]string{token, "Bearer " + credential, credential}))
	headers := []bundle.Header{{Name: "host", Value: "h"}}
	for _, s := range secrets {
		masked = append(masked, s.name+s.masked+s.variable)
		headers = append(headers, bundle.Header{Name: s.name, Value: s.masked})
	}
	f := unary(string(body), headers...)
	m := &maker{o: Options{Run: &bundle.Run{}}, secrets: secrets}
	texts = append(texts, m.replay(f))
	s, err := sourceOf(f)
	if err != nil {
		return masked, texts
	}
	if http2 {
		s.conn.HTTP = "h2c"
	}
	for _, d := range []Dialing{{URL: "http://h", Host: "h", Port: "1"}, {URL: "https://h", Host: "h", Port: "1", Secure: true, CACert: "ca"}} {
		line, err := s.curl(d, secrets)
		texts = append(texts, line, why(err))
		script, err := s.script(d, secrets, s.about("rule", "source", "must"))
		texts = append(texts, script, why(err))
	}
	return masked, texts
}

func why(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// FuzzNoTextTellsASecret compares the texts of two calls that differ only in their
// secrets: a reader of either learns no more than their length.
func FuzzNoTextTellsASecret(f *testing.F) {
	f.Add("topsecret", "credential", []byte(`{"a":1}`), false)
	f.Add("s3cr$t\"'%s", "$(id)", []byte("\x00\xff*********"), false)
	f.Add("topsecret", "credential", []byte("topsecret"), true)
	f.Fuzz(func(t *testing.T, token, credential string, body []byte, http2 bool) {
		masked, texts := textsOf(t, token, credential, body, http2)
		other := func(s string) string { return strings.Repeat("\x01", len(s)) }
		same, others := textsOf(t, other(token), other(credential), body, http2)
		if strings.Join(masked, "\n") != strings.Join(same, "\n") {
			t.Skip("the record itself differs: one secret contains the other, or is empty")
		}
		for i := range texts {
			if texts[i] != others[i] {
				t.Errorf("a text reveals a secret:\n%s\n%s", texts[i], others[i])
			}
		}
	})
}
