package zoo

import (
	"net/http"
	"slices"

	"connectrpc.com/connect"

	"assay/fakes/gateway"
)

// envdDeviations are where the E2B daemon bends the protocols, or has them
// otherwise than the reference. It is built on connect-go and net/http, and much
// of this is theirs.
func envdDeviations() []deviation {
	return slices.Concat(envdSurfaces(), envdRequests(), envdAnswers(), envdProcesses(), envdErrors())
}

// envdSurfaces are the surfaces that the daemon has and lacks.
func envdSurfaces() []deviation {
	return []deviation{
		{Deviation{
			ID:    "http-1-only",
			Title: "HTTP/2 is not spoken: its preface is answered with HTTP 405, and the connection ends",
		}, func(b *build) {
			b.HTTP = []string{"1.1"}
			onFront(refusePreface)(b)
		}},
		{Deviation{
			ID:    "no-alias",
			Title: "There is no NDJSON alias",
		}, without(gateway.SurfaceCommands)},
		{Deviation{
			ID:    "no-probe",
			Title: "There is no service to probe",
		}, without(gateway.SurfaceProbe)},
		{Deviation{
			ID:    "metrics-json",
			Title: "/metrics is a JSON object about the machine",
		}, onSurface(gateway.SurfaceMetrics, func(http.Handler) http.Handler { return http.HandlerFunc(machineMetrics) })},
		{Deviation{
			ID:    "health-empty-type",
			Title: "The health check has an empty Content-Type, checks the user, and takes no HEAD",
		}, onFront(envdHealth)},
		{Deviation{
			ID:    "grpc-over-http-1",
			Title: "gRPC is served over HTTP/1.1, with its status in chunked trailers",
			Rules: []string{"grpc.route.http2-only"},
		}, onPolicy(grpcOverHTTP1)},
		{Deviation{
			ID:    "grpc-unknown-method-404",
			Title: "An unknown method is HTTP 404 in text, over gRPC and gRPC-Web too",
		}, onPolicy(plainNotFound)},
		{Deviation{
			ID:    "unknown-verb-without-allow",
			Title: "HTTP 405 for a verb that HTTP does not know has no Allow",
			Rules: []string{"connect.route.allow"},
		}, onPolicy(bareUnknownVerbs)},
	}
}

// envdRequests are how the daemon reads requests.
func envdRequests() []deviation {
	return []deviation{
		{Deviation{
			ID:    "plain-types-only",
			Title: "A content type with another parameter than charset=utf-8 is answered with HTTP 415",
		}, onRequest(plainTypesOnly)},
		{Deviation{
			ID:    "exact-encodings",
			Title: "The names of encodings are known in small letters only",
		}, onPolicy(exactEncodings)},
		{Deviation{
			ID:    "request-end-stream-taken",
			Title: "An end-of-stream envelope ends a request",
			Rules: []string{"connect.stream.request-end-stream-bit"},
		}, onPolicy(endStreamInRequest)},
		{Deviation{
			ID:    "flags-internal",
			Title: "Reserved bits of an envelope are an internal error",
		}, onPolicy(flagsInternal)},
		{Deviation{
			ID:    "empty-json-taken",
			Title: "An envelope without payload is the empty message, in JSON too",
		}, onPolicy(emptyJSON)},
		{Deviation{
			ID:    "unlimited-messages",
			Title: "A message may have any length; one that is not there is invalid_argument",
		}, onPolicy(unlimited)},
		{Deviation{
			ID:    "cut-request-canceled",
			Title: "A request whose connection ends before its declared length is canceled",
		}, onPolicy(cutIsCanceled)},
		{Deviation{
			ID:    "timeouts-signed",
			Title: "A timeout of zero or below ends the stream at once, while the process is started and runs without limit; a plus sign is taken",
			Rules: []string{"connect.timeout.zero", "connect.timeout.nothing-left"},
		}, startsExpired},
		{Deviation{
			ID:    "expired-stream-starts",
			Title: "1 in 4 streams that end at once by a timeout of zero or below have their start event first",
			Rules: []string{"connect.timeout.zero", "connect.timeout.negative"},
		}, startsFirst},
		{Deviation{
			ID:    "timeout-not-for-reading",
			Title: "A timeout does not end the wait for the rest of a request",
		}, onPolicy(patientBodies)},
		{Deviation{
			ID:    "keepalive-zero-crashes",
			Title: "A keepalive interval of zero or below ends the daemon",
			Rules: []string{"process.keepalive.zero", "http.message.complete"},
		}, crashOnKeepalive},
	}
}

