package transport

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"

	"assay/internal/base/secret"
	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// A stream has the same record however it is split, below and above the limit.
func TestStoreKeepsEdgesAndDigestForAnySplit(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 4 << 10, 16 << 10, 30_000, 30_001, 34_000, 90_000} {
		all := bytes.Repeat([]byte("0123456789abcde\n"), n/16+1)[:n]
		for _, step := range []int{1, 7, 4096, 65_536} {
			s := newStore(30_000, redactor{}, nil)
			for p := all; len(p) > 0; {
				k := min(step, len(p))
				s.add(p[:k], bundle.Stamp{})
				p = p[k:]
			}
			got, want := s.blob(redactor{}, nil), bundle.NewBlob(all, nil)
			if got.Len != want.Len || got.SHA256 != want.SHA256 || !bytes.Equal(got.Data, want.Data) ||
				!bytes.Equal(got.Head, want.Head) || !bytes.Equal(got.Tail, want.Tail) {
				t.Errorf("%d bytes in steps of %d: %d bytes, digest %.8s; want digest %.8s", n, step, got.Len, got.SHA256, want.SHA256)
			}
			if len(s.chunks) > maxChunks || covered(s.chunks) != int64(n) {
				t.Errorf("%d bytes in steps of %d: %d chunks cover %d", n, step, len(s.chunks), covered(s.chunks))
			}
		}
	}
}

func covered(chunks []bundle.Chunk) int64 {
	var n int64
	for _, c := range chunks {
		if c.Off != n {
			return -1
		}
		n += int64(c.Len)
	}
	return n
}

func TestStoreOverTheLimitComparesWhatItKept(t *testing.T) {
	s := newStore(8, redactor{}, nil)
	s.add([]byte("abcdefghijkl"), bundle.Stamp{})
	if d := s.blob(redactor{}, []byte("abcdefghijkl")).Diff; d != nil {
		t.Errorf("equal bytes differ: %+v", d)
	}
	if d := s.blob(redactor{}, []byte("abXdefghijkl")).Diff; d == nil || d.Off != 2 {
		t.Errorf("difference = %+v, want it at 2", d)
	}
}

func TestHeadersAreRecordedWithoutSecretsInNamesAndValues(t *testing.T) {
	r := redactor{Redactor: secret.New([]string{"token", "ab"})}
	got := r.headers([]bundle.Header{{Name: "a", Value: "ab"}, {Name: "b", Value: "abc"}, {Name: "X-token", Value: "my token"}})
	want := []bundle.Header{{Name: "a", Value: "**"}, {Name: "b", Value: "abc"}, {Name: "X-*****", Value: "my *****"}}
	if !slices.Equal(got, want) {
		t.Errorf("headers = %+v, want %+v", got, want)
	}
}

func TestCompressedBytesWithASecretAreNotRecorded(t *testing.T) {
	packed := call.Compress([]byte(`{"message":"bad s3cr3t-token"}`))
	for name, split := range map[string]int{"in one piece": len(packed), "in two chunks": 9, "cut": -4} {
		t.Run(name, func(t *testing.T) {
			rec := NewRecorder(NewClock(), secret.New([]string{"s3cr3t-token"}))
			c := newConn(rec, "c", "")
			x := c.Begin(Call{Name: "p", RPC: call.ProcessList, Shape: bundle.ShapeUnary, Codec: "json", Method: "POST"})
			c.feed([]byte("HTTP/1.1 400 Bad\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"))
			whole := packed
			if split < 0 {
				whole, split = packed[:len(packed)+split], len(packed)+split
			}
			for _, piece := range [][]byte{whole[:split], whole[split:]} {
				if len(piece) > 0 {
					c.feed(fmt.Appendf(nil, "%x\r\n%s\r\n", len(piece), piece))
				}
			}
			if len(whole) == len(packed) {
				c.feed([]byte("0\r\n\r\n"))
			}
			x.GiveUp(bundle.OutcomeStalled, "")
			conn, _ := c.record()
			response, _ := x.record(nil)
			for _, got := range [][]byte{conn.Received.Data, response.Body.Data} {
				if bytes.Contains(got, packed[10:20]) || !bytes.Contains(got, []byte("********")) {
					t.Errorf("recorded %q", got)
				}
			}
		})
	}
}

