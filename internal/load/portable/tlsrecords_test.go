package portable_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"strings"

	"assay/internal/load/loadtest"
)

// The types of TLS records.
const (
	alertRecord     = 21
	handshakeRecord = 22
)

// records returns a script that begins a response over TLS 1.2 and then sends records that
// crypto/tls does not send: it encrypts them with the keys of the connection.
func records(kind byte, contents ...string) func(net.Conn) {
	return func(c net.Conn) {
		heard := &hearing{Conn: c}
		var secrets bytes.Buffer
		config := loadtest.ServerTLS()
		config.MaxVersion, config.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}
		config.SessionTicketsDisabled, config.KeyLogWriter = true, &secrets
		secured(config, func(s *tls.Conn) {
			_, _ = io.WriteString(s, begun) // one record
			w := newRecords(secrets.String(), heard.random())
			for _, p := range contents {
				_, _ = c.Write(w.next(kind, []byte(p)))
			}
			loadtest.Hold(c)
		})(heard)
	}
}

// hearing is a connection that keeps the first record that it sends, the ServerHello.
type hearing struct {
	net.Conn

	first []byte
}

func (c *hearing) Write(p []byte) (int, error) {
	if c.first == nil {
		c.first = bytes.Clone(p)
	}
	return c.Conn.Write(p)
}

// random returns the server's random value: after the headers of record and message, and the
// version.
func (c *hearing) random() []byte { return c.first[5+4+2:][:32] }

// recordWriter encrypts the records of a server with AES-128-GCM (RFC 5288).
type recordWriter struct {
	aead cipher.AEAD
	salt []byte
	seq  uint64
}

// newRecords derives the keys (RFC 5246, section 6.3) from a line of the key log. Finished and
// one record with contents have been sent.
func newRecords(keyLog string, serverRandom []byte) *recordWriter {
	fields := strings.Fields(keyLog) // CLIENT_RANDOM random secret
	clientRandom, _ := hex.DecodeString(fields[1])
	master, _ := hex.DecodeString(fields[2])
	seed := append(append([]byte("key expansion"), serverRandom...), clientRandom...)
	sum := func(p ...[]byte) []byte {
		h := hmac.New(sha256.New, master)
		for _, b := range p {
			_, _ = h.Write(b)
		}
		return h.Sum(nil)
	}
	var block []byte
	for a := sum(seed); len(block) < 40; a = sum(a) {
		block = append(block, sum(a, seed)...)
	}
	key, _ := aes.NewCipher(block[16:32]) // after the client's key
	aead, _ := cipher.NewGCM(key)
	return &recordWriter{aead: aead, salt: block[36:40], seq: 2}
}

// next returns the next record.
func (w *recordWriter) next(kind byte, contents []byte) []byte {
	seq := binary.BigEndian.AppendUint64(nil, w.seq)
	w.seq++
	head := []byte{kind, 3, 3}
	about := binary.BigEndian.AppendUint16(append(bytes.Clone(seq), head...), uint16(len(contents)))
	sealed := w.aead.Seal(bytes.Clone(seq), append(bytes.Clone(w.salt), seq...), contents, about)
	return append(binary.BigEndian.AppendUint16(head, uint16(len(sealed))), sealed...)
}
