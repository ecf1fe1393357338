package fakes

import "slices"

// envdDeviations are where the E2B daemon bends the protocols, or has them
// otherwise than the reference. It is built on connect-go and net/http, and much
// of this is theirs.
func envdDeviations() []deviationDecorator {
	return slices.Concat(envdSurfaces(), envdRequests(), envdAnswers(), envdProcesses(), envdErrors())
}

// envdSurfaces are what the daemon has and has not.
func envdSurfaces() []deviationDecorator {
	return []deviationDecorator{
		{Deviation{
			ID:    "http-1-only",
			Title: "HTTP/2 is not spoken: its preface is answered with HTTP 405, and the connection ends",
		}, func(s *seams, o *Options) {
			o.HTTP = []string{"1.1"}
			s.front = around(s.front, refusePreface)
		}},
		{Deviation{
			ID:    "no-alias",
			Title: "There is no NDJSON alias",
		}, func(s *seams, _ *Options) { s.without.commands = true }},
		{Deviation{
			ID:    "no-probe",
			Title: "There is no service to probe",
		}, func(s *seams, _ *Options) { s.without.probe = true }},
		{Deviation{
			ID:    "metrics-json",
			Title: "/metrics is a JSON object about the machine",
		}, func(s *seams, _ *Options) { s.metrics = machineMetrics }},
		{Deviation{
			ID:    "health-empty-type",
			Title: "The health check has an empty Content-Type, checks the user, and takes no HEAD",
		}, func(s *seams, _ *Options) { s.front = around(s.front, envdHealth) }},
		{Deviation{
			ID:    "grpc-over-http-1",
			Title: "gRPC is served over HTTP/1.1, with its status in chunked trailers",
			Rules: []string{"grpc.route.http2-only"},
		}, lenient(grpcOverHTTP1)},
		{Deviation{
			ID:    "grpc-unknown-method-404",
			Title: "An unknown method is HTTP 404 in text, over gRPC and gRPC-Web too",
		}, lenient(plainNotFound)},
		{Deviation{
			ID:    "unknown-verb-without-allow",
			Title: "HTTP 405 for a verb that HTTP does not know has no Allow",
			Rules: []string{"connect.route.allow"},
		}, lenient(bareUnknownVerbs)},
	}
}

// envdRequests are how the daemon reads requests.
func envdRequests() []deviationDecorator {
	return []deviationDecorator{
		{Deviation{
			ID:    "plain-types-only",
			Title: "A content type with another parameter than charset=utf-8 is answered with HTTP 415",
		}, func(s *seams, _ *Options) { onRequest(plainTypesOnly)(s, 0) }},
		{Deviation{
			ID:    "exact-encodings",
			Title: "The names of encodings are known in small letters only",
		}, lenient(exactEncodings)},
		{Deviation{
			ID:    "request-end-stream-taken",
			Title: "An end-of-stream envelope ends a request",
			Rules: []string{"connect.stream.request-end-stream-bit"},
		}, lenient(endStreamInRequest)},
		{Deviation{
			ID:    "flags-internal",
			Title: "Reserved bits of an envelope are an internal error",
		}, lenient(flagsInternal)},
		{Deviation{
			ID:    "empty-json-taken",
			Title: "An envelope without payload is the empty message, in JSON too",
		}, lenient(emptyJSON)},
		{Deviation{
			ID:    "unlimited-messages",
			Title: "A message may have any length; one that is not there is invalid_argument",
		}, lenient(unlimited)},
		{Deviation{
			ID:    "cut-request-canceled",
			Title: "A request whose connection ends before its declared length is canceled",
		}, lenient(cutIsCanceled)},
		{Deviation{
			ID:    "timeouts-signed",
			Title: "A timeout of zero or below ends the stream at once, while the process is started and runs without limit; a plus sign is taken",
			Rules: []string{"connect.timeout.zero", "connect.timeout.nothing-left"},
		}, lenient(signedTimeouts)},
		{Deviation{
			ID:    "expired-stream-starts",
			Title: "1 in 4 streams that end at once by a timeout of zero or below have their start event first",
			Rules: []string{"connect.timeout.zero", "connect.timeout.negative"},
		}, func(s *seams, o *Options) { s.expiredStarts = newShare(1, 4, o.Seed) }},
		{Deviation{
			ID:    "timeout-not-for-reading",
			Title: "A timeout does not end the wait for the rest of a request",
		}, lenient(patientBodies)},
		{Deviation{
			ID:    "keepalive-zero-crashes",
			Title: "A keepalive interval of zero or below ends the daemon",
			Rules: []string{"process.keepalive.zero", "http.message.complete"},
		}, func(s *seams, _ *Options) { s.front = around(s.front, s.crashOnKeepalive) }},
	}
}

