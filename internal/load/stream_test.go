package load

import (
	"strings"
	"testing"
	"time"

	"assay/internal/target"
	"assay/internal/wire"
)

// judged feeds an answer to a stream in pieces and returns its result.
func judged(t testing.TB, protocol, codec string, answer []byte, cut int) Result {
	t.Helper()
	tg, err := target.New(target.Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	c := newCollector(1)
	r := &portableRun{
		sink: c, gate: newTurnstile(), ledger: newTurnstile(),
		plan: &Plan{Check: Check{Kind: CheckSequence, First: 1}, Dialect: Dialect{Protocol: protocol, Codec: codec, Target: tg}},
	}
	r.mix, r.same = r.plan.Mix(), make([]sameOutput, 1)
	// A caller whose time is over: processes that are left are not killed here.
	r.caller = &caller{run: r, closed: true}
	s := newStream(r, 0, 0)
	r.streams = []*stream{s}
	kind := map[string]string{ProtocolConnect: "application/connect+", ProtocolWeb: "application/grpc-web+", ProtocolGRPC: "application/grpc+"}[protocol] + codec
	if protocol == ProtocolNDJSON {
		kind = "application/x-ndjson"
	}
	s.opening()
	s.sent(0)
	s.head(200, []wire.Field{{Name: "Content-Type", Value: kind}}, time.Second)
	for p := answer; len(p) > 0; {
		n := min(cut, len(p))
		s.data(p[:n], time.Second)
		p = p[n:]
	}
	s.end(nil, time.Second)
	for _, one := range r.left {
		c.Ended(one.result)
	}
	if c.snapshot().outcomes.Total() != 1 {
		t.Fatalf("%d results", c.snapshot().outcomes.Total())
	}
	return s.result
}

// FuzzStream: whatever comes, a stream has one result, and any split gives the same.
func FuzzStream(f *testing.F) {
	f.Add([]byte(startEvent(7)+stdout("1\n2\n")+endEvent(0)+eos), uint8(0), uint8(3))
	f.Add([]byte(startEvent(7)+stdout("1\n3\n")+eos+"x"), uint8(0), uint8(1))
	f.Add([]byte(env(0, "\x0a\x04\x0a\x02\x08\x07")+env(0, "\x0a\x06\x12\x04\x0a\x021\n")), uint8(1), uint8(2))
	f.Add([]byte(env(0x80, "grpc-status: 0\r\n")), uint8(2), uint8(1))
	f.Add([]byte("{\"type\":\"start\",\"pid\":7}\n{\"type\":\"stdout\",\"data\":\"1\\n\"}\n{\"type\":\"end\",\"exit_code\":0}\n"), uint8(3), uint8(1))
	f.Add([]byte("{\"type\":\"error\",\"code\":\"x\"}\n{\n\n[]"), uint8(3), uint8(5))
	f.Fuzz(func(t *testing.T, answer []byte, way, cut uint8) {
		protocol, codec := ProtocolConnect, CodecJSON
		switch way % 4 {
		case 1:
			protocol, codec = ProtocolGRPC, CodecProto
		case 2:
			protocol = ProtocolWeb
		case 3:
			protocol = ProtocolNDJSON
		}
		whole := judged(t, protocol, codec, answer, max(1, len(answer)))
		if split := judged(t, protocol, codec, answer, int(cut)+1); split != whole {
			t.Fatalf("cut into %d: %+v, whole: %+v", int(cut)+1, split, whole)
		}
		if (whole.Outcome == OK) != (whole.Message == "") {
			t.Fatalf("%+v", whole)
		}
	})
}

func TestAnErrorLineOfTheAliasIsAServerError(t *testing.T) {
	text := "{\"type\":\"start\",\"pid\":7}\n{\"type\":\"error\",\"code\":\"resource_exhausted\"}\n"
	r := judged(t, ProtocolNDJSON, CodecJSON, []byte(text), 7)
	if r.Outcome != ServerError || !strings.Contains(r.Message, "resource_exhausted") || r.Fate != LeftOpen {
		t.Errorf("%+v", r)
	}
	r = judged(t, ProtocolNDJSON, CodecJSON, []byte("{\"type\":\"start\",\"pid\":7}\n"), 7)
	if r.Outcome != EOSMissing {
		t.Errorf("without an end line: %+v", r)
	}
}

func TestAStatusOfGRPC(t *testing.T) {
	web := func(trailers string) Result {
		return judged(t, ProtocolWeb, CodecJSON, []byte(startEvent(7)+stdout("1\n")+endEvent(0)+trailers), 4)
	}
	for name, tt := range map[string]struct {
		got     Result
		outcome Outcome
		message string
	}{
		"ok":                 {web(env(0x80, "grpc-status: 0\r\n")), OK, ""},
		"an error":           {web(env(0x80, "grpc-status: 13\r\ngrpc-message: boom%21\r\n")), ServerError, "internal: boom!"},
		"none":               {web(""), EOSMissing, "no end of stream"},
		"a frame without it": {web(env(0x80, "x: y\r\n")), EOSMissing, "no end of stream"},
		"no number":          {web(env(0x80, "grpc-status: x\r\n")), Corrupt, "grpc.status"},
		"bytes after it":     {web(env(0x80, "grpc-status: 0\r\n") + "x"), Corrupt, "bytes follow"},
	} {
		if tt.got.Outcome != tt.outcome || !strings.Contains(tt.got.Message, tt.message) {
			t.Errorf("%s: %+v, want %v with %q", name, tt.got, tt.outcome, tt.message)
		}
	}
}
