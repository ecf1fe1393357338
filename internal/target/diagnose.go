package target

import (
	"bytes"
	"fmt"
	"strings"

	"assay/internal/bundle"
	"assay/internal/transport"
	"assay/internal/wire"
)

const (
	mendAlive = "Is it the gateway that listens there, and is it done starting?"
	mendPort  = "Is this the gateway's port?"
	mendPath  = "If the gateway is mounted below a path, add it to the URL (http://HOST:PORT/PREFIX) or give --endpoint process=/PREFIX."
)

// diagnose explains an answer that is none of a gateway.
func (t *Target) diagnose(x *transport.Exchange) *UnreachableError {
	s := x.Snapshot()
	if d := t.diagnoseTLS(x, s); d != nil {
		return d
	}
	switch s.Outcome {
	case bundle.OutcomeComplete:
		return t.diagnoseAnswer(x, s)
	case bundle.OutcomeGarbage:
		return t.diagnoseGarbage(x, s)
	case bundle.OutcomeNoAnswer:
		return t.unreachable(fmt.Sprintf("it accepts connections and does not answer (nothing within %s).", t.scaled(callTimeout)),
			"Is the gateway stuck, or is this the port of something else? --time-scale stretches every deadline.")
	case bundle.OutcomeStalled:
		return t.unreachable(fmt.Sprintf("it began to answer POST %s (%d) and did not end within %s%s.",
			s.Request.Path, s.Response.Status, t.scaled(callTimeout), firstViolation(s)), "--time-scale stretches every deadline.")
	case bundle.OutcomeReset:
		return t.unreachable("it accepts the connection and resets it ("+s.Detail+"; POST "+s.Request.Path+").", mendAlive)
	case bundle.OutcomeClosed:
		return t.unreachable("it accepts the connection and closes it ("+s.Detail+"; POST "+s.Request.Path+").", mendAlive)
	case bundle.OutcomeNoConnect, bundle.OutcomeAborted:
	}
	return t.unreachable(strings.TrimSuffix(s.Detail, ".")+".", "")
}

// firstViolation says in what way the answer was malformed, if it was.
func firstViolation(s bundle.Exchange) string {
	if len(s.Violations) == 0 {
		return ""
	}
	v := s.Violations[0]
	return fmt.Sprintf("; byte %d: %s", v.Off, v.Detail)
}

// diagnoseTLS recognises a TLS port that was spoken to in plain: an alert
// record, or the plain 400 that servers send for it.
func (t *Target) diagnoseTLS(x *transport.Exchange, s bundle.Exchange) *UnreachableError {
	begin := firstBytes(x)
	if t.Secure() {
		return nil
	}
	alert := bytes.HasPrefix(begin, []byte{0x15, 0x03})
	told := s.Response != nil && s.Response.Status == 400 && bytes.Contains(begin, []byte("HTTPS"))
	if !alert && !told {
		return nil
	}
	return t.unreachable("it speaks TLS on this port, and the URL is http.",
		"Write https"+strings.TrimPrefix(t.url.String(), schemeHTTP)+", with --cacert FILE or --insecure where its certificate is self-made.")
}

func (t *Target) diagnoseGarbage(x *transport.Exchange, s bundle.Exchange) *UnreachableError {
	begin := firstBytes(x)
	for _, v := range s.Violations {
		if v.Kind == string(wire.HTTPHeadOverLimit) {
			return t.unreachable(fmt.Sprintf("it answers with headers that do not end (%s).", v.Detail), mendPort)
		}
	}
	switch {
	case isHTTP2(begin):
		return t.unreachable("it speaks HTTP/2, and answers no RPC over it.", mendPort+" "+mendPath)
	case looksLikeHTML(begin):
		return t.unreachable("it answers with HTML that has no HTTP head.", mendPort)
	}
	return t.unreachable(fmt.Sprintf("what it answers is not HTTP; it begins %.48q.", begin), mendPort)
}