// A peer decides how many compressed messages with a secret it sends, and how long they are.
func TestPiecesToOverwriteAreBounded(t *testing.T) {
	t.Parallel()
	const token = "s3cr3t-token-of-the-run"
	message := func(seed byte, n int) []byte {
		noise := make([]byte, n)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(noise)
		return call.Compress([]byte(hex.EncodeToString(noise) + token)) // with digits for noise, the token is not there verbatim
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nConnect-Content-Encoding: gzip\r\n\r\n"
	for name, tt := range map[string]struct {
		memory                  int64
		number, different, size int
		hidden                  int
		unread                  bool
	}{
		"the same again":      {1 << 20, 2 * maxHidden, 1, 100, 1, false},
		"as many as possible": {1 << 20, maxHidden, maxHidden, 100, maxHidden, false},
		"too many":            {1 << 20, maxHidden + 1, maxHidden + 1, 100, 0, false},
		"too much":            {128 << 10, 24, 24, 4 << 10, 0, true}, // 72 KiB for the decoder
	} {
		t.Run(name, func(t *testing.T) {
			rec := NewRecorder(NewClock(), secret.New([]string{token})).Within(NewMemory(tt.memory))
			c := newConn(rec, "c", "")
			c.nc, _ = net.Pipe()
			x := c.Begin(Call{Name: "p", RPC: call.ProcessStart, Shape: bundle.ShapeStream, Codec: "json", Method: "POST"})
			c.feed([]byte(head))
			for i := range tt.number {
				c.feed(wire.AppendEnvelope(nil, 1, message(byte(i%tt.different), tt.size)))
			}
			if len(c.received.hidden) != tt.hidden || (x.rec.Unread != "") != tt.unread {
				t.Errorf("%d pieces, unread %q", len(c.received.hidden), x.rec.Unread)
			}
			conn, _ := c.record()
			got := append(conn.Received.Data, conn.Received.Head...)
			if bytes.HasPrefix(got, []byte(head)) != (tt.hidden > 0) || bytes.Contains(got, message(0, tt.size)[20:]) {
				t.Errorf("recorded %.200q", got)
			}
		})
	}
}

// What a record shows of a stream has no part of a secret, wherever it is cut; below and above the limit of the stream.
func TestRedactorSeesASecretAcrossTheEdgesOfALongStream(t *testing.T) {
	const token = "s3cr3t-token"
	r := redactor{Redactor: secret.New([]string{token})}
	fill := strings.Repeat("x", 2*bundle.BlobWhole)
	head, tail := bundle.BlobEdge-5, len(fill)-bundle.BlobEdge-5 // the secret straddles the last byte of the head, and the first of the tail
	all := []byte(fill[:head] + token + fill[head+len(token):tail] + token + fill[tail+len(token):])
	for _, limit := range []int{bundle.BlobWhole, len(all)} {
		s := newStore(limit, r, nil)
		s.add(all, bundle.Stamp{})
		b := s.blob(r, nil)
		if !bytes.HasSuffix(b.Head, []byte("x*****")) || len(b.Head) != bundle.BlobEdge {
			t.Errorf("limit %d: head of %d bytes ends %q", limit, len(b.Head), b.Head[len(b.Head)-20:])
		}
		if !bytes.HasPrefix(b.Tail, []byte("*******x")) || len(b.Tail) != bundle.BlobEdge {
			t.Errorf("limit %d: tail of %d bytes begins %q", limit, len(b.Tail), b.Tail[:20])
		}
		if sum := sha256.Sum256(all); b.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("limit %d: the digest is not that of the received bytes", limit)
		}
		for at := 0; at < 600; at += 5 { // the difference is before, in and behind the secret
			want := bytes.Clone(all)
			want[head-300+at] = '#'
			d := s.blob(r, want).Diff
			if within := at >= 300 && at < 300+len(token); d == nil || d.Off != int64(head-300+at) && !within || bytes.Contains(d.Got, []byte("ken")) || bytes.Contains(d.Got, []byte("s3c")) {
				t.Errorf("limit %d: a difference at %d is %+v", limit, head-300+at, d)
			}
		}
	}
}

