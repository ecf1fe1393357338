package hostile

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"assay/internal/envd/process"
	"assay/internal/wire"
)

// streamModes break the streams of commands: envelopes, messages and their end.
func streamModes() []Mode {
	mode := func(id string, respond func(*reply)) Mode {
		return Mode{ID: id, Layer: "stream", Scope: Streams, front: replying(respond)}
	}
	// repeat sends a start event, and then one message without end.
	repeat := func(id string, payload func(*reply) []byte) Mode {
		return mode(id, func(p *reply) {
			batch := bytes.Repeat(wire.AppendEnvelope(nil, 0, payload(p)), 100)
			for more := p.message(p.started(7)); more; more = p.write(batch) {
			}
		})
	}
	// once sends a start event, then one payload, and keeps the response open.
	once := func(id string, payload func(*reply) []byte) Mode {
		return mode(id, func(p *reply) {
			p.message(p.started(7))
			p.message(payload(p))
			p.hold()
		})
	}
	text := func(s string) func(*reply) []byte { return func(*reply) []byte { return []byte(s) } }
	return []Mode{
		mode("million-starts", func(p *reply) {
			batch := bytes.Repeat(wire.AppendEnvelope(nil, 0, p.started(7)), 1000)
			for i := 0; i < 1000 && p.write(batch); i++ {
			}
			p.message(p.exited())
			p.end()
		}),
		repeat("endless-output", func(p *reply) []byte { return p.output([]byte("hello, world\n")) }),
		repeat("endless-keepalives", func(p *reply) []byte {
			return p.event(&process.ProcessEvent{Event: &process.ProcessEvent_Keepalive{Keepalive: &process.ProcessEvent_KeepAlive{}}})
		}),
		repeat("endless-empty-frames", text("")),
		repeat("endless-unknown-events", func(p *reply) []byte {
			if p.isJSON() {
				return []byte(`{"event":{"surprise":{"a":1}}}`)
			}
			return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte{0x7a, 1, 'x'})
		}),
		mode("byte-by-byte", func(p *reply) {
			for _, b := range wire.AppendEnvelope(nil, 0, p.output(bytes.Repeat([]byte("x"), 1<<14))) { // each costs a write, and a read
				if !p.write([]byte{b}) {
					return
				}
			}
		}),
		once("event-64mb", func(p *reply) []byte {
			if p.isJSON() {
				return bigEvents().json
			}
			return bigEvents().proto
		}),
		mode("length-4gb", func(p *reply) {
			p.envelope(0, 1<<32-1, bytes.Repeat([]byte("x"), 1<<16))
			for p.write(bytes.Repeat([]byte("x"), 1<<16)) {
			}
		}),
		mode("wrong-flags", func(p *reply) { p.envelope(0x7c, 2, []byte("{}")); p.hold() }),
		mode("no-end-of-stream", func(p *reply) {
			p.message(p.started(7))
			p.message(p.exited())
			p.hold()
		}),
		mode("end-of-stream-then-open", func(p *reply) {
			p.message(p.started(7))
			p.message(p.exited())
			p.end()
			p.hold()
		}),
		mode("end-of-stream-twice", func(p *reply) {
			p.message(p.started(7))
			p.message(p.exited())
			p.end()
			p.end()
		}),
		once("json-depth", text(strings.Repeat(`{"event":[`, 1<<19))),
		once("json-huge-number", text(`{"event":{"start":{"pid":1`+strings.Repeat("0", 1<<20)+`e999999999}}}`)),
		once("json-duplicate-keys", text(`{"event":{"start":{"pid":7}`+strings.Repeat(`,"start":{"pid":8}`, 1<<16)+`}}`)),
		{ID: "proto-groups", Layer: "stream", Scope: Streams, Mild: true, front: replying(func(p *reply) {
			if p.isJSON() {
				p.r.next.ServeHTTP(p.w, p.r.Request)
				return
			}
			p.message(bytes.Repeat([]byte{0x0b}, 1<<20)) // start of group 1, in the group before it
			p.hold()
		})},
		mode("escapes", func(p *reply) {
			p.w.Header().Set("X-Title", escapes)
			p.message(p.started(7))
			p.message(p.output([]byte(escapes)))
			p.message(p.event(&process.ProcessEvent{Event: &process.ProcessEvent_End{
				End: &process.ProcessEvent_EndEvent{ExitCode: 1, Exited: true, Status: strings.ToValidUTF8(escapes, "?"), Error: proto.String(strings.ToValidUTF8(escapes, "?"))}}}))
			end, _ := json.Marshal(map[string]any{"error": map[string]string{"code": escapes, "message": escapes}}) // a string always has a JSON form
			p.write(end)
		}),
		{ID: "endless-line", Layer: "stream", Scope: Streams, Mild: true, front: func(w http.ResponseWriter, r *call) bool {
			if r.URL.Path == "/commands" {
				w.Header().Set("Content-Type", "application/x-ndjson")
				flood(w, strings.Repeat("x", 1<<16))
			}
			return r.URL.Path == "/commands"
		}},
	}
}

// bigEvents are output events of 64 MiB.
var bigEvents = sync.OnceValue(func() (b struct{ json, proto []byte }) {
	text := make([]byte, 64<<20)
	p := &reply{kind: "proto"}
	b.proto = p.output(text)
	b.json = []byte(`{"event":{"data":{"stdout":"` + base64.StdEncoding.EncodeToString(text[:48<<20]) + `"}}}`)
	return b
})
