package fleet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

// Bus is where the NATS server of a run is, and what it takes to use it.
type Bus struct {
	// URL is nats://HOST:PORT or tls://HOST:PORT, without a secret in it.
	URL string
	// Credentials is the content of a file: a credentials file of NATS (a JWT and a seed), the seed of an nkey, USER:PASSWORD,
	// or a token. It is a secret. Empty is none, which only a loopback address accepts.
	Credentials string
	// CACert holds the PEM certificates of the authorities to trust, instead of the system's.
	CACert []byte
}

// BusError says that there is no usable bus, or not all workers: a missing precondition (exit code 3).
type BusError struct {
	// What says what is missing, Mend what to do.
	What, Mend string
	// Err is the cause; nil if there is none to tell.
	Err error
}

// Error returns what is missing and, on a second line, what to do.
func (e *BusError) Error() string {
	text := e.What
	if e.Mend != "" {
		text += "\n  " + e.Mend
	}
	return text
}

func (e *BusError) Unwrap() error { return e.Err }

// Validate checks a bus without the network. Over a network it must have TLS and credentials: only a loopback address may be
// plain.
func (b *Bus) Validate() error {
	u, err := url.Parse(b.URL)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "nats" && u.Scheme != "tls":
		return fmt.Errorf("bus %q: want nats://HOST:PORT or tls://HOST:PORT", printed(b.URL))
	case u.User != nil:
		return errors.New("the URL of the bus has credentials in it: put them into a file, and name it with --bus-creds")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("bus %q: want nothing behind HOST:PORT", b.URL)
	case !loopback(u.Hostname()) && b.Credentials == "":
		return fmt.Errorf("bus %s is on another machine: it needs credentials, name their file with --bus-creds", b.URL)
	}
	if len(b.CACert) > 0 && !x509.NewCertPool().AppendCertsFromPEM(b.CACert) {
		return errors.New("--bus-cacert: the file has no certificate in PEM")
	}
	_, err = b.login()
	return err
}

// printed returns a URL without what stands before an @, which may be a secret.
func printed(text string) string {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		return "…" + text[at:]
	}
	return text
}

// loopback reports whether a host is this machine itself.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Secrets returns what must appear in no message.
func (b *Bus) Secrets() []string {
	if b.Credentials == "" {
		return nil
	}
	all := []string{b.Credentials}
	if _, password, ok := strings.Cut(b.Credentials, ":"); ok && !b.decorated() {
		all = append(all, password)
	}
	return all
}

func (b *Bus) decorated() bool { return strings.Contains(b.Credentials, "-----BEGIN") }

// login returns the option that presents the credentials.
func (b *Bus) login() (nats.Option, error) {
	text := strings.TrimSpace(b.Credentials)
	user, password, pair := strings.Cut(text, ":")
	switch {
	case text == "":
		return func(*nats.Options) error { return nil }, nil
	case b.decorated():
		if _, err := nkeys.ParseDecoratedUserNKey([]byte(text)); err != nil || !strings.Contains(text, "BEGIN NATS USER JWT") {
			return nil, errors.New("--bus-creds: the file has no JWT of a user: nsc generate creds writes one")
		}
		return nats.UserCredentialBytes([]byte(text)), nil
	case strings.HasPrefix(text, "SU") && !pair:
		pairOfKeys, err := nkeys.FromSeed([]byte(text))
		if err != nil {
			return nil, errors.New("--bus-creds: the seed of the nkey is not valid")
		}
		public, err := pairOfKeys.PublicKey()
		if err != nil {
			return nil, errors.New("--bus-creds: the seed of the nkey is not valid")
		}
		return nats.Nkey(public, pairOfKeys.Sign), nil
	case pair:
		return nats.UserInfo(user, password), nil
	}
	return nats.Token(text), nil
}

// tls returns the configuration of TLS, nil for none.
func (b *Bus) tls() *tls.Config {
	u, err := url.Parse(b.URL)
	if err != nil || loopback(u.Hostname()) && u.Scheme != "tls" && len(b.CACert) == 0 {
		return nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname()}
	if len(b.CACert) > 0 {
		c.RootCAs = x509.NewCertPool()
		c.RootCAs.AppendCertsFromPEM(b.CACert)
	}
	return c
}

const (
	// dialWithin bounds one attempt to connect, and redialEvery is the pause before the next one.
	dialWithin  = 5 * time.Second
	redialEvery = 200 * time.Millisecond
	// pingEvery finds a bus that stands still: after two pings without an answer, the connection is given up.
	pingEvery = 5 * time.Second
)

