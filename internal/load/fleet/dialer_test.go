package fleet

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// certificate returns a certificate of 127.0.0.1, and itself in PEM as the authority to trust.
func certificate(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	return s.TLS.Certificates[0], pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// impostor is a server that begins as a bus does, and answers the first SUB with something else.
func impostor(t *testing.T, secure *tls.Config, answer string) string {
	t.Helper()
	return serve(t, func(c net.Conn) {
		info := `INFO {"max_payload":1048576,"headers":true}` + "\r\n"
		if secure != nil {
			info = `INFO {"max_payload":1048576,"headers":true,"tls_required":true}` + "\r\n"
		}
		_, _ = c.Write([]byte(info))
		if secure != nil {
			c = tls.Server(c, secure)
		}
		for lines := bufio.NewScanner(c); lines.Scan(); {
			switch line := lines.Text(); {
			case line == "PING":
				_, _ = c.Write([]byte("PONG\r\n"))
			case strings.HasPrefix(line, "SUB"):
				_, _ = c.Write([]byte(answer))
			}
		}
	})
}

// serve serves connections on the loopback address, and returns HOST:PORT.
func serve(t *testing.T, do func(c net.Conn)) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				do(c)
			}()
		}
	}()
	return l.Addr().String()
}

// A worker that meets a server that breaks the protocol ends with an error that says so, with and without TLS.
func TestABusThatBreaksTheProtocolEndsTheWork(t *testing.T) {
	t.Parallel()
	own, authority := certificate(t)
	for name, tt := range map[string]struct {
		secure *tls.Config
		answer string
		want   string
	}{
		"a huge message":          {nil, "MSG x 1 999999999999\r\nabc", "a message of more than 67108864 bytes"},
		"a huge message over TLS": {&tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}, "HMSG x 1 5 999999999999\r\nabc", "a message of more than 67108864 bytes"},
		"an endless line":         {nil, "INFO " + strings.Repeat("x", 2*longestLine), "a line of more than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bus := Bus{URL: "nats://" + impostor(t, tt.secure, tt.answer)}
			if tt.secure != nil {
				bus.CACert = authority
			}
			err := Work(t.Context(), WorkerOptions{Bus: bus, Run: "none", Wait: 30 * time.Second, Shard: -1, Version: testVersion})
			var broken *BusError
			if !errors.As(err, &broken) || !strings.Contains(err.Error(), "does not keep to the protocol of NATS: it sends "+tt.want) {
				t.Errorf("%v, want a BusError with %q", err, tt.want)
			}
		})
	}
}

// A server that sends an endless line instead of INFO is refused, and is asked once.
func TestABusWithoutAnEndOfItsFirstLineIsRefused(t *testing.T) {
	t.Parallel()
	var dialed, sent atomic.Int64
	bus := Bus{URL: "nats://" + serve(t, func(c net.Conn) {
		dialed.Add(1)
		for piece := []byte(strings.Repeat("x", 1<<20)); ; {
			n, err := c.Write(piece)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})}
	_, err := bus.connect(t.Context(), "test", 30*time.Second)
	if known := (*BusError)(nil); !errors.As(err, &known) || !strings.Contains(err.Error(), "its first line is longer than 65536 bytes") {
		t.Errorf("%v", err)
	}
	if dialed.Load() != 1 || sent.Load() > 64<<20 {
		t.Errorf("%d connections, %d bytes", dialed.Load(), sent.Load())
	}
}

// TLS begins where the bus or the server wants it, and messages go through it.
func TestABusHasTLS(t *testing.T) {
	t.Parallel()
	own, authority := certificate(t)
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
		TLS: true, TLSTimeout: 10, TLSConfig: &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal(errNotUp)
	}
	for name, tt := range map[string]struct {
		scheme    string
		authority []byte
		want      string
	}{
		"wanted by the URL":                      {"tls", authority, ""},
		"wanted by the server":                   {"nats", authority, ""},
		"by an unknown authority":                {"tls", nil, "certificate signed by unknown authority"},
		"wanted by the server, of an unknown CA": {"nats", nil, "certificate signed by unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bus := Bus{URL: tt.scheme + "://" + srv.Addr().String(), CACert: tt.authority}
			l, err := bus.connect(t.Context(), "test", 10*time.Second)
			if tt.want != "" {
				var unknown x509.UnknownAuthorityError
				if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.As(err, &unknown) {
					t.Errorf("%v, want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			roundTrip(t.Context(), t, l, strings.Repeat("x", 100_000))
		})
	}
}

// roundTrip sends a message to itself.
func roundTrip(ctx context.Context, t testing.TB, l *link, text string) {
	t.Helper()
	sub, err := l.SubscribeSync("echo")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := l.Publish("echo", []byte(text)); err != nil {
		t.Fatal(err)
	}
	m, err := sub.NextMsgWithContext(ctx)
	if err != nil || string(m.Data) != text {
		t.Fatalf("%d bytes, %v", len(m.Data), err)
	}
}

// BenchmarkBus sends messages of the size of a window through the embedded bus.
func BenchmarkBus(b *testing.B) {
	e, err := embed()
	if err != nil {
		b.Fatal(err)
	}
	defer e.close()
	l, err := e.bus.connect(b.Context(), "test", time.Second)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	text := strings.Repeat("x", 20_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		roundTrip(b.Context(), b, l, text)
	}
}