// The memory of the run may end in the middle of a secret, or the limit may be there.
func TestTheBeginningOfASecretAtTheEndOfWhatIsKeptIsNotRecorded(t *testing.T) {
	const token = "s3cr3t-token-of-the-run"
	r := redactor{Redactor: secret.New([]string{token})}
	fill := strings.Repeat("x", 1000)
	for name, limit := range map[string]int{"the memory": dataLimit, "the limit": len(fill) + 8} {
		t.Run(name, func(t *testing.T) {
			room := len(fill) + 8 + 2*chunkSize
			s := newStore(limit, r, func(n int) bool { room -= n; return room >= 0 })
			s.add([]byte(fill+token[:8]), bundle.Stamp{})
			s.add([]byte(token[8:]+fill), bundle.Stamp{})
			b := s.blob(r, []byte(fill+"another"))
			if !bytes.HasPrefix(b.Head, []byte(fill[:500])) || bytes.Contains(b.Head, []byte(token[:4])) {
				t.Errorf("head %q", b.Head)
			}
			if b.Diff != nil && bytes.Contains(b.Diff.Got, []byte(token[:4])) {
				t.Errorf("difference %q", b.Diff.Got)
			}
		})
	}
}

func TestGunzipBoundsABomb(t *testing.T) {
	t.Parallel()
	var g gunzipper
	const limit = 4 << 10
	_, err := g.decode(call.Compress(make([]byte, 2<<20)), limit)
	if !errors.Is(err, errTooLarge) {
		t.Errorf("err = %v", err)
	}
	if g.out.Cap() > 16*limit {
		t.Errorf("%d bytes were allocated for a limit of %d", g.out.Cap(), limit)
	}
	if p, err := g.decode(call.Compress(make([]byte, limit)), limit); err != nil || len(p) != limit {
		t.Errorf("exactly the limit: %d bytes, %v", len(p), err)
	}
}

func FuzzGunzip(f *testing.F) {
	f.Add(call.Compress([]byte("hello")))
	f.Add(call.Compress(bytes.Repeat([]byte{0}, 5000)))
	f.Add([]byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, p []byte) {
		var g gunzipper
		const limit = 4096
		out, err := g.decode(p, limit)
		if len(out) > limit {
			t.Fatalf("%d bytes over a limit of %d", len(out), limit)
		}
		again, err2 := g.decode(p, limit)
		if (err == nil) != (err2 == nil) || len(out) != len(again) {
			t.Fatalf("a second read differs: %v, %v", err, err2)
		}
	})
}

func TestMessagesThatAreNoEventsAreKeptWhole(t *testing.T) {
	rec := NewRecorder(NewClock(), nil)
	c := newConn(rec, "c", "")
	c.Begin(Call{RPC: "acme.v1.Forecast/Watch", Shape: bundle.ShapeStream, Codec: "json", Method: "POST"})
	c.feed([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nConnect-Content-Encoding: gzip\r\n\r\n"))
	long := bytes.Repeat([]byte("0123456789abcdef"), wholeMessage/16)
	c.feed(wire.AppendEnvelope(nil, 0, nil))
	c.feed(wire.AppendEnvelope(nil, 0, long))
	c.feed(wire.AppendEnvelope(nil, 1, call.Compress(long)))
	c.feed(wire.AppendEnvelope(nil, 1, call.Compress(append(long, '.'))))
	for range maxHeads / wholeMessage {
		c.feed(wire.AppendEnvelope(nil, 0, long))
	}
	_, xs := rec.Finish(nil)
	f := xs[0].Frames
	for i, want := range []int{0, wholeMessage, wholeMessage} {
		if !f[i].Whole || len(f[i].Head) != want || !bytes.Equal(f[i].Head, long[:want]) {
			t.Errorf("message %d: whole %v, %d bytes", i, f[i].Whole, len(f[i].Head))
		}
	}
	if f[3].Whole || len(f[3].Head) != frameHead {
		t.Errorf("a message over the limit: whole %v, %d bytes", f[3].Whole, len(f[3].Head))
	}
	if last := f[len(f)-1]; last.Whole || len(last.Head) > frameHead {
		t.Errorf("a message over the total limit: whole %v, %d bytes", last.Whole, len(last.Head))
	}
}
