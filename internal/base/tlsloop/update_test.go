//go:build unix

package tlsloop

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// updater seals the KeyUpdate messages of a peer (RFC 8446, section 4.6.3), which crypto/tls
// cannot send. It knows TLS_AES_128_GCM_SHA256.
type updater struct{ secret []byte }

// newUpdater takes the secret with a label from a key log.
func newUpdater(tb testing.TB, log, label string) *updater {
	tb.Helper()
	for in := bufio.NewScanner(strings.NewReader(log)); in.Scan(); {
		if words := strings.Fields(in.Text()); words[0] == label {
			secret, err := hex.DecodeString(words[2])
			if err != nil || len(secret) != sha256.Size {
				tb.Skipf("the connection does not use SHA-256: %v", err)
			}
			return &updater{secret}
		}
	}
	tb.Fatalf("there is no %s in %q", label, log)
	return nil
}

// expand is HKDF-Expand-Label with an empty context (section 7.1).
func (u *updater) expand(tb testing.TB, label string, size int) []byte {
	tb.Helper()
	info := binary.BigEndian.AppendUint16(nil, uint16(size))
	info = append(append(info, byte(6+len(label))), "tls13 "+label+"\x00"...)
	out, err := hkdf.Expand(sha256.New, u.secret, string(info), size)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// next returns the two records with the next key: contents, because crypto/tls ends a connection
// with 16 records in a row that have none, and a KeyUpdate that asks for an answer.
func (u *updater) next(tb testing.TB) (records []byte) {
	tb.Helper()
	block, err := aes.NewCipher(u.expand(tb, "key", 16))
	if err != nil {
		tb.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		tb.Fatal(err)
	}
	nonce := u.expand(tb, "iv", gcm.NonceSize())
	for number, message := range [][]byte{{'x', 23}, {24, 0, 0, 1, 1, 22}} { // with their types
		nonce[len(nonce)-1] ^= byte(number)
		head := []byte{23, 3, 3, 0, byte(len(message) + gcm.Overhead())}
		records = append(records, gcm.Seal(head, nonce, message, head)...)
	}
	u.secret = u.expand(tb, "traffic upd", sha256.Size)
	return records
}

// A peer that asks for answers and reads none does not fill the memory.
func TestAPeerThatReadsNoAnswersIsGivenUp(t *testing.T) {
	var log bytes.Buffer
	p := newPair(t, true, func(_, server *tls.Config) {
		server.KeyLogWriter, server.SessionTicketsDisabled = &log, true // the first record is the first of its key
	})
	p.loop.send = func(int32, []byte) (int, error) { return 0, nil } // the peer does not read
	u := newUpdater(t, log.String(), "SERVER_TRAFFIC_SECRET_0")
	for n := range 4 * mostOwed {
		_, err := p.loop.Open(nil, u.next(t))
		switch {
		case errors.Is(err, errUnread) && n > 100:
			return
		case err != nil:
			t.Fatalf("after %d: %v", n, err)
		}
	}
	t.Errorf("%d bytes wait", len(p.loop.out))
}
