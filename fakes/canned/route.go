package canned

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"assay/internal/envd/process"
	"assay/internal/wire"
)

// action is the operation of a request.
type action uint8

const (
	unknown action = iota
	startStream
	sendSignal
	list
	metrics
	health
	badType
	unauthorized
)

// route is a request, according to its head.
type route struct {
	action  action
	dialect dialect
	pid     uint32 // of POST /commands/{pid}/kill
}

const (
	startPath  = "/process.Process/Start"
	signalPath = "/process.Process/SendSignal"
	listPath   = "/process.Process/List"
)

// admit returns the route of a request with a token. Only /health needs none.
func (g *gateway) admit(r route, token string) route {
	if g.token == "" || r.action == health || subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) == 1 {
		return r
	}
	return route{action: unauthorized}
}

// routeOf reads the head of a request. Paths may have a prefix.
func routeOf(method, path, contentType string) route {
	path, _, _ = strings.Cut(path, "?")
	switch {
	case strings.HasSuffix(path, startPath):
		return typed(startStream, contentType, true)
	case strings.HasSuffix(path, signalPath):
		return typed(sendSignal, contentType, false)
	case strings.HasSuffix(path, listPath):
		return typed(list, contentType, false)
	case method == "GET" && strings.HasSuffix(path, "/metrics"):
		return route{action: metrics}
	case method == "GET" && strings.HasSuffix(path, "/health"):
		return route{action: health}
	}
	alias := dialect{protocol: ndjson}
	switch i := strings.LastIndex(path, "/commands"); {
	case i < 0:
	case path[i:] == "/commands" && method == "POST":
		return route{action: startStream, dialect: alias}
	case path[i:] == "/commands" && method == "GET":
		return route{action: list, dialect: alias}
	case method == "POST":
		text, ok := strings.CutSuffix(strings.TrimPrefix(path[i:], "/commands/"), "/kill")
		if pid, err := strconv.ParseUint(text, 10, 32); ok && err == nil {
			return route{action: sendSignal, dialect: alias, pid: uint32(pid)}
		}
	}
	return route{}
}

// typed returns the dialect of a call by its content type.
func typed(a action, contentType string, stream bool) route {
	contentType, _, _ = strings.Cut(contentType, ";")
	r := route{action: a}
	switch strings.ToLower(strings.TrimSpace(contentType)) {
	case "application/connect+json", "application/json":
	case "application/connect+proto", "application/proto":
		r.dialect = dialect{connect, true}
	case "application/grpc", "application/grpc+proto":
		r.dialect = dialect{grpc, true}
	case "application/grpc+json":
		r.dialect = dialect{grpc, false}
	case "application/grpc-web", "application/grpc-web+proto":
		r.dialect = dialect{grpcWeb, true}
	case "application/grpc-web+json":
		r.dialect = dialect{grpcWeb, false}
	default:
		return route{action: badType}
	}
	if r.dialect.protocol == connect && stream != strings.Contains(strings.ToLower(contentType), "connect+") {
		return route{action: badType}
	}
	return r
}

// signalled returns the pid of a SendSignal request, 0 without one.
func (r route) signalled(body []byte) uint32 {
	if r.dialect.protocol == ndjson {
		return r.pid
	}
	if r.dialect.protocol != connect {
		if len(body) < wire.HeaderSize {
			return 0
		}
		body = body[wire.HeaderSize:]
	}
	if r.dialect.proto {
		var m process.SendSignalRequest
		if proto.Unmarshal(body, &m) != nil {
			return 0
		}
		return m.GetProcess().GetPid()
	}
	var m struct {
		Process struct {
			PID uint32 `json:"pid"`
		} `json:"process"`
	}
	if json.Unmarshal(body, &m) != nil {
		return 0
	}
	return m.Process.PID
}

// answer is a complete response.
type answer struct {
	status      int
	contentType string
	body        []byte
	trailers    []wire.Field // of HTTP/2
}

// empty is the successful response of a call without a result.
func (d dialect) empty() answer {
	a := answer{status: 200, contentType: d.unaryType()}
	switch d.protocol {
	case grpc:
		a.body, a.trailers = wire.AppendEnvelope(nil, 0, d.nothing()), []wire.Field{{Name: "grpc-status", Value: "0"}}
	case grpcWeb:
		a.body = append(wire.AppendEnvelope(nil, 0, d.nothing()), d.tail()...)
	default:
		a.body = d.nothing()
	}
	return a
}

// nothing encodes an empty message.
func (d dialect) nothing() []byte {
	if d.proto {
		return []byte{}
	}
	return []byte("{}")
}

// unaryType is the content type of a unary call.
func (d dialect) unaryType() string {
	switch d.protocol {
	case ndjson:
		return "application/json"
	case connect:
		return strings.Replace(d.contentType(), "connect+", "", 1)
	default:
		return d.contentType()
	}
}

// notFound is the response to a signal for an unknown process.
func (d dialect) notFound() answer {
	const text = "there is no such process"
	switch d.protocol {
	case grpc:
		return answer{status: 200, contentType: d.contentType(), trailers: []wire.Field{{Name: "grpc-status", Value: "5"}, {Name: "grpc-message", Value: text}}}
	case grpcWeb:
		return answer{status: 200, contentType: d.contentType(), body: wire.AppendEnvelope(nil, wire.FlagTrailer, []byte("grpc-status: 5\r\ngrpc-message: "+text+"\r\n"))}
	default:
		return jsonError(404, "not_found", text)
	}
}

func jsonError(status int, code, message string) answer {
	var b bytes.Buffer
	b.WriteString(`{"code":"` + code + `","message":"` + message + `"}`)
	return answer{status: status, contentType: "application/json", body: b.Bytes()}
}
