package zoo

import (
	"errors"
	"slices"

	"connectrpc.com/connect"

	"assay/fakes/gateway"
	"assay/fakes/strict"
	"assay/internal/envd/process/processconnect"
)

// foundLikes returns gateways as they occur in practice: not one vendor's, but
// combinations of habits that occur together.
func foundLikes() []like {
	return []like{
		{"bash-only", "a gateway that runs only login shells, behind its own router", bashOnlyDeviations()},
		{"http-errors", "a gateway that reports errors of streams like those of other requests, and keeps all output", httpErrorsDeviations()},
		{"lossy", "a gateway that stops reading when the child exits", lossyDeviations()},
	}
}

// foreignSurfaces removes what other servers of the field do not have.
func foreignSurfaces() []deviation {
	return []deviation{
		{Deviation{
			ID:    "no-alias",
			Title: "There is no NDJSON alias",
		}, without(gateway.SurfaceCommands)},
		{Deviation{
			ID:    "no-stdio",
			Title: "There is no stdio over WebSocket",
		}, without(gateway.SurfaceStdio)},
		{Deviation{
			ID:    "no-execute",
			Title: "There is no code execution: that is another server of the sandbox",
		}, without(gateway.SurfaceExecute)},
		{Deviation{
			ID:    "no-probe",
			Title: "There is no probe service",
		}, without(gateway.SurfaceProbe)},
	}
}

// bareSurfaces leaves only the process service, over the Connect protocol.
func bareSurfaces() []deviation {
	return append(foreignSurfaces(), []deviation{
		{Deviation{
			ID:    "no-metrics",
			Title: "There are no metrics",
		}, without(gateway.SurfaceMetrics)},
		{Deviation{
			ID:    "no-files",
			Title: "Files, variables and settings are not served",
		}, func(b *build) {
			for _, s := range []gateway.Surface{gateway.SurfaceFilesystem, gateway.SurfaceFiles, gateway.SurfaceEnvs, gateway.SurfaceInit} {
				without(s)(b)
			}
		}},
		{Deviation{
			ID:    "connect-only",
			Title: "gRPC and gRPC-Web are not served: their content types get HTTP 415",
		}, func(b *build) { b.Protocols = []string{strict.Connect.String()} }},
	}...)
}

// bashOnlyDeviations returns the deviations of a gateway that accepts little but the
// default requests of the SDKs.
func bashOnlyDeviations() []deviation {
	return slices.Concat(bareSurfaces(), []deviation{
		{Deviation{
			ID:    "stdin-closed-by-default",
			Title: "A request without the field stdin gets no stdin",
			Rules: []string{"process.input.default-open"},
		}, onMessages(stdinClosed)},
		{Deviation{
			ID:    "login-shell-only",
			Title: "Commands must begin with /bin/bash -l -c; others are invalid_argument",
		}, func(b *build) { b.Shell = []string{"/bin/bash", "-l", "-c"} }},
		{Deviation{
			ID:    "routes-json-404",
			Title: "Unknown paths, procedures and HTTP methods get HTTP 404 with the JSON error not_found",
		}, onPolicy(func(p *strict.Policy) { jsonNotFound(p); verbsNotFound(p) })},
		{Deviation{
			ID:    "preface-json-404",
			Title: "HTTP/2 is not served: its preface counts as an unknown path, and the connection ends",
		}, func(b *build) { b.HTTP = []string{"1.1"} }},
	})
}

// lossyDeviations returns the deviations of a gateway that waits for the child, but not
// for its output.
func lossyDeviations() []deviation {
	return slices.Concat(bareSurfaces(), []deviation{
		{Deviation{
			ID:    "tail-lost-often",
			Title: "In 3 of 10 commands the last chunk of the output, of at most 4 KiB, is lost at the exit; the exit code is correct",
			Rules: []string{"process.output.complete"},
		}, loseTails},
		{Deviation{
			ID:    "connect-deaf",
			Title: "A client that attaches gets start and end, but no output",
			Rules: []string{"process.connect.attach", "process.connect.same-bytes"},
		}, onFanout(lateSilent)},
		{Deviation{
			ID:    "no-close-stdin",
			Title: "CloseStdin is unimplemented",
		}, intercepted(noCloseStdin)},
	})
}

// httpErrorsDeviations returns the deviations of a gateway that follows HTTP more than
// the Connect protocol.
func httpErrorsDeviations() []deviation {
	return slices.Concat(bareSurfaces(), []deviation{
		{Deviation{
			ID:    "stream-errors-as-http",
			Title: "A stream that fails before its first message has the HTTP status of its error, and a JSON body",
			Rules: []string{"connect.stream.status-200", "connect.timeout.stream-error-form"},
		}, onOpening(errorAsHTTP)},
		{Deviation{
			ID:    "connect-replays",
			Title: "A client that attaches gets all output from the beginning",
			Rules: []string{"process.connect.attach"},
		}, onFanout(replays)},
		{Deviation{
			ID:    "deadlines-ignored",
			Title: "A timeout is read but has no effect",
			Rules: []string{"connect.timeout.expired", "connect.timeout.nothing-left", "connect.timeout.reaches-handler"},
		}, ignoreDeadlines},
	})
}

// noCloseStdin does not implement CloseStdin.
func noCloseStdin(procedure string, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error) {
	if procedure == processconnect.ProcessCloseStdinProcedure {
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("process.Process.CloseStdin is not implemented"))
	}
	return call()
}
