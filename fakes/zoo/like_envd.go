package zoo

import (
	"net/http"
	"slices"

	"connectrpc.com/connect"

	"assay/fakes/gateway"
)

// envdDeviations returns the differences between the E2B daemon and the
// reference, legal and illegal ones. Many come from connect-go and net/http, on
// which the daemon is built.
func envdDeviations() []deviation {
	return slices.Concat(foreignSurfaces(), envdSurfaces(), envdRequests(), envdAnswers(), envdProcesses(), envdErrors())
}

// envdSurfaces returns the deviations in the surfaces of the daemon.
func envdSurfaces() []deviation {
	return []deviation{
		{Deviation{
			ID:    "http-1-only",
			Title: "HTTP/2 is not served: its preface gets HTTP 405, and the connection ends",
		}, func(b *build) {
			b.HTTP = []string{"1.1"}
			onAnswer(refusePreface)(b)
		}},
		{Deviation{
			ID:    "metrics-json",
			Title: "/metrics is a JSON object about the machine",
		}, onSurface(gateway.SurfaceMetrics, func(http.Handler) http.Handler { return http.HandlerFunc(gateway.MachineMetrics) })},
		{Deviation{
			ID:    "health-empty-type",
			Title: "The health check has an empty Content-Type, checks the user, and rejects HEAD",
		}, onAnswer(envdHealth)},
		{Deviation{
			ID:    "grpc-over-http-1",
			Title: "gRPC is served over HTTP/1.1, with its status in chunked trailers",
			Rules: []string{"grpc.route.http2-only"},
		}, onPolicy(grpcOverHTTP1)},
		{Deviation{
			ID:    "grpc-unknown-method-404",
			Title: "An unknown method gets HTTP 404 in plain text, over gRPC and gRPC-Web too",
		}, onPolicy(plainNotFound)},
		{Deviation{
			ID:    "unknown-verb-without-allow",
			Title: "HTTP 405 for an unknown HTTP method has no Allow",
			Rules: []string{"connect.route.allow"},
		}, onPolicy(bareUnknownVerbs)},
	}
}

// envdRequests returns the deviations in reading requests.
func envdRequests() []deviation {
	return []deviation{
		{Deviation{
			ID:    "plain-types-only",
			Title: "A content type with a parameter other than charset=utf-8 gets HTTP 415",
		}, onRequest(plainTypesOnly)},
		{Deviation{
			ID:    "exact-encodings",
			Title: "The names of encodings are accepted only in lower case",
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
			Title: "An envelope without payload counts as the empty message, in JSON too",
		}, onPolicy(emptyJSON)},
		{Deviation{
			ID:    "unlimited-messages",
			Title: "A message may declare any length; missing bytes are invalid_argument",
		}, onPolicy(unlimited)},
		{Deviation{
			ID:    "cut-request-canceled",
			Title: "A request whose connection ends before its declared length is canceled",
		}, onPolicy(cutIsCanceled)},
		{Deviation{
			ID:    "timeouts-signed",
			Title: "A timeout of zero or below ends the stream at once, but the process starts and runs without limit; a plus sign is accepted",
			Rules: []string{"connect.timeout.zero", "connect.timeout.nothing-left"},
		}, startsExpired},
		{Deviation{
			ID:    "expired-stream-starts",
			Title: "1 in 4 streams with a timeout of zero or below send the start event before they end",
			Rules: []string{"connect.timeout.zero", "connect.timeout.negative"},
		}, startsFirst},
		{Deviation{
			ID:    "timeout-not-for-reading",
			Title: "A timeout does not end the wait for the rest of a request",
		}, onPolicy(patientBodies)},
		{Deviation{
			ID:    "keepalive-zero-crashes",
			Title: "A keepalive interval of zero or below crashes the daemon",
			Rules: []string{"process.keepalive.zero", "http.message.complete"},
		}, crashOnKeepalive},
	}
}

// envdAnswers returns the deviations in the form of responses.
func envdAnswers() []deviation {
	return []deviation{
		{Deviation{
			ID:    "token-error-number",
			Title: "A missing token gets HTTP 401 with the number 401 as the code, on streams and over every protocol too",
			Rules: []string{"connect.error.code"},
		}, func(b *build) { onAnswer(numberedTokenError(b.Token))(b) }},
		{Deviation{
			ID:    "answers-as-asked",
			Title: "A compressed request gets a compressed response, and gzip is chosen wherever it is listed",
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

// envdProcesses returns the deviations in the handling of processes and their
// output.
func envdProcesses() []deviation {
	return []deviation{
		{Deviation{
			ID:    "output-in-pieces",
			Title: "Output is sent as it is read, not line by line",
		}, func(b *build) { b.OutputInPieces = true }},
		{Deviation{
			ID:    "output-in-step",
			Title: "A subscriber that does not read stalls the others, and finally the process",
			Rules: []string{"connect.stream.slow-reader"},
		}, onFanout(lockStep)},
		{Deviation{
			ID:    "tag-lookup-stops",
			Title: "The search for a tag ends at the first process with another tag",
			Rules: []string{"process.tag.selects"},
		}, func(b *build) { b.Seams.ByTag = stopAtAnotherTag }},
		{Deviation{
			ID:    "listed-until-drained",
			Title: "An exited process is listed until no process holds its output any more",
		}, func(b *build) { b.ListUntilDrained = true }},
		{Deviation{
			ID:    "list-unordered",
			Title: "List is unordered",
		}, onTable(shuffled)},
		{Deviation{
			ID:    "term-cuts-output",
			Title: "After SIGTERM, the daemon does not wait for output that children still hold, and 1 time in 5 the process itself loses the last chunk of its output, of at most 32 KiB",
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
			Title: "Only the low 16 bits of the width and height of a terminal count",
		}, onMessages(sizesWrap)},
	}
}

// envdErrors returns the deviations in error codes.
func envdErrors() []deviation {
	return []deviation{
		{Deviation{
			ID:    "selector-missing-unimplemented",
			Title: "A missing selector, signal or input is unimplemented",
			Rules: []string{"process.selector.code"},
		}, onDaemonErrors(missingUnimplemented)},
		{Deviation{
			ID:    "input-error-internal",
			Title: "Undeliverable input is an internal error, and so is a size without a terminal",
			Rules: []string{"process.input.refused-code"},
		}, onDaemonErrors(inputInternal)},
		{Deviation{
			ID:    "close-terminal-unknown",
			Title: "CloseStdin of a terminal is an unknown error",
		}, onDaemonErrors(closeUnknown)},
		{Deviation{
			ID:    "stream-input-unknown",
			Title: "An unreadable message of StreamInput is an unknown error",
		}, onProcedureErrors(streamInputUnknown)},
		{Deviation{
			ID:    "data-before-start-cuts",
			Title: "StreamInput with data before start cuts the connection without a response",
			Rules: []string{"process.stream-input.start-first"},
		}, onDaemonErrors(dataBeforeStartCuts)},
	}
}
