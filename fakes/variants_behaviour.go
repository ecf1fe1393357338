package fakes

import "assay/fakes/strict"

// highPID is where the pids of pids-high begin: just below where Linux wraps.
const highPID = 4_100_000

// smallMessage is the size below which compress-large-only does not compress.
const smallMessage = 1 << 10

// behaviourVariants make another choice where there is one.
func behaviourVariants() []variantDecorator {
	return []variantDecorator{
		{Variant{
			ID:     "keepalive-between-events",
			Title:  "A keepalive event follows every event but the last",
			Source: "the envd protocol: a keepalive may come at any time after start",
		}, onEvents(keepaliveAfterEach)},
		{Variant{
			ID:     "pids-high",
			Title:  "Pids begin at 4,100,000",
			Source: "Linux: kernel.pid_max is up to 4194304",
		}, func(s *seams, _ uint64) { s.pids = highPID }},
		{Variant{
			ID:     "never-compresses",
			Title:  "Answers are never compressed, whatever the client accepts",
			Source: "the Connect protocol and gRPC: identity is always acceptable",
		}, onPolicy(neverCompresses)},
		{Variant{
			ID:     "compresses-large-only",
			Title:  "Messages of an answer are compressed from 1 KiB on",
			Source: "the Connect protocol: the flag of each message decides",
		}, func(s *seams, _ uint64) { s.compressFrom = smallMessage }},
		{Variant{
			ID:     "status-in-trailers",
			Title:  "A gRPC call that is refused at once has a head, and its status in trailers",
			Source: "gRPC over HTTP/2, Responses: trailers-only is a choice of the server",
		}, onPolicy(func(p *strict.Policy) { p.StatusInTrailers = true })},
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
