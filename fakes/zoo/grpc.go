package zoo

import (
	"bytes"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"assay/fakes/strict"
	"assay/internal/wire"
)

// grpcFaults returns the faults specific to gRPC and gRPC-Web.
func grpcFaults() []fault {
	return []fault{
		{Fault{
			ID:     "grpc-status-missing",
			Title:  "A successful gRPC call has no status",
			Breaks: []string{"grpc.status.present"},
			Source: "gateways that end a gRPC response like any other",
		}, onGRPCTrailers(func(h http.Header, prefix string) {
			if h.Get(prefix+"Grpc-Status") == "0" {
				h.Del(prefix + "Grpc-Status")
			}
		})},
		{Fault{
			ID:     "grpc-status-padded",
			Title:  "The status of a gRPC call has two digits",
			Breaks: []string{"grpc.status.number"},
			Source: "connectrpc/conformance, which does not look for leading zeros",
		}, onGRPCTrailers(func(h http.Header, prefix string) {
			if v := h.Get(prefix + "Grpc-Status"); len(v) == 1 {
				h.Set(prefix+"Grpc-Status", "0"+v)
			}
		})},
		{Fault{
			ID:     "grpc-message-raw",
			Title:  "grpc-message is not percent-encoded",
			Breaks: []string{"grpc.status.message", "grpc.status.text-survives"},
			Source: "gateways that copy the text of an error into a header",
		}, onGRPCTrailers(func(h http.Header, prefix string) {
			if v, err := url.PathUnescape(h.Get(prefix + "Grpc-Message")); err == nil && v != "" {
				h.Set(prefix+"Grpc-Message", v)
			}
		})},
		{Fault{
			ID:     "grpc-refusal-as-400",
			Title:  "A gRPC call refused before it runs has HTTP status 400",
			Breaks: []string{"grpc.response.http-200"},
			Source: "e2b-dev/E2B#806: the status of the edge, not of the call",
		}, onHead(func(_ *http.Request, h http.Header, status int) int {
			if v := h.Get("Grpc-Status"); v != "" && v != "0" {
				return http.StatusBadRequest
			}
			return status
		})},
		{Fault{
			ID:     "grpc-timeout-in-ms",
			Title:  "Every timeout of a gRPC call is read as milliseconds",
			Breaks: []string{"grpc.timeout.units"},
			Source: "e2b-dev/infra#480: one parser for both headers",
		}, onRequest(func(r *http.Request) {
			if v := r.Header.Get("Grpc-Timeout"); len(v) > 1 && strings.Trim(v[:len(v)-1], "0123456789") == "" {
				r.Header.Set("Grpc-Timeout", v[:len(v)-1]+"m")
			}
		})},
		{Fault{
			ID:     "grpc-web-http-trailers",
			Title:  "A gRPC-Web response has HTTP trailers",
			Breaks: []string{"grpc-web.trailer.no-http-trailers"},
			Source: "gateways that serve gRPC and gRPC-Web with one writer",
		}, onHead(func(r *http.Request, h http.Header, status int) int {
			if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc-web") {
				h.Set(http.TrailerPrefix+"Grpc-Status", "0")
			}
			return status
		})},
		{Fault{
			ID:     "grpc-web-trailer-missing",
			Title:  "A gRPC-Web response ends without its trailer frame",
			Breaks: []string{"grpc-web.trailer.present", "grpc.status.present"},
			Source: "bufbuild/connect-rust#140, in the other protocol",
		}, onFrames(func(next strict.FrameSink) strict.FrameSink {
			return strict.FrameSinkFunc(func(flags byte, payload []byte) error {
				if flags&wire.FlagTrailer != 0 {
					return nil
				}
				return next.Frame(flags, payload)
			})
		})},
		{Fault{
			ID:     "grpc-web-trailer-capitals",
			Title:  "The names in a trailer frame begin with capitals",
			Breaks: []string{"grpc-web.trailer.lower-case"},
			Source: "writers that use an HTTP header as the trailer block",
		}, onFrames(capitalTrailers)},
	}
}

// onGRPCTrailers changes the trailers of gRPC responses. prefix is the prefix of
// their names in the header map.
func onGRPCTrailers(change func(h http.Header, prefix string)) func(*build) {
	return onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(w, r)
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			change(w.Header(), http.TrailerPrefix)
		}
	})
}

// capitalTrailers writes the names of a trailer frame in the case of Go's
// headers.
func capitalTrailers(next strict.FrameSink) strict.FrameSink {
	return strict.FrameSinkFunc(func(flags byte, payload []byte) error {
		if flags != wire.FlagTrailer {
			return next.Frame(flags, payload)
		}
		var out []byte
		for line := range bytes.Lines(payload) {
			name, value, _ := bytes.Cut(line, []byte(":"))
			out = append(append(append(out, textproto.CanonicalMIMEHeaderKey(string(name))...), ':'), value...)
		}
		return next.Frame(flags, out)
	})
}