// envdAnswers are the form of the daemon's answers.
func envdAnswers() []deviation {
	return []deviation{
		{Deviation{
			ID:    "token-error-number",
			Title: "A missing token is HTTP 401 with the number 401 for a code, on streams and for every protocol too",
			Rules: []string{"connect.error.code"},
		}, func(b *build) { onFront(numberedTokenError(b.Token))(b) }},
		{Deviation{
			ID:    "answers-as-asked",
			Title: "A compressed request is answered compressed, and gzip is chosen wherever it is listed",
			Rules: []string{"connect.compression.unary-accepted", "connect.compression.accepted-response", "connect.compression.preference", "connect.compression.identity-acceptable"},
		}, onPolicy(encodesAsAsked)},
		{Deviation{
			ID:    "empty-encoding-header",
			Title: "The refusal of an encoding on a stream has an empty Connect-Content-Encoding",
			Rules: []string{"connect.compression.content-encoding"},
		}, onPolicy(emptyEncodingHeader)},
		{Deviation{
			ID:    "grpc-codes-of-connect",
			Title: "Malformed gRPC requests are invalid_argument",
		}, onPolicy(connectCodes)},
	}
}

// envdProcesses are how the daemon treats processes and their output.
func envdProcesses() []deviation {
	return []deviation{
		{Deviation{
			ID:    "output-in-pieces",
			Title: "Output is sent as it is read, not line by line",
		}, func(b *build) { b.OutputInPieces = true }},
		{Deviation{
			ID:    "output-in-step",
			Title: "A subscriber that does not read stalls the others, and in the end the process",
			Rules: []string{"connect.stream.slow-reader"},
		}, onFanout(lockStep)},
		{Deviation{
			ID:    "tag-lookup-stops",
			Title: "The search for a tag ends at the first process with another one",
			Rules: []string{"process.tag.selects"},
		}, func(b *build) { b.Seams.ByTag = stopAtAnotherTag }},
		{Deviation{
			ID:    "listed-until-drained",
			Title: "A process that has exited is listed until nobody holds its output any more",
		}, func(b *build) { b.ListUntilDrained = true }},
		{Deviation{
			ID:    "list-unordered",
			Title: "List is in no order",
		}, onTable(shuffled)},
		{Deviation{
			ID:    "term-cuts-output",
			Title: "After SIGTERM nobody waits for output that children still hold, and 1 time in 5 the last chunk that the process itself writes, of at most 32 KiB, is lost",
			Rules: []string{"process.output.complete"},
		}, loseAfterTerm},
		{Deviation{
			ID:    "terminal-begins-late",
			Title: "One terminal in 20 loses the first piece of its output",
			Rules: []string{"process.pty.output-complete"},
		}, func(b *build) { beginTerminalsLate(b, lateTerminals) }},
		{Deviation{
			ID:    "grpc-timeout-spares",
			Title: "The timeout of a gRPC call ends the call and leaves the process running",
			Rules: []string{"grpc.timeout.nothing-left"},
		}, sparing(func(protocol string) bool { return protocol != connect.ProtocolConnect })},
		{Deviation{
			ID:    "terminal-size-wraps",
			Title: "Of the width and height of a terminal the low 16 bits are taken",
		}, onMessages(sizesWrap)},
	}
}

// envdErrors are the codes that the daemon gives.
func envdErrors() []deviation {
	return []deviation{
		{Deviation{
			ID:    "selector-missing-unimplemented",
			Title: "A missing selector, signal or input is unimplemented",
			Rules: []string{"process.selector.code"},
		}, onDaemonErrors(missingUnimplemented)},
		{Deviation{
			ID:    "input-error-internal",
			Title: "Input that cannot be taken is an internal error, and so is a size for what is no terminal",
			Rules: []string{"process.input.refused-code"},
		}, onDaemonErrors(inputInternal)},
		{Deviation{
			ID:    "close-terminal-unknown",
			Title: "CloseStdin of a terminal is an unknown error",
		}, onDaemonErrors(closeUnknown)},
		{Deviation{
			ID:    "stream-input-unknown",
			Title: "A message of StreamInput that cannot be read is an unknown error",
		}, onProcedureErrors(streamInputUnknown)},
		{Deviation{
			ID:    "data-before-start-cuts",
			Title: "StreamInput with data before start cuts the connection without an answer",
			Rules: []string{"process.stream-input.start-first"},
		}, onDaemonErrors(dataBeforeStartCuts)},
	}
}
