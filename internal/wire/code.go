package wire

import "slices"

// Code is one of the 16 error codes that Connect shares with gRPC.
type Code struct {
	Name   string // as Connect writes it: "canceled"
	Number int    // as gRPC writes it: 1
	Status int    // the HTTP status of a unary Connect error (Connect specification, "Error codes")
}

// codes is the only list of the codes. It is never modified.
var codes = [...]Code{
	{"canceled", 1, 499},
	{"unknown", 2, 500},
	{"invalid_argument", 3, 400},
	{"deadline_exceeded", 4, 504},
	{"not_found", 5, 404},
	{"already_exists", 6, 409},
	{"permission_denied", 7, 403},
	{"resource_exhausted", 8, 429},
	{"failed_precondition", 9, 400},
	{"aborted", 10, 409},
	{"out_of_range", 11, 400},
	{"unimplemented", 12, 501},
	{"internal", 13, 500},
	{"unavailable", 14, 503},
	{"data_loss", 15, 500},
	{"unauthenticated", 16, 401},
}

// Codes returns a copy of the table of the 16 codes, by number.
func Codes() []Code { return slices.Clone(codes[:]) }

// CodeByName finds a code by its Connect name, which is case-sensitive; ok is
// false for any other name.
func CodeByName(name string) (c Code, ok bool) {
	for _, c := range codes {
		if c.Name == name {
			return c, true
		}
	}
	return Code{}, false
}

// CodeFromStatus returns the name of the code that a client infers from the HTTP status
// of a response that is not a Connect error (Connect specification, "HTTP to error
// code"). It is not the inverse of Code.Status: it interprets the responses of proxies and
// load balancers, so 404 is unimplemented and 429 is unavailable.
func CodeFromStatus(status int) string {
	switch status {
	case 400:
		return "internal"
	case 401:
		return "unauthenticated"
	case 403:
		return "permission_denied"
	case 404:
		return "unimplemented"
	case 429, 502, 503, 504:
		return "unavailable"
	}
	return "unknown"
}
