package fakes

import (
	"slices"

	"assay/fakes/strict"
)

// foundLikes are gateways as they are found in the wild: not one vendor's, but
// combinations of habits that come together.
func foundLikes() []likeDecorator {
	return []likeDecorator{
		{"bash-only", "a gateway that runs login shells alone, behind a router of its own", bashOnlyDeviations()},
		{"http-errors", "a gateway that answers streams like any other request, and keeps all output", httpErrorsDeviations()},
		{"lossy", "a gateway that stops reading when the child exits", lossyDeviations()},
	}
}

// bareSurfaces leave the process service alone, over the Connect protocol.
func bareSurfaces() []deviationDecorator {
	return []deviationDecorator{
		{Deviation{
			ID:    "no-alias",
			Title: "There is no NDJSON alias",
		}, func(s *seams, _ *Options) { s.without.commands = true }},
		{Deviation{
			ID:    "no-probe",
			Title: "There is no service to probe",
		}, func(s *seams, _ *Options) { s.without.probe = true }},
		{Deviation{
			ID:    "no-metrics",
			Title: "There are no metrics",
		}, func(s *seams, _ *Options) { s.without.metrics = true }},
		{Deviation{
			ID:    "connect-only",
			Title: "gRPC and gRPC-Web are not spoken: their content types are HTTP 415",
		}, func(_ *seams, o *Options) { o.Protocols = []string{strict.Connect.String()} }},
	}
}

// bashOnlyDeviations take what the SDKs send by default, and little else.
func bashOnlyDeviations() []deviationDecorator {
	return slices.Concat(bareSurfaces(), []deviationDecorator{
		{Deviation{
			ID:    "stdin-closed-by-default",
			Title: "A request that does not say whether there is to be stdin gets none",
			Rules: []string{"process.input.default-open"},
		}, func(s *seams, _ *Options) { s.processes.stdinClosed = true }},
		{Deviation{
			ID:    "login-shell-only",
			Title: "Commands begin with /bin/bash -l -c; others are invalid_argument",
		}, func(_ *seams, o *Options) { o.Shell = []string{"/bin/bash", "-l", "-c"} }},
		{Deviation{
			ID:    "routes-json-404",
			Title: "Unknown paths, methods and verbs are HTTP 404 with a JSON error that says not_found",
		}, lenient(func(p *strict.Policy) { jsonNotFound(p); verbsNotFound(p) })},
		{Deviation{
			ID:    "preface-json-404",
			Title: "HTTP/2 is not spoken: its preface is an unknown path, and the connection ends",
		}, func(_ *seams, o *Options) { o.HTTP = []string{"1.1"} }},
	})
}

// lossyDeviations wait for the child, and not for what it wrote.
func lossyDeviations() []deviationDecorator {
	return slices.Concat(bareSurfaces(), []deviationDecorator{
		{Deviation{
			ID:    "tail-lost-often",
			Title: "In 3 of 10 commands the last chunk of the output, of at most 4 KiB, is lost at the exit; the exit code is right",
			Rules: []string{"process.output.complete"},
		}, func(s *seams, o *Options) { loseTails(s, o.Seed) }},
		{Deviation{
			ID:    "connect-deaf",
			Title: "A client that attaches gets start and end, and no output",
			Rules: []string{"process.connect.attach", "process.connect.same-bytes"},
		}, func(s *seams, _ *Options) { s.hubs.lateSilent = true }},
		{Deviation{
			ID:    "no-close-stdin",
			Title: "CloseStdin is unimplemented",
		}, func(s *seams, _ *Options) { s.without.closeStdin = true }},
	})
}

// httpErrorsDeviations know HTTP better than the Connect protocol.
func httpErrorsDeviations() []deviationDecorator {
	return slices.Concat(bareSurfaces(), []deviationDecorator{
		{Deviation{
			ID:    "stream-errors-as-http",
			Title: "A stream that fails before its first message has the HTTP status of its error, and a JSON body",
			Rules: []string{"connect.stream.status-200", "connect.timeout.stream-error-form"},
		}, func(s *seams, _ *Options) { onOpening(errorAsHTTP)(s, 0) }},
		{Deviation{
			ID:    "connect-replays",
			Title: "A client that attaches gets all output from the beginning",
			Rules: []string{"process.connect.attach"},
		}, func(s *seams, _ *Options) { s.hubs.replays = true }},
		{Deviation{
			ID:    "deadlines-ignored",
			Title: "A timeout is read, and has no effect",
			Rules: []string{"connect.timeout.expired", "connect.timeout.nothing-left", "connect.timeout.reaches-handler"},
		}, func(s *seams, _ *Options) { ignoreDeadlines(s, 0) }},
	})
}
