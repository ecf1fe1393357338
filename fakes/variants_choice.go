package fakes

import (
	"connectrpc.com/connect"

	"assay/fakes/strict"
)

// choiceVariants answer in another way where the protocols leave it open.
func choiceVariants() []variantDecorator {
	return []variantDecorator{
		{Variant{
			ID:     "signal-code-137",
			Title:  "The exit code of a process that died of a signal is 128 and the number of the signal",
			Source: "what a shell says of it in $?, and Docker",
		}, onSignalCode(128)},
		{Variant{
			ID:     "signal-code-9",
			Title:  "The exit code of a process that died of a signal is the number of the signal",
			Source: "gateways that take the low bits of what wait(2) gives",
		}, onSignalCode(0)},
		{Variant{
			ID:     "update-ignored",
			Title:  "Update of a process without terminal is taken, and does nothing",
			Source: "gateways that store the size of every process",
		}, func(s *seams, _ uint64) { s.processes.updatesAnything = true }},
		{Variant{
			ID:     "router-json-404",
			Title:  "Unknown paths and methods are HTTP 404 with a JSON error that says not_found",
			Source: "routers of web frameworks; the Connect protocol infers unimplemented from 404 without a JSON error",
		}, onPolicy(jsonNotFound)},
		{Variant{
			ID:     "login-shell-slow",
			Title:  "Every command takes 300 ms before it runs anything; its start event comes at once",
			Source: "login shells that read the profile of a big machine",
		}, func(s *seams, _ uint64) {
			s.processes.before = []string{"/bin/sh", "-c", `/bin/sleep 0.3; exec "$@"`, "sh"}
		}},
		{Variant{
			ID:     "error-any-code-timeouts",
			Title:  "A timeout of zero is out_of_range",
			Source: "the Connect protocol has a grammar for timeouts, and no code for what breaks it",
		}, onPolicy(zeroTimeoutCode(connect.CodeOutOfRange))},
		{Variant{
			ID:     "head-like-get",
			Title:  "HEAD is served where GET is, without a body",
			Source: "RFC 9110 section 9.3.2",
		}, onPolicy(func(p *strict.Policy) { p.ServeHead = true })},
	}
}

// onSignalCode has the number of a signal, and base, for an exit code.
func onSignalCode(base int32) func(*seams, uint64) {
	return func(s *seams, _ uint64) {
		s.exit = aroundExit(s.exit, func(next exitPath, _ counters) exitPath { return signalCode{next, base} })
	}
}

// signalCode tells a signal by its number too.
type signalCode struct {
	exitPath
	base int32
}

func (c signalCode) ending(p *process) ending {
	e := c.exitPath.ending(p)
	if sig := p.finalStatus().Signal; sig != 0 {
		e.code = c.base + int32(sig) //nolint:gosec // a signal is a small number
	}
	return e
}
