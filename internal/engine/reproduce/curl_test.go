package reproduce

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"assay/internal/base/secret"
	"assay/internal/record/bundle"
	"assay/internal/wire"
	"assay/internal/wire/h2"
	"assay/scenarios"
)

func unary(body string, headers ...bundle.Header) Failure {
	x := bundle.Exchange{Op: "send", Shape: bundle.ShapeUnary, Protocol: "connect", Step: "steps[0]"}
	x.Request = bundle.Request{Method: "POST", Path: "/a?b=[1]", Headers: headers, Body: bundle.Blob{Data: []byte(body), Len: int64(len(body))}}
	var head strings.Builder
	head.WriteString("POST /a?b=[1] HTTP/1.1\r\n")
	for _, h := range headers {
		head.WriteString(h.Name + ": " + h.Value + "\r\n")
	}
	return sending([]byte(head.String()+"\r\n"+body), x)
}

func TestACallIsOneLineOfCurl(t *testing.T) {
	secrets := secretHeaders([]bundle.Header{{Name: "x-access-token", Value: "topsecret"}}, secret.New([]string{"topsecret"}))
	f := unary("{\"it's\":1}", bundle.Header{Name: "host", Value: "h"}, bundle.Header{Name: "x-access-token", Value: "*********"}, bundle.Header{Name: "content-length", Value: "10"}, bundle.Header{Name: "x-empty"})
	s, err := sourceOf(f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.curl(Dialing{URL: "https://h:8443/base", Secure: true, CACert: "my ca.pem"}, secrets)
	if err != nil {
		t.Fatal(err)
	}
	want := `: "${ASSAY_TOKEN:?set it to the access token}" && printf '%s\n' 'host: h' 'x-access-token: '"$ASSAY_TOKEN" 'x-empty;' Accept: User-Agent: Content-Type:` +
		` | curl -H @- -sS -i --raw -g --path-as-is --max-time 3 --http1.1 --cacert 'my ca.pem' -X POST --data-binary '{"it'\''s":1}' 'https://h:8443/a?b=[1]'` + "\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestABinaryBodyComesFromPrintf(t *testing.T) {
	for _, body := range []string{"@file", "\x00'%\n", "line\n"} {
		s, err := sourceOf(unary(body, bundle.Header{Name: "host", Value: "h"}))
		if err != nil {
			t.Fatal(err)
		}
		text, err := s.curl(Dialing{URL: "http://h"}, nil)
		lead, rest, ok := strings.Cut(text, " | curl ")
		if err != nil || !ok || !strings.Contains(rest, "--data-binary @-") {
			t.Fatalf("%v: %s", err, text)
		}
		if got := sh(t, lead); got != body {
			t.Errorf("the text sends %q, want %q", got, body)
		}
	}
}

func TestWhatCurlCannotSendHasNoLine(t *testing.T) {
	tests := map[string]func(*Failure){
		"a stream":        func(f *Failure) { f.Observation.Iterations[0].Exchanges[0].Shape = bundle.ShapeStream },
		"gRPC":            func(f *Failure) { f.Observation.Iterations[0].Exchanges[0].Protocol = "grpc" },
		"raw bytes":       func(f *Failure) { f.Observation.Iterations[0].Exchanges[0].Op = "raw" },
		"another framing": func(f *Failure) { f.Observation.Iterations[0].Exchanges[0].Request.Body = bundle.Blob{} },
		"a wrong length": func(f *Failure) {
			f.Observation.Iterations[0].Exchanges[0].Request.Headers = []bundle.Header{{Name: "Content-Length", Value: "9"}}
		},
		"a truncated request": func(f *Failure) {
			f.Instance.Scenario.Steps = []scenarios.Step{{At: "steps[0]", Send: &scenarios.Send{Split: &scenarios.Split{EveryByte: true}}}}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			f := unary("{}", bundle.Header{Name: "host", Value: "h"})
			change(&f)
			s, err := sourceOf(f)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := s.curl(Dialing{URL: "http://h"}, nil); err == nil {
				t.Errorf("got a curl line: %s", text)
			}
		})
	}
}

func TestWhatCurlPrintedOverHTTP2IsFramesAgain(t *testing.T) {
	frames, err := framed([]byte("HTTP/2 103 \r\nlink: x\r\n\r\nHTTP/2 404 \r\ncontent-length: 2\r\nx: y\r\n\r\n{}late: 1\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	var types []http2.FrameType
	for _, f := range framesOf(frames) {
		types = append(types, f.Type)
	}
	want := []http2.FrameType{http2.FrameSettings, http2.FrameHeaders, http2.FrameData, http2.FrameHeaders}
	if !slices.Equal(types, want) || endedStreams(frames) != 1 {
		t.Errorf("got frames %v, %d ends; want %v and one end", types, endedStreams(frames), want)
	}
	for _, broken := range []string{"", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/2 200\r\n", "HTTP/2 999999 \r\n\r\n"} {
		if _, err := framed([]byte(broken)); err == nil {
			t.Errorf("%q was accepted", broken)
		}
	}
}

func FuzzFramed(f *testing.F) {
	f.Add([]byte("HTTP/2 200 \r\ncontent-length: 2\r\n\r\n{}"))
	f.Add([]byte("HTTP/2 200 \r\ncontent-length: 0\r\n\r\n00")) // neither body nor trailers
	f.Fuzz(func(t *testing.T, p []byte) {
		if out, err := framed(p); err == nil && endedStreams(out) < 1 {
			t.Errorf("%q has no end", p)
		}
		endedStreams(p)
		b := bundle.NewBlob(p, nil)
		_ = printable(&b, len(p))
	})
}

func TestAnAnswerIsKnownToBeComplete(t *testing.T) {
	s, err := sourceOf(unary("{}"))
	if err != nil {
		t.Fatal(err)
	}
	done := s.answered()
	whole := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
	if done([]byte(whole[:len(whole)-1])) || !done([]byte(whole)) || !done([]byte("garbage\r\n")) {
		t.Error("HTTP/1.1 is not")
	}
	s.conn.HTTP = "h2c"
	envelope := wire.AppendEnvelope(nil, 0, []byte("{}"))
	if done = s.answered(); done(h2.AppendData(nil, 1, envelope, false)) {
		t.Error("DATA without END_STREAM ends")
	}
	if !done(h2.AppendData(nil, 1, envelope, true)) {
		t.Error("END_STREAM does not end")
	}
}
