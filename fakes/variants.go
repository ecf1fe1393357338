package fakes

// Variant is a gateway that differs in one legal way.
type Variant struct{ ID, Title, Source string }

// variantDecorator is a variant and how it is put in.
type variantDecorator struct {
	Variant
	install func(*seams)
}

// zooVariants are the variants by id.
func zooVariants() []variantDecorator {
	return []variantDecorator{
		{Variant{
			ID:     "explicit-zero-values",
			Title:  "JSON messages hold fields with a zero value: exitCode 0, exited false, an empty status",
			Source: "agentscope-ai/agentscope-java#2793; protobuf JSON mapping: implementations may write default values",
		}, func(s *seams) {
			s.json = around(s.json, func(j jsonStyle) jsonStyle { j.zeros = true; return j })
		}},
		{Variant{
			ID:     "indented-json",
			Title:  "JSON messages are written over several lines",
			Source: "e2b_connect (Python), which pretty-prints; RFC 8259: white space is insignificant",
		}, func(s *seams) {
			s.json = around(s.json, func(j jsonStyle) jsonStyle { j.indent = true; return j })
		}},
		{Variant{
			ID:     "keepalive-between-events",
			Title:  "A keepalive event follows every event but the last",
			Source: "the envd protocol: a keepalive may come at any time after start",
		}, func(s *seams) { s.events = around(s.events, keepaliveAfterEach) }},
		{Variant{
			ID:     "one-byte-chunks",
			Title:  "Every byte of a chunked answer is an HTTP chunk of its own",
			Source: "rig#1758; RFC 9112 section 7.1: chunk borders mean nothing",
		}, func(s *seams) { s.conn = around(s.conn, rechunk) }},
	}
}

// keepaliveAfterEach sends a keepalive after every event that is not the end.
func keepaliveAfterEach(next eventSink) eventSink {
	return eventSinkFunc(func(e event) error {
		if err := next.send(e); err != nil || e.kind == eventEnd {
			return err
		}
		return next.send(event{kind: eventKeepAlive, more: e.more})
	})
}
