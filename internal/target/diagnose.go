package target

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/internal/wire"
)

const (
	mendAlive = "Is this the gateway, and has it finished starting?"
	mendPort  = "Is this the gateway's port?"
	mendPath  = "If the gateway has a path prefix, add it to the URL (http://HOST:PORT/PREFIX) or give --endpoint process=/PREFIX."
)

// diagnose explains a response that did not come from a gateway.
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
		return t.unreachable(fmt.Sprintf("it accepts connections but does not respond (nothing within %s).", t.Scaled(callTimeout)),
			"Is the gateway stuck, or is this another program's port? --time-scale extends every deadline.")
	case bundle.OutcomeStalled:
		return t.unreachable(fmt.Sprintf("its response to POST %s (%d) did not end within %s%s.",
			s.Request.Path, s.Response.Status, t.Scaled(callTimeout), firstViolation(s)), "--time-scale extends every deadline.")
	case bundle.OutcomeReset:
		return t.unreachable("it accepts the connection and resets it ("+s.Detail+"; POST "+s.Request.Path+").", mendAlive)
	case bundle.OutcomeClosed:
		return t.unreachable("it accepts the connection and closes it ("+s.Detail+"; POST "+s.Request.Path+").", mendAlive)
	case bundle.OutcomeNoConnect, bundle.OutcomeAborted:
	}
	return t.unreachable(strings.TrimSuffix(s.Detail, ".")+".", "")
}

// firstViolation describes the first malformation of a response, if any.
func firstViolation(s bundle.Exchange) string {
	if len(s.Violations) == 0 {
		return ""
	}
	v := s.Violations[0]
	return fmt.Sprintf("; byte %d: %s", v.Off, v.Detail)
}

// diagnoseTLS recognises a plain request to a TLS port: an alert record, or the plain 400
// that servers send for it.
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
	return t.unreachable("this port speaks TLS, but the URL is http.",
		"Write https"+strings.TrimPrefix(t.url.String(), schemeHTTP)+", with --cacert FILE or --insecure for a self-signed certificate.")
}

func (t *Target) diagnoseGarbage(x *transport.Exchange, s bundle.Exchange) *UnreachableError {
	begin := firstBytes(x)
	for _, v := range s.Violations {
		if v.Kind == string(wire.HTTPHeadOverLimit) {
			return t.unreachable(fmt.Sprintf("its response headers do not end (%s).", v.Detail), mendPort)
		}
	}
	switch {
	case isHTTP2(begin):
		return t.unreachable("it speaks HTTP/2, but responds to no RPC.", mendPort+" "+mendPath)
	case looksLikeHTML(begin):
		return t.unreachable("it responds with HTML without an HTTP head.", mendPort)
	}
	return t.unreachable(fmt.Sprintf("its response is not HTTP; it begins %.48q.", begin), mendPort)
}

// diagnoseHTTP2 explains a server that speaks HTTP/2 but never responds.
func (t *Target) diagnoseHTTP2(s bundle.Exchange) *UnreachableError {
	why := s.Detail
	if len(s.Violations) > 0 {
		why = s.Violations[0].Detail
	}
	if s.Outcome == bundle.OutcomeNoAnswer || why == "" {
		why = fmt.Sprintf("nothing within %s", t.Scaled(callTimeout))
	}
	return t.unreachable(fmt.Sprintf("it speaks HTTP/2, but responds to no RPC (%s; POST %s).", strings.Trim(why, ".: "), s.Request.Path), mendAlive)
}

// isHTTP2 recognises a SETTINGS frame on stream 0 (RFC 9113, section 6.5).
func isHTTP2(p []byte) bool {
	return len(p) >= 9 && p[0] == 0 && p[3] == 0x04 && bytes.Equal(p[5:9], []byte{0, 0, 0, 0})
}

func looksLikeHTML(p []byte) bool {
	p = bytes.ToLower(bytes.TrimSpace(p))
	return bytes.HasPrefix(p, []byte("<!doctype html")) || bytes.HasPrefix(p, []byte("<html"))
}

