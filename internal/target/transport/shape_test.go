package transport_test

import (
	"fmt"
	"strings"
	"testing"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/internal/wire"
)

// respond renders an answer with a length.
func respond(status int, headers, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d X\r\n%sContent-Length: %d\r\n\r\n%s", status, headers, len(body), body)
}

func envelope(flags byte, payload string) string {
	return string(wire.AppendEnvelope(nil, flags, []byte(payload)))
}

const (
	streamJSON = "Content-Type: application/connect+json\r\n"
	plainJSON  = "Content-Type: application/json\r\n"

	startEvent = `{"event":{"start":{"pid":7}}}`
	dataEvent  = `{"event":{"data":{"stdout":"aGVsbG8K"}}}`
	endEvent   = `{"event":{"end":{"exited":true,"status":"exit status 0"}}}`
)

func TestAnswerIsDecodedByItsShape(t *testing.T) {
	t.Parallel()
	life := envelope(0, startEvent) + envelope(0, dataEvent) + envelope(0, endEvent) + envelope(2, "{}")
	packed := func(s string) string { return envelope(1, string(call.Compress([]byte(s)))) }
	lines := `{"type":"start","pid":7}` + "\n" + `{"type":"stdout","data":"hello\n"}` + "\n" + `{"type":"end","exit_code":3}` + "\n"
	cells := `{"type":"number_of_executions","execution_count":1}` + "\n" + `{"type":"stdout","text":"hello\n"}` + "\r\n" + `{"type":"end_of_execution"}`
	tests := []struct {
		name       string
		call       transport.Call
		answer     string
		events     string
		stdout     string
		body       string // "-" for none
		code       string
		end        bool
		violations string
	}{
		{name: "a stream gives events, output and its end", call: startCall(),
			answer: respond(200, streamJSON, life), events: "start data end", stdout: "hello\n", body: "-", end: true},
		{name: "a run of code gives its lines, the last one without a newline", call: executeCall(),
			answer: respond(200, "", cells), events: "count data end", stdout: "hello\n", body: "-"},
		{name: "lines of a run that are not what they should be are breaches", call: executeCall(),
			answer: respond(200, "", "\n{\n"+`{"type":"error","name":"E","value":"v","traceback":null}`+"\n"+`{"type":"end_of_execution"}`+"\n"),
			events: "unknown error end", body: "-", violations: "execute.empty execute.json execute.error"},
		{name: "a run that is refused has a body", call: executeCall(),
			answer: respond(404, "", "Context x not found"), body: "Context x not found"},
		{name: "compressed messages are inflated one by one", call: startCall(),
			answer: respond(200, streamJSON+"Connect-Content-Encoding: gzip\r\n", packed(startEvent)+envelope(0, dataEvent)+packed(endEvent)+
				envelope(3, string(call.Compress([]byte(`{"error":{"code":"internal","message":"x"}}`))))),
			events: "start data end", stdout: "hello\n", body: "-", end: true, code: "internal"},
		{name: "an empty compressed message is an empty message", call: startCall(),
			answer: respond(200, streamJSON+"Connect-Content-Encoding: gzip\r\n", envelope(0, startEvent)+envelope(3, "")),
			events: "start", body: "-", end: true, violations: "end-stream.json"},
		{name: "the compressed flag without a declared encoding is a breach", call: startCall(),
			answer: respond(200, streamJSON, packed(startEvent)+envelope(2, "{}")),
			events: "", body: "-", end: true, violations: "envelope.compressed-undeclared"},
		{name: "the compressed flag with identity declared is a breach", call: startCall(),
			answer: respond(200, streamJSON+"Connect-Content-Encoding: identity\r\n", packed(startEvent)+envelope(2, "{}")),
			events: "", body: "-", end: true, violations: "envelope.compressed-undeclared"},
		{name: "a message that does not inflate is a breach", call: startCall(),
			answer: respond(200, streamJSON+"Connect-Content-Encoding: gzip\r\n", envelope(1, "no gzip")+envelope(2, "{}")),
			events: "", body: "-", end: true, violations: "envelope.bad-compression"},
		{name: "an end of stream with an error gives the error", call: startCall(),
			answer: respond(200, streamJSON, envelope(2, `{"error":{"code":"not_found","message":"gone"},"metadata":{"a":["b"]}}`)),
			body:   "-", end: true, code: "not_found"},
		{name: "415 to a stream keeps its text", call: startCall(),
			answer: respond(415, "Content-Type: text/plain\r\n", "no"), body: "no"},
		{name: "401 to a stream with the daemon's own JSON keeps its body and is not an RPC error", call: startCall(),
			answer: respond(401, plainJSON, `{"code":401,"message":"no"}`), body: `{"code":401,"message":"no"}`},
		{name: "401 to a stream with a Connect error has the error", call: startCall(),
			answer: respond(401, plainJSON, `{"code":"unauthenticated"}`), body: `{"code":"unauthenticated"}`, code: "unauthenticated"},
		{name: "envelopes in a 500 are not decoded", call: startCall(),
			answer: respond(500, streamJSON, envelope(2, "{}")), body: envelope(2, "{}")},
		{name: "a unary answer keeps its body", call: unaryCall(),
			answer: respond(200, plainJSON, `{"processes":[]}`), body: `{"processes":[]}`},
		{name: "a unary error is decoded", call: unaryCall(),
			answer: respond(404, plainJSON, `{"code":"not_found"}`), body: `{"code":"not_found"}`, code: "not_found"},
		{name: "a unary error with a number for a code is a breach", call: unaryCall(),
			answer: respond(401, plainJSON, `{"code":401}`), body: `{"code":401}`, code: "", violations: "error.code"},
		{name: "a compressed unary answer is inflated", call: unaryCall(),
			answer: respond(200, plainJSON+"Content-Encoding: gzip\r\n", string(call.Compress([]byte(`{"x":1}`)))), body: `{"x":1}`},
		{name: "a unary body that does not inflate is a breach and kept", call: unaryCall(),
			answer: respond(200, plainJSON+"Content-Encoding: gzip\r\n", "nope"), body: "nope", violations: "envelope.bad-compression"},
		{name: "NDJSON gives events and output", call: lineCall(),
			answer: respond(200, "Content-Type: application/x-ndjson\r\n", lines), events: "start data end", stdout: "hello\n", body: "-"},
		{name: "compressed NDJSON is decoded at its end", call: lineCall(),
			answer: respond(200, "Content-Encoding: gzip\r\n", string(call.Compress([]byte(lines)))), events: "start data end", stdout: "hello\n", body: "-"},
		{name: "a last line without newline is delivered and reported", call: lineCall(),
			answer: respond(200, "", strings.TrimSuffix(lines, "\n")), events: "start data end", stdout: "hello\n", body: "-", violations: "ndjson.no-final-newline"},
		{name: "400 to an NDJSON call keeps its JSON", call: lineCall(),
			answer: respond(400, plainJSON, `{"error":"cmd missing"}`), body: `{"error":"cmd missing"}`},
		{name: "a plain answer keeps its body", call: plainCall(),
			answer: respond(200, "Content-Type: text/plain\r\n", "a 1\n"), body: "a 1\n"},
		{name: "an informational answer comes before the final one", call: plainCall(),
			answer: "HTTP/1.1 100 Continue\r\n\r\n" + respond(200, "", "x"), body: "x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := exchange(t, answering(t, false, tt.answer), tt.call)
			if x.Outcome != bundle.OutcomeComplete {
				t.Fatalf("outcome = %s (%s)", x.Outcome, x.Detail)
			}
			if got := kinds(x); got != tt.events {
				t.Errorf("events = %q, want %q", got, tt.events)
			}
			if got := string(blobData(x.Outputs["stdout"])); got != tt.stdout {
				t.Errorf("stdout = %q, want %q", got, tt.stdout)
			}
			if got := bodyText(x); got != tt.body {
				t.Errorf("body = %q, want %q", got, tt.body)
			}
			if got := errorCode(x); got != tt.code {
				t.Errorf("error = %q, want %q", got, tt.code)
			}
			if got := x.EndStream != nil; got != tt.end {
				t.Errorf("end of stream seen = %v, want %v", got, tt.end)
			}
			if got := violations(x); got != tt.violations {
				t.Errorf("violations = %q, want %q: %+v", got, tt.violations, x.Violations)
			}
		})
	}
}

