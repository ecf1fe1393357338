package engine

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"assay/internal/envd/call"
	"assay/internal/envd/filesystem"
	"assay/internal/envd/filesystem/filesystemconnect"
	"assay/internal/judge"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// judged runs a script and returns the verdict of its only rule.
func (b *bench) judged(text, codec, compression string) (bundle.Verdict, *bundle.Observation) {
	b.t.Helper()
	i := instanceOf(parse(b.t, text))
	i.Axes.Codec, i.Axes.Compression = codec, compression
	o := b.runInstance(i)
	verdicts := (&judge.Judge{}).Scenario(i.Scenario, b.options.Run, o)
	if len(verdicts) != 1 {
		b.t.Fatalf("%d verdicts: %+v", len(verdicts), verdicts)
	}
	return verdicts[0], o
}

// forecast is a service without a descriptor in Assay. Watch sends one message at once,
// and another after a call of Release.
type forecast struct {
	released    chan struct{}
	contentType string // of the last call of Watch
}

func newForecast(t *testing.T) (*forecast, *bench) {
	f := &forecast{released: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /acme.v1.Forecast/Watch", func(w http.ResponseWriter, r *http.Request) {
		f.contentType = r.Header.Get("Content-Type")
		w.Header().Set("Content-Type", f.contentType)
		if strings.HasSuffix(f.contentType, "proto") {
			envelope(w, 0, "\x08\x2a")
		} else {
			envelope(w, 0, `{"sky": "clear", "hour": 0}`)
		}
		w.(http.Flusher).Flush()
		select {
		case <-f.released:
		case <-r.Context().Done():
		}
		envelope(w, 0, `{"sky": "rain", "hour": 1, "text": "`+strings.Repeat("x", 4<<10)+`"}`)
		envelope(w, 0, `{"sky": "storm", "hour": 2}`)
		envelope(w, 2, `{"error":{"code":"aborted","message":"no more"}}`)
	})
	mux.HandleFunc("POST /acme.v1.Forecast/Release", func(w http.ResponseWriter, _ *http.Request) {
		close(f.released)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return f, newBench(t, server.URL)
}

// watch calls both procedures: Release after the first message.
const watch = `
steps:
  - send: {as: w, rpc: acme.v1.Forecast/Watch, shape: stream, message: {city: Oslo}, wait: none}
  - await: {on: w, message: {json-has: {sky: clear}}}
  - send: {as: release, rpc: acme.v1.Forecast/Release, message: {}}
`

func TestMessagesOfAServiceWithoutDescriptorsAreAwaitedAndJudged(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ expect, message string }{
		"each of them": {"[{json: {hour: 0, sky: clear}}, {json-has: {hour: 1}}, {matches: storm}]", ""},
		"how many":     {"3", ""},
		"some":         {"{some: [{json-has: {sky: clear}}, {json-has: {sky: storm}}]}", ""},
		"a long one":   {"{some: {contains: xxxx, json-has: {sky: rain}}}", ""},
		"too few":      {"4", `w: messages: want 4, saw 3 (HTTP 200, error aborted "no more")`},
		"another value": {
			"[{json-has: {hour: 0}}, {json-has: {hour: 7}}, {json-has: {hour: 2}}]", "w: message 1: at hour: want 7, saw 1",
		},
		"the other order": {
			"{some: [{json-has: {sky: storm}}, {json-has: {sky: clear}}]}",
			`w: messages: want one holding {"sky":"clear"} after message 2, saw none (3 messages, HTTP 200, error aborted "no more")`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, b := newForecast(t)
			v, o := b.judged(watch+"expect: {w: {error: aborted, messages: "+tc.expect+"}}", call.JSON, call.Identity)
			if f.contentType != "application/connect+json" || len(o.Iterations[0].Exchange("w").Events) != 0 {
				t.Errorf("called as %q, events %+v", f.contentType, o.Iterations[0].Exchange("w").Events)
			}
			want := bundle.Pass
			if tc.message != "" {
				want = bundle.Fail
			}
			if v.Conclusion != want || v.Message != tc.message {
				t.Errorf("%s: %s\nwant %s: %s", v.Conclusion, v.Message, want, tc.message)
			}
		})
	}
}

