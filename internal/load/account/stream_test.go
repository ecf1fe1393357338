package account

import (
	"strings"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/load/loadtest"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// judged feeds a response to a stream in pieces of at most cut bytes and returns its
// result. No kill is sent.
func judged(t testing.TB, protocol, codec string, answer []byte, cut int) load.Result {
	t.Helper()
	sink := &loadtest.Last{}
	f := conduct(plan(t, protocol, codec, load.Check{Kind: load.CheckSequence, First: 1}), sink)
	kind := map[string]string{load.ProtocolConnect: "application/connect+", load.ProtocolWeb: "application/grpc-web+", load.ProtocolGRPC: "application/grpc+"}[protocol] + codec
	if protocol == load.ProtocolNDJSON {
		kind = "application/x-ndjson"
	}
	i, s := f.begin()
	f.time = int64(time.Second)
	f.Reading(f.time)
	f.Head(i, s, 200, []wire.Field{{Name: "Content-Type", Value: kind}})
	f.feed(i, s, answer, cut)
	f.End(i, s, nil)
	f.dropCalls()
	f.run.Finish()
	if sink.Count != 1 || f.entries.Live() != 0 || len(f.extras) != 0 || len(f.cuts.bufs) != len(f.cuts.free) {
		t.Fatalf("%d results, %d live, %d extras, %d of %d buffers are free", sink.Count, f.entries.Live(), len(f.extras), len(f.cuts.free), len(f.cuts.bufs))
	}
	return sink.Result
}

// FuzzStream: any response gives one result, and the same one in any split.
func FuzzStream(f *testing.F) {
	f.Add([]byte(loadtest.StartEvent(7)+loadtest.Stdout("1\n2\n")+loadtest.EndEvent(0)+loadtest.EOS), uint8(0), uint8(3))
	f.Add([]byte(loadtest.StartEvent(7)+loadtest.Stdout("1\n3\n")+loadtest.EOS+"x"), uint8(0), uint8(1))
	f.Add([]byte(loadtest.Env(0, "\x0a\x04\x0a\x02\x08\x07")+loadtest.Env(0, "\x0a\x06\x12\x04\x0a\x021\n")), uint8(1), uint8(2))
	f.Add([]byte(loadtest.Env(0x80, "grpc-status: 0\r\n")), uint8(2), uint8(1))
	f.Add([]byte("{\"type\":\"start\",\"pid\":7}\n{\"type\":\"stdout\",\"data\":\"1\\n\"}\n{\"type\":\"end\",\"exit_code\":0}\n"), uint8(3), uint8(1))
	f.Add([]byte("{\"type\":\"error\",\"code\":\"x\"}\n{\n\n[]"), uint8(3), uint8(5))
	f.Fuzz(func(t *testing.T, answer []byte, way, cut uint8) {
		protocol, codec := load.ProtocolConnect, load.CodecJSON
		switch way % 4 {
		case 1:
			protocol, codec = load.ProtocolGRPC, load.CodecProto
		case 2:
			protocol = load.ProtocolWeb
		case 3:
			protocol = load.ProtocolNDJSON
		}
		whole := judged(t, protocol, codec, answer, max(1, len(answer)))
		if split := judged(t, protocol, codec, answer, int(cut)+1); split != whole {
			t.Fatalf("cut into %d: %+v, whole: %+v", int(cut)+1, split, whole)
		}
		if (whole.Outcome == bundle.StreamOK) != (whole.Message == "") {
			t.Fatalf("%+v", whole)
		}
	})
}

func TestAnErrorLineOfTheAliasIsAServerError(t *testing.T) {
	text := "{\"type\":\"start\",\"pid\":7}\n{\"type\":\"error\",\"code\":\"resource_exhausted\"}\n"
	r := judged(t, load.ProtocolNDJSON, load.CodecJSON, []byte(text), 7)
	if r.Outcome != bundle.StreamServerError || !strings.Contains(r.Message, "resource_exhausted") || r.Fate != load.LeftOpen {
		t.Errorf("%+v", r)
	}
	text += "{\"type\":\"error\",\"code\":\"internal\"}\n{\"type\":\"end\",\"exit_code\":1}\n"
	for _, cut := range []int{1, len(text)} {
		r = judged(t, load.ProtocolNDJSON, load.CodecJSON, []byte(text), cut)
		if r.Outcome != bundle.StreamServerError || !strings.Contains(r.Message, "resource_exhausted") || r.Fate != load.EndedError {
			t.Errorf("with a second error and an end line, in pieces of %d bytes: %+v", cut, r)
		}
	}
	r = judged(t, load.ProtocolNDJSON, load.CodecJSON, []byte("{\"type\":\"start\",\"pid\":7}\n"), 7)
	if r.Outcome != bundle.StreamEOSMissing {
		t.Errorf("without an end line: %+v", r)
	}
}

func TestAStatusOfGRPC(t *testing.T) {
	web := func(trailers string) load.Result {
		return judged(t, load.ProtocolWeb, load.CodecJSON, []byte(loadtest.StartEvent(7)+loadtest.Stdout("1\n")+loadtest.EndEvent(0)+trailers), 4)
	}
	for name, tt := range map[string]struct {
		got     load.Result
		outcome bundle.StreamOutcome
		message string
	}{
		"ok":                 {web(loadtest.Env(0x80, "grpc-status: 0\r\n")), bundle.StreamOK, ""},
		"an error":           {web(loadtest.Env(0x80, "grpc-status: 13\r\ngrpc-message: boom%21\r\n")), bundle.StreamServerError, "internal: boom!"},
		"none":               {web(""), bundle.StreamEOSMissing, "no end of stream"},
		"a frame without it": {web(loadtest.Env(0x80, "x: y\r\n")), bundle.StreamEOSMissing, "no end of stream"},
		"no number":          {web(loadtest.Env(0x80, "grpc-status: x\r\n")), bundle.StreamCorrupt, "grpc.status"},
		"bytes after it":     {web(loadtest.Env(0x80, "grpc-status: 0\r\n") + "x"), bundle.StreamCorrupt, "bytes follow"},
	} {
		if tt.got.Outcome != tt.outcome || !strings.Contains(tt.got.Message, tt.message) {
			t.Errorf("%s: %+v, want %v with %q", name, tt.got, tt.outcome, tt.message)
		}
	}
}
