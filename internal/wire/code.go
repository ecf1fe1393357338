package wire

// Code is one of the 16 error codes that Connect shares with gRPC.
type Code struct {
	Name   string // as Connect writes it: "canceled"
	Status int    // the HTTP status of a unary Connect error (Connect specification, "Error codes")
}

// codes is the only list of the codes, in the order of their gRPC numbers, from 1. It is never modified.
var codes = [...]Code{
	{"canceled", 499},
	{"unknown", 500},
	{"invalid_argument", 400},
	{"deadline_exceeded", 504},
	{"not_found", 404},
	{"already_exists", 409},
	{"permission_denied", 403},
	{"resource_exhausted", 429},
	{"failed_precondition", 400},
	{"aborted", 409},
	{"out_of_range", 400},
	{"unimplemented", 501},
	{"internal", 500},
	{"unavailable", 503},
	{"data_loss", 500},
	{"unauthenticated", 401},
}

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