// connect connects to the bus; while nobody listens there, it tries again for so long. After that, the connection heals
// itself whenever the bus comes back.
func (b *Bus) connect(ctx context.Context, name string, patience time.Duration) (*link, error) {
	login, err := b.login()
	if err != nil {
		return nil, err
	}
	l := &link{bus: b, limit: forsakenAfter}
	options := []nats.Option{
		login, nats.Name(name), nats.Timeout(dialWithin), nats.MaxReconnects(-1), nats.ReconnectWait(redialEvery), nats.ReconnectBufSize(-1),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(2), nats.IgnoreDiscoveredServers(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // every call returns its own error
		nats.DisconnectErrHandler(l.lost), nats.ReconnectHandler(l.back),
		nats.IgnoreAuthErrorAbort(), // credentials that are refused for a while, as when a bus gets new ones, end nothing
		nats.SetCustomDialer(&dialer{link: l, tls: b.tls()}),
	}
	if c := b.tls(); c != nil {
		options = append(options, nats.Secure(c)) // what the dialer does; nats.go refuses a server without TLS
	}
	for end := time.Now().Add(patience); ; {
		if l.Conn, err = nats.Connect(b.URL, options...); err == nil {
			l.js, err = jetstream.New(l.Conn)
			return l, err
		}
		failure := b.explain(err)
		if failure.final || time.Now().After(end) {
			return nil, failure.error
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(redialEvery):
		}
	}
}

// refusal is an error of a connection; a final one is the same the next time.
type refusal struct {
	error error
	final bool
}

// explain says why a bus cannot be used.
func (b *Bus) explain(err error) refusal {
	if known := (*BusError)(nil); errors.As(err, &known) {
		return refusal{known, true}
	}
	var unknown x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	e := &BusError{What: fmt.Sprintf("the bus at %s cannot be used: %v", b.URL, err), Err: err}
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrPermissionViolation):
		e.What, e.Mend = fmt.Sprintf("the bus at %s refuses the credentials", b.URL), "name the file of others with --bus-creds"
		if b.Credentials == "" {
			e.What, e.Mend = fmt.Sprintf("the bus at %s demands credentials", b.URL), "name their file with --bus-creds"
		}
	case errors.Is(err, nats.ErrSecureConnRequired):
		e.What, e.Mend = fmt.Sprintf("the bus at %s demands TLS", b.URL), "use tls:// and, for a CA of its own, --bus-cacert"
	case errors.Is(err, nats.ErrSecureConnWanted), errors.As(err, &record):
		e.What, e.Mend = fmt.Sprintf("the bus at %s has no TLS", b.URL), "give nats-server a certificate; only a loopback address may be plain (nats://127.0.0.1:4222)"
	case errors.As(err, &unknown):
		e.Mend = "name the file with its certificate authority with --bus-cacert"
	case errors.Is(err, nats.ErrNoServers):
		e.What, e.Mend = fmt.Sprintf("nobody answers at the bus %s", b.URL), "start nats-server --jetstream there, or check the address"
		return refusal{e, false}
	default:
		return refusal{e, false}
	}
	return refusal{e, true}
}

// stored explains an error of JetStream. One that is explained already, and the end of a context, stay as they are.
func (b *Bus) stored(doing string, err error) error {
	if known := (*BusError)(nil); errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	e := &BusError{What: fmt.Sprintf("the bus at %s: %s: %v", b.URL, doing, err), Err: err}
	var api *jetstream.APIError
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		e.What, e.Mend = fmt.Sprintf("the bus at %s has no JetStream", b.URL), "start nats-server with --jetstream, and allow it for this account"
	case errors.As(err, &api) && isFull(err):
		e.What, e.Mend = fmt.Sprintf("the bus at %s is full: %s", b.URL, api.Description), "give JetStream more room, or delete the streams of old runs (nats stream ls)"
	}
	return e
}

// full are the codes of the limits of an account, a server and a stream.
var full = []jetstream.ErrorCode{10002, 10023, 10026, 10028, 10047, 10077}

// isFull reports whether JetStream has no room for a message, a stream or a bucket.
func isFull(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (slices.Contains(full, api.ErrorCode) || strings.Contains(api.Description, "maximum") || strings.Contains(api.Description, "resource"))
}