// The verdict of a wait that lasts less than the driver lags is inconclusive.
func TestAMessageThatDoesNotComeIsWaitedForInVain(t *testing.T) {
	t.Parallel()
	f, b := newForecast(t)
	defer close(f.released)
	var v bundle.Verdict
	o := longer(50*time.Millisecond, func(d time.Duration) (o *bundle.Observation) {
		v, o = b.judged(`
steps:
  - send: {as: w, rpc: acme.v1.Forecast/Watch, shape: stream, message: {}, wait: none}
  - await: {on: w, message: {json-has: {sky: storm}}, within: `+d.String()+`, proves: test.rule}
expect: {w: {outcome: aborted}}
`, call.JSON, call.Identity)
		return o
	}, func(*bundle.Observation) bool { return v.Conclusion != bundle.Inconclusive })
	if a := o.Iterations[0].Awaits; len(a) != 1 || a[0].Met {
		t.Fatalf("awaits %+v", a)
	}
	const message = `a message holding {"sky":"storm"} did not come on w within `
	if v.Conclusion != bundle.Fail || !strings.HasPrefix(v.Message, message) || v.Symptom != bundle.SymptomHeldBack {
		t.Errorf("%s, %s: %s", v.Conclusion, v.Symptom, v.Message)
	}
}

func TestAMessageInProtobufOfAnUnknownTypeIsComparedByItsBytes(t *testing.T) {
	for expect, want := range map[string]bundle.Conclusion{"{hex: 08 2a}": bundle.Pass, "{hex: 08 2b}": bundle.Fail} {
		_, b := newForecast(t)
		v, _ := b.judged(`
steps:
  - send: {as: w, rpc: acme.v1.Forecast/Watch, shape: stream, body: {envelope: {hex: 0a 04 4f 73 6c 6f}}, wait: none}
  - await: {on: w, message: {hex: 082a}}
  - close: {on: w, how: cancel}
expect: {w: {messages: {some: `+expect+`}}}
`, call.Proto, call.Identity)
		if v.Conclusion != want {
			t.Errorf("%s: %s: %s", expect, v.Conclusion, v.Message)
		}
	}
}

// files is a filesystem service whose WatchDir reports one new file.
type files struct {
	filesystemconnect.UnimplementedFilesystemHandler
}

func (files) WatchDir(_ context.Context, r *connect.Request[filesystem.WatchDirRequest], s *connect.ServerStream[filesystem.WatchDirResponse]) error {
	created := &filesystem.FilesystemEvent{Name: r.Msg.GetPath() + "/new", Type: filesystem.EventType_EVENT_TYPE_CREATE}
	for _, m := range []*filesystem.WatchDirResponse{
		{Event: &filesystem.WatchDirResponse_Start{Start: &filesystem.WatchDirResponse_StartEvent{}}},
		{Event: &filesystem.WatchDirResponse_Filesystem{Filesystem: created}},
	} {
		if err := s.Send(m); err != nil {
			return err
		}
	}
	return nil
}

func TestMessagesOfWatchDirAreComparedAsJSONInEveryForm(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle(filesystemconnect.NewFilesystemHandler(files{}))
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, codec := range []string{call.JSON, call.Proto} {
		for _, protocol := range []string{call.Connect, call.GRPCWeb} {
			b := newBench(t, server.URL)
			v, o := b.judged(`
steps:
  - send: {as: w, rpc: filesystem.Filesystem/WatchDir, protocol: `+protocol+`, message: {path: /tmp}, wait: none}
  - await: {on: w, message: {json: {filesystem: {name: /tmp/new, type: EVENT_TYPE_CREATE}}}}
expect: {w: {ok: true, messages: [{json: {start: {}}}, {json-has: {filesystem: {name: /tmp/new}}}]}}
`, codec, call.Gzip)
			if v.Conclusion != bundle.Pass {
				t.Errorf("%s in %s: %s: %s", codec, protocol, v.Conclusion, v.Message)
			}
			if flags := o.Iterations[0].Exchange("w").Frames[0].Flags; flags != wire.FlagCompressed {
				t.Errorf("the first message has the flags %d", flags)
			}
		}
	}
}
