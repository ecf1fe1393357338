package hostile

import (
	"encoding/binary"
	"io"
	"net/http"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"assay/internal/envd/process"
	"assay/internal/wire"
)

// reply writes a response in the protocol and codec of its request.
type reply struct {
	w       http.ResponseWriter
	r       *call
	kind    string // the media type of request and response
	trailed bool   // gRPC: ends in trailers
}

// replying returns a mode's front that responds to calls of the process service.
func replying(respond func(*reply)) func(http.ResponseWriter, *call) bool {
	return func(w http.ResponseWriter, r *call) bool {
		kind := r.Header.Get("Content-Type")
		if !strings.HasPrefix(kind, "application/") || r.URL.Path == "/commands" {
			return false
		}
		p := &reply{w: w, r: r, kind: kind, trailed: strings.HasPrefix(kind, "application/grpc") && !strings.Contains(kind, "-web")}
		w.Header().Set("Content-Type", kind)
		_ = http.NewResponseController(w).EnableFullDuplex()
		respond(p)
		return true
	}
}

func (p *reply) isJSON() bool { return strings.HasSuffix(p.kind, "json") }

// framed reports whether messages are in envelopes: everywhere but in unary Connect calls.
func (p *reply) framed() bool { return p.kind != "application/json" && p.kind != "application/proto" }

// write writes and flushes; it reports whether the client still reads.
func (p *reply) write(b []byte) bool {
	_, err := p.w.Write(b)
	return err == nil && http.NewResponseController(p.w).Flush() == nil
}

// envelope writes the header of an envelope, of any length, and a payload.
func (p *reply) envelope(flags byte, length uint32, payload []byte) {
	p.write(append(binary.BigEndian.AppendUint32([]byte{flags}, length), payload...))
}

// message writes one message.
func (p *reply) message(payload []byte) bool {
	if !p.framed() {
		return p.write(payload)
	}
	return p.write(wire.AppendEnvelope(nil, 0, payload))
}

// end writes the end of a successful response.
func (p *reply) end() {
	switch {
	case p.trailed:
		p.w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	case strings.Contains(p.kind, "grpc-web"):
		p.write(wire.AppendEnvelope(nil, wire.FlagTrailer, []byte("grpc-status: 0\r\n")))
	case p.framed():
		p.write([]byte("{}"))
	}
}

// hold keeps the response open until the client closes it.
func (p *reply) hold() {
	_, _ = io.Copy(io.Discard, p.r.Body) // until then, net/http does not see that the client is gone
	<-p.r.Context().Done()
}

// encode encodes a message in the codec of the request.
func (p *reply) encode(m proto.Message) []byte {
	marshal := proto.Marshal
	if p.isJSON() {
		marshal = protojson.Marshal
	}
	b, _ := marshal(m) // a message of ours has no invalid text
	return b
}

// started, output and exited encode an event.
func (p *reply) started(pid uint32) []byte {
	return p.event(&process.ProcessEvent{Event: &process.ProcessEvent_Start{Start: &process.ProcessEvent_StartEvent{Pid: pid}}})
}

func (p *reply) output(text []byte) []byte {
	return p.event(&process.ProcessEvent{Event: &process.ProcessEvent_Data{Data: &process.ProcessEvent_DataEvent{
		Output: &process.ProcessEvent_DataEvent_Stdout{Stdout: text}}}})
}

func (p *reply) exited() []byte {
	return p.event(&process.ProcessEvent{Event: &process.ProcessEvent_End{
		End: &process.ProcessEvent_EndEvent{Exited: true, Status: "exit status 0"}}})
}

func (p *reply) event(e *process.ProcessEvent) []byte {
	return p.encode(&process.StartResponse{Event: e})
}
