package fakes

import "connectrpc.com/connect"

// lax is where the strict layer takes what the protocol forbids, or refuses
// what it allows, as other gateways do. The zero value is strict.
type lax struct {
	// plainTypesOnly answers 415 to a content type with any parameter but
	// charset=utf-8.
	plainTypesOnly bool
	// exactEncodings compares names of encodings with their case.
	exactEncodings bool
	// answersAsAsked compresses the answer to a compressed request whatever
	// the client accepts, and that to another when gzip is listed anywhere.
	answersAsAsked bool
	// neverCompresses answers in identity.
	neverCompresses bool
	// emptyEncodingHeader sends an empty Connect-Content-Encoding beside the
	// refusal of an encoding.
	emptyEncodingHeader bool
	// endStreamInRequest takes an end-of-stream envelope for the end of a
	// request.
	endStreamInRequest bool
	// emptyJSON takes an empty JSON message in an envelope for the empty message.
	emptyJSON bool
	// signedTimeouts takes a plus sign, and starts what has a timeout of zero or
	// below, without a limit, while it answers deadline_exceeded.
	signedTimeouts bool
	// patientBodies waits for the end of a request for ever, whatever the
	// timeout.
	patientBodies bool
	// grpcOverHTTP1 serves gRPC over HTTP/1.1.
	grpcOverHTTP1 bool
	// connectCodes has invalid_argument for malformed gRPC requests.
	connectCodes bool
	// flagsInternal has internal for reserved bits.
	flagsInternal bool
	// unlimited takes messages of any length.
	unlimited bool
	// cutIsCanceled has canceled for a request that is not sent to its end.
	cutIsCanceled bool
	// plainNotFound answers 404 to an unknown gRPC method.
	plainNotFound bool
	// bareUnknownVerbs leaves Allow out of the 405 for a verb that HTTP does not
	// know.
	bareUnknownVerbs bool
	// jsonNotFound answers an unknown path or method with 404 in JSON, which says
	// not_found, and not in text.
	jsonNotFound bool
	// verbsNotFound answers another verb than a procedure has like an unknown path.
	verbsNotFound bool
	// headLikeGet serves HEAD where GET is served.
	headLikeGet bool
	// zeroTimeoutCode is the code for a Connect timeout of zero; 0: that of every
	// bad timeout.
	zeroTimeoutCode connect.Code
}