// diagnoseHTTP2 explains a server that speaks HTTP/2 and never comes to an answer.
func (t *Target) diagnoseHTTP2(s bundle.Exchange) *UnreachableError {
	why := s.Detail
	if len(s.Violations) > 0 {
		why = s.Violations[0].Detail
	}
	if s.Outcome == bundle.OutcomeNoAnswer || why == "" {
		why = fmt.Sprintf("nothing within %s", t.scaled(callTimeout))
	}
	return t.unreachable(fmt.Sprintf("it speaks HTTP/2 and answers no RPC over it (%s; POST %s).", strings.Trim(why, ".: "), s.Request.Path), mendAlive)
}

// isHTTP2 recognises a SETTINGS frame on stream 0 (RFC 9113, section 6.5).
func isHTTP2(p []byte) bool {
	return len(p) >= 9 && p[0] == 0 && p[3] == 0x04 && bytes.Equal(p[5:9], []byte{0, 0, 0, 0})
}

func looksLikeHTML(p []byte) bool {
	p = bytes.ToLower(bytes.TrimSpace(p))
	return bytes.HasPrefix(p, []byte("<!doctype html")) || bytes.HasPrefix(p, []byte("<html"))
}

// diagnoseAnswer explains a complete HTTP answer that is none of the protocol.
func (t *Target) diagnoseAnswer(x *transport.Exchange, s bundle.Exchange) *UnreachableError {
	status, kind := s.Response.Status, contentType(s)
	path := s.Request.Path
	switch {
	case isAuth(s):
		return t.diagnoseAuth(s)
	case kind == "text/html" || looksLikeHTML(x.BodyBytes()):
		return t.unreachable(fmt.Sprintf("POST %s is answered %d with HTML: this is a web page or a proxy's error, not RPC.", path, status),
			mendPort+" "+mendPath)
	case status == 404 || status == 405:
		return t.unreachable(fmt.Sprintf("POST %s is answered %d: the process service is not there.", path, status), mendPath)
	case status >= 300 && status < 400:
		return t.unreachable(fmt.Sprintf("POST %s is redirected (%d to %q); RPCs are not followed elsewhere.",
			path, status, strings.Join(s.Response.Get("Location"), ", ")), "Give the final URL.")
	case status >= 502 && status <= 504:
		return t.unreachable(fmt.Sprintf("POST %s is answered %d: a proxy answers, the gateway behind it does not.", path, status), mendAlive)
	}
	if kind == "" {
		kind = "no content type"
	}
	return t.unreachable(fmt.Sprintf("POST %s is answered %d with %s, which is none of Connect, gRPC and gRPC-Web; the body begins %.80q.",
		path, status, kind, x.BodyBytes()), mendPort+" "+mendPath)
}

// diagnoseMissing explains a server that speaks the protocol, and in whose words
// neither List nor Start is there.
func (t *Target) diagnoseMissing(start bundle.Exchange) *UnreachableError {
	return t.unreachable(fmt.Sprintf("POST %s is answered as a method that is not there (%s): the process service is not below this URL.",
		start.Request.Path, describe(start)), mendPath)
}

func (t *Target) diagnoseAuth(s bundle.Exchange) *UnreachableError {
	status := s.Response.Status
	if t.options.Token == "" {
		return t.unreachable(fmt.Sprintf("it asks for credentials (POST %s is answered %d).", s.Request.Path, status),
			"Give the access token with --token-file FILE, or other credentials with --header-file FILE.")
	}
	return t.unreachable(fmt.Sprintf("it refuses the credentials (POST %s is answered %d).", s.Request.Path, status),
		"Check the token in the --token-file, and --user when it is given.")
}

// firstBytes is the beginning of what came on the exchange's connection.
func firstBytes(x *transport.Exchange) []byte {
	if x.Conn() == nil {
		return nil
	}
	return x.Conn().FirstBytes(512)
}