func blobData(b *bundle.Blob) []byte {
	if b == nil {
		return nil
	}
	return b.Data
}

func bodyText(x bundle.Exchange) string {
	if x.Body == nil {
		return "-"
	}
	return string(x.Body.Data)
}

func errorCode(x bundle.Exchange) string {
	if x.Error == nil {
		return ""
	}
	return x.Error.Code
}

func TestRecordOfAStreamNamesPlacesAndTimes(t *testing.T) {
	first := envelope(0, startEvent)
	answer := respond(200, streamJSON, first+envelope(0, dataEvent)+envelope(4, endEvent)+envelope(2, "{}"))
	x := exchange(t, answering(t, false, answer), startCall())
	if len(x.Frames) != 4 || len(x.Events) != 3 {
		t.Fatalf("%d frames and %d events, want 4 and 3", len(x.Frames), len(x.Events))
	}
	f := x.Frames[1]
	if f.Off != int64(len(first)) || f.Len != int64(len(dataEvent)) || string(f.Head) != dataEvent || f.Event != 1 {
		t.Errorf("second frame = %+v", f)
	}
	if e := x.Events[1]; e.Frame != 1 || e.Stream != "stdout" || e.Off != 0 || e.Len != 6 || e.At != f.At {
		t.Errorf("data event = %+v", e)
	}
	if x.Events[0].PID != 7 {
		t.Errorf("pid = %d, want 7", x.Events[0].PID)
	}
	if x.Frames[3].Event != -1 || x.EndStream.Frame != 3 {
		t.Errorf("end of stream: frame %+v, %+v", x.Frames[3], x.EndStream)
	}
	if got := violations(x); got != string(wire.ReservedFlags) || x.Violations[0].Off != x.Frames[2].Off || x.Violations[0].In != "frame" {
		t.Errorf("violations = %+v, want reserved flags at %d", x.Violations, x.Frames[2].Off)
	}
	stamps := []bundle.Stamp{x.Invoked, x.Response.Head, x.Frames[0].At, x.Frames[1].At, x.Frames[2].At, x.Frames[3].At, *x.Response.Ended, *x.Returned}
	for i := range stamps[1:] {
		if !stamps[i].Before(stamps[i+1]) || stamps[i].T > stamps[i+1].T {
			t.Errorf("stamp %d %+v is not before %+v", i, stamps[i], stamps[i+1])
		}
	}
}