// diagnoseAnswer explains a complete HTTP response outside the protocol.
func (t *Target) diagnoseAnswer(x *transport.Exchange, s bundle.Exchange) *UnreachableError {
	status, kind := s.Response.Status, contentType(s)
	path := s.Request.Path
	switch {
	case isAuth(s):
		return t.diagnoseAuth(x, s)
	case kind == "text/html" || looksLikeHTML(x.BodyBytes()):
		return t.unreachable(fmt.Sprintf("%s %s returns %d with HTML: this is a web page or a proxy error, not RPC.%s", s.Request.Method, path, status, t.words(x, s)),
			mendPort+" "+mendPath)
	case status == 404 || status == 405:
		return t.unreachable(fmt.Sprintf("POST %s returns %d: there is no process service.", path, status), mendPath)
	case status >= 300 && status < 400:
		return t.unreachable(fmt.Sprintf("POST %s is redirected (%d to %q); Assay does not follow redirects.",
			path, status, strings.Join(s.Response.Get("Location"), ", ")), "Give the final URL.")
	case status >= 502 && status <= 504:
		return t.unreachable(fmt.Sprintf("%s %s returns %d: a proxy responds, but not the gateway behind it.%s", s.Request.Method, path, status, t.words(x, s)),
			mendAlive+" A proxy may choose the sandbox by a header: give it with --header 'NAME: VALUE'.")
	}
	if kind == "" {
		kind = "no content type"
	}
	return t.unreachable(fmt.Sprintf("POST %s returns %d with %s, which is not Connect, gRPC or gRPC-Web; the body begins %.80q.",
		path, status, kind, t.redactor.Bytes(x.BodyBytes())), mendPort+" "+mendPath)
}

// diagnoseMissing explains a server that speaks the protocol but has neither List nor
// Start.
func (t *Target) diagnoseMissing(start bundle.Exchange) *UnreachableError {
	return t.unreachable(fmt.Sprintf("POST %s returns the error of a missing method (%s): the process service is not below this URL.",
		start.Request.Path, describe(start)), mendPath)
}

// diagnoseAuth explains a rejection: by what was sent, without values, and by what the server asks for.
func (t *Target) diagnoseAuth(x *transport.Exchange, s bundle.Exchange) *UnreachableError {
	said := strconv.Itoa(s.Response.Status)
	if s.Response.Status == 200 && s.Error != nil {
		said += ", error " + s.Error.Code
	}
	reason, asks := "it requires credentials (POST %s returns %s).", ""
	mend := "Give the access token with --token-file FILE, other credentials with --header-file FILE, and a header that is no secret with --header 'NAME: VALUE'."
	if t.options.Token != "" {
		reason = "it rejects the credentials (POST %s returns %s)."
		mend = "Check the token in --token-file, and --user. " + t.otherScheme()
	}
	if sent := t.credentials(); len(sent) > 0 {
		asks = " Sent: " + strings.Join(sent, ", ") + "."
	}
	if challenge := t.shortened(strings.Join(s.Response.Get("WWW-Authenticate"), ", ")); challenge != "" {
		asks += fmt.Sprintf(" Its WWW-Authenticate: %q.", challenge)
	}
	return t.unreachable(fmt.Sprintf(reason, s.Request.Path, said)+t.words(x, s)+asks, mend)
}

// otherScheme suggests the header in which the token was not sent.
func (t *Target) otherScheme() string {
	if t.bears() {
		return "The token was sent as Authorization: Bearer; if the gateway reads X-Access-Token, use --token-scheme " + schemeAccessToken + "."
	}
	return "The token was sent as X-Access-Token; if the gateway reads Authorization: Bearer, use --token-scheme " + schemeBearer + "."
}

// credentials lists the names of the sent headers that can be credentials, sorted.
func (t *Target) credentials() []string {
	var names []string
	for _, h := range t.Headers("", "") {
		if name := strings.ToLower(h.Name); suggestsSecret(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// firstBytes returns the first bytes received on the exchange's connection.
func firstBytes(x *transport.Exchange) []byte {
	if x.Conn() == nil {
		return nil
	}
	return x.Conn().FirstBytes(512)
}
