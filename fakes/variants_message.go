package fakes

import (
	"encoding/json"
	"errors"

	"connectrpc.com/connect"

	"assay/fakes/strict"
	"assay/internal/envd/probe"
)

// messageVariants write messages and errors in another form.
func messageVariants() []variantDecorator {
	return []variantDecorator{
		{Variant{
			ID:     "explicit-zero-values",
			Title:  "JSON messages hold fields with a zero value: exitCode 0, exited false, an empty status",
			Source: "agentscope-ai/agentscope-java#2793; protobuf JSON mapping: implementations may write default values",
		}, onJSON(func(j *jsonStyle) { j.zeros = true })},
		{Variant{
			ID:     "indented-json",
			Title:  "JSON messages are written over several lines",
			Source: "e2b_connect (Python), which pretty-prints; RFC 8259: white space is insignificant",
		}, onJSON(func(j *jsonStyle) { j.indent = true })},
		{Variant{
			ID:     "errors-with-details",
			Title:  "Errors of the process service have details, with properties beside type and value",
			Source: "the Connect protocol, Error: debug and other properties are allowed, though connectrpc/conformance refuses them",
		}, onErrors(func(e *connect.Error) *connect.Error {
			if d, err := connect.NewErrorDetail(&probe.Detail{Text: "asked for by nobody"}); err == nil {
				e.AddDetail(d)
			}
			return e
		})},
		{Variant{
			ID:     "errors-without-message",
			Title:  "Errors of the process service have a code and no text",
			Source: "the Connect protocol, Error: message is optional",
		}, onErrors(func(e *connect.Error) *connect.Error { return connect.NewError(e.Code(), errors.New("")) })},
		{Variant{
			ID:     "errors-in-unicode",
			Title:  "Errors of the process service have texts beyond ASCII",
			Source: "the Connect protocol, Error: message is UTF-8; gRPC: it is percent-encoded",
		}, onErrors(func(e *connect.Error) *connect.Error {
			return connect.NewError(e.Code(), errors.New("Fehler: „"+e.Message()+"“ — 100 % 漢字"))
		})},
		{Variant{
			ID:     "eos-metadata",
			Title:  "End-of-stream messages hold metadata",
			Source: "the Connect protocol, EndStreamResponse: trailing metadata is the server's affair",
		}, onFrames(func(next strict.FrameSink) strict.FrameSink {
			return onEndStream(next, func(end map[string]json.RawMessage) {
				metadata := map[string][]string{}
				if end["metadata"] != nil && json.Unmarshal(end["metadata"], &metadata) != nil {
					return
				}
				metadata["x-served-by"], metadata["x-hops"] = []string{"node-7"}, []string{"1", "2"}
				end["metadata"], _ = json.Marshal(metadata) // a map of texts can be encoded
			})
		})},
	}
}

// onJSON changes how JSON is written.
func onJSON(change func(*jsonStyle)) func(*seams, uint64) {
	return func(s *seams, _ uint64) {
		s.json = around(s.json, func(j jsonStyle) jsonStyle { change(&j); return j })
	}
}

// onErrors changes the errors of the process service.
func onErrors(change func(*connect.Error) *connect.Error) func(*seams, uint64) {
	return func(s *seams, _ uint64) {
		s.errors = around(s.errors, func(err error) error { return change(strict.AsError(err)) })
	}
}