// envdAnswers are the form of the daemon's answers.
func envdAnswers() []deviationDecorator {
	return []deviationDecorator{
		{Deviation{
			ID:    "token-error-number",
			Title: "A missing token is HTTP 401 with the number 401 for a code, on streams and for every protocol too",
			Rules: []string{"connect.error.code"},
		}, func(s *seams, o *Options) { s.front = around(s.front, numberedTokenError(o.Token)) }},
		{Deviation{
			ID:    "answers-as-asked",
			Title: "A compressed request is answered compressed, and gzip is chosen wherever it is listed",
			Rules: []string{"connect.compression.unary-accepted", "connect.compression.accepted-response", "connect.compression.preference", "connect.compression.identity-acceptable"},
		}, lenient(encodesAsAsked)},
		{Deviation{
			ID:    "empty-encoding-header",
			Title: "The refusal of an encoding on a stream has an empty Connect-Content-Encoding",
			Rules: []string{"connect.compression.content-encoding"},
		}, lenient(emptyEncodingHeader)},
		{Deviation{
			ID:    "grpc-codes-of-connect",
			Title: "Malformed gRPC requests are invalid_argument",
		}, lenient(connectCodes)},
	}
}

// envdProcesses are how the daemon treats processes and their output.
func envdProcesses() []deviationDecorator {
	return []deviationDecorator{
		{Deviation{
			ID:    "output-in-pieces",
			Title: "Output is sent as it is read, not line by line",
		}, func(s *seams, _ *Options) { s.hubs.pieces = true }},
		{Deviation{
			ID:    "output-in-step",
			Title: "A subscriber that does not read stalls the others, and in the end the process",
			Rules: []string{"connect.stream.slow-reader"},
		}, func(s *seams, _ *Options) { s.hubs.lockStep = true }},
		{Deviation{
			ID:    "tag-lookup-stops",
			Title: "The search for a tag ends at the first process with another one",
			Rules: []string{"process.tag.selects"},
		}, func(s *seams, _ *Options) { s.processes.tagLookupStops = true }},
		{Deviation{
			ID:    "listed-until-drained",
			Title: "A process that has exited is listed until nobody holds its output any more",
		}, func(s *seams, _ *Options) { s.processes.liveUntilDrained = true }},
		{Deviation{
			ID:    "list-unordered",
			Title: "List is in no order",
		}, func(s *seams, _ *Options) { s.table = around(s.table, shuffled) }},
		{Deviation{
			ID:    "term-cuts-output",
			Title: "After SIGTERM nobody waits for output that children still hold, and 1 time in 5 the last chunk that the process itself writes, of at most 32 KiB, is lost",
			Rules: []string{"process.output.complete"},
		}, func(s *seams, o *Options) { loseAfterTerm(s, o.Seed) }},
		{Deviation{
			ID:    "terminal-begins-late",
			Title: "One terminal in 20 loses the first piece of its output",
			Rules: []string{"process.pty.output-complete"},
		}, func(s *seams, o *Options) { beginTerminalsLate(s, lateTerminals, o.Seed) }},
		{Deviation{
			ID:    "grpc-timeout-spares",
			Title: "The timeout of a gRPC call ends the call and leaves the process running",
			Rules: []string{"grpc.timeout.nothing-left"},
		}, func(s *seams, _ *Options) {
			s.spares = func(protocol string) bool { return protocol != connectName }
		}},
		{Deviation{
			ID:    "terminal-size-wraps",
			Title: "Of the width and height of a terminal the low 16 bits are taken",
		}, func(s *seams, _ *Options) { s.processes.sizesWrap = true }},
	}
}

// envdErrors are the codes that the daemon gives.
func envdErrors() []deviationDecorator {
	return []deviationDecorator{
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
		}, onDaemonErrors(streamInputUnknown)},
		{Deviation{
			ID:    "data-before-start-cuts",
			Title: "StreamInput with data before start cuts the connection without an answer",
			Rules: []string{"process.stream-input.start-first"},
		}, onDaemonErrors(dataBeforeStartCuts)},
	}
}
