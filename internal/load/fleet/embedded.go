package fleet

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// maxPayload bounds a message of the embedded bus: a window of many classes fits.
const maxPayload = 8 << 20

// embedded is a NATS server in this process.
type embedded struct {
	server *server.Server
	dir    string
	bus    Bus
}

// errNotUp is the error of a server that does not accept connections.
var errNotUp = errors.New("the embedded bus did not start within 10s")

// embed starts a NATS server on a free port of the loopback address, for whoever has its random token.
func embed() (*embedded, error) {
	dir, err := os.MkdirTemp("", "assay-bus-")
	if err != nil {
		return nil, fmt.Errorf("the folder of the embedded bus: %w", err)
	}
	token := "bus-" + rand.Text() // a text that begins with SU would be taken for the seed of an nkey
	s, err := server.NewServer(&server.Options{
		ServerName: "assay", Host: "127.0.0.1", Port: server.RANDOM_PORT, Authorization: token, NoLog: true, NoSigs: true, NoSystemAccount: true,
		JetStream: true, StoreDir: dir, MaxPayload: maxPayload, DisableJetStreamBanner: true, MaxPending: 256 << 20,
		WriteDeadline: time.Minute, PingInterval: time.Minute,
	})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("the embedded bus: %w", err)
	}
	e := &embedded{server: s, dir: dir}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		e.close()
		return nil, errNotUp
	}
	e.bus = Bus{URL: s.ClientURL(), Credentials: token}
	return e, nil
}

// close ends the server and removes its files.
func (e *embedded) close() {
	e.server.Shutdown()
	e.server.WaitForShutdown()
	_ = os.RemoveAll(e.dir)
}