func TestEventProblemHasItsPlaceInTheBody(t *testing.T) {
	first := envelope(0, startEvent)
	x := exchange(t, answering(t, false, respond(200, streamJSON,
		first+envelope(0, `{"event":{"data":{"stdout":"a"}}}`)+envelope(2, "{}"))), startCall())
	if violations(x) != "event.base64" {
		t.Fatalf("violations = %+v", x.Violations)
	}
	v := x.Violations[0]
	if v.In != "event" || v.Off < int64(len(first))+wire.HeaderSize {
		t.Errorf("violation = %+v, want it inside the second payload", v)
	}
}

func TestInformationalStatusesAreKept(t *testing.T) {
	x := exchange(t, answering(t, false, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\n\r\n"+respond(200, "", "x")), plainCall())
	if got := fmt.Sprint(x.Response.Informational); got != "[100 103]" {
		t.Errorf("informational = %s", got)
	}
}

func TestStreamInputKeepsFramesOnly(t *testing.T) {
	call := startCall()
	call.RPC = "process.Process/StreamInput"
	x := exchange(t, answering(t, false, respond(200, streamJSON, envelope(0, "{}")+envelope(2, "{}"))), call)
	if len(x.Frames) != 2 || len(x.Events) != 0 || len(x.Violations) != 0 {
		t.Errorf("%d frames, %d events, violations %v; want 2, 0, none", len(x.Frames), len(x.Events), x.Violations)
	}
}
