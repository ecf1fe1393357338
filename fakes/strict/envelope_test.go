package strict

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"connectrpc.com/connect"

	envd "assay/internal/envd/process"
	"assay/internal/wire"
)

// envelope is one envelope.
func envelope(flags byte, payload string) []byte {
	return wire.AppendEnvelope(nil, flags, []byte(payload))
}

// gzipped is p, compressed.
func gzipped(p []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(p)
	_ = w.Close()
	return b.Bytes()
}

// callOf returns a Connect call with a codec and an encoding.
func callOf(codec, encoding string) *Call {
	policy := DefaultPolicy()
	return &Call{Codec: codec, encoded: encoding, policy: &policy}
}

func TestALongMessageIsReadAndALongerOneIsRefusedUnread(t *testing.T) {
	t.Parallel()
	head := binary.BigEndian.AppendUint32([]byte{0}, MaxMessage)
	body := io.MultiReader(bytes.NewReader(head), bytes.NewReader(make([]byte, MaxMessage)))
	msg, err := newEnvelopeReader(callOf("proto", ""), body).next()
	if err != nil || len(msg) != MaxMessage {
		t.Errorf("C135: exactly the limit: %d bytes, %v", len(msg), err)
	}
	head = binary.BigEndian.AppendUint32([]byte{0}, MaxMessage+1)
	_, err = newEnvelopeReader(callOf("proto", ""), io.MultiReader(bytes.NewReader(head), iotest.ErrReader(errors.New("it was read")))).next()
	if connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("C129: one byte more: %v", err)
	}
}

func TestAZeroLengthProtoMessageIsEmptyAndNeverDecompressed(t *testing.T) {
	t.Parallel()
	for _, flags := range []byte{0, wire.FlagCompressed} {
		msg, err := newEnvelopeReader(callOf("proto", gzipName), bytes.NewReader(envelope(flags, ""))).next()
		if err != nil || len(msg) != 0 {
			t.Errorf("C41: flags %#x: %q, %v", flags, msg, err)
		}
	}
}

func FuzzEnvelopeReader(f *testing.F) {
	f.Add(envelope(0, "{}"), true, false, false)
	f.Add(envelope(0, "{}"), true, false, true)
	f.Add(envelope(1, string(gzipped([]byte("{}")))), true, true, false)
	f.Add([]byte{2, 0, 0, 0, 2, '{', '}'}, false, false, false)
	f.Fuzz(func(t *testing.T, body []byte, json, compressed, grpc bool) {
		codec, encoding := "proto", ""
		if json {
			codec = "json"
		}
		if compressed {
			encoding = gzipName
		}
		c := callOf(codec, encoding)
		if grpc {
			c.Protocol, c.method = GRPC, methodsOf(envd.File_process_process_proto.Services().ByName("Process"))["/process.Process/Start"]
		}
		plain, err := io.ReadAll(&envelopePipe{frames: newEnvelopeReader(c, bytes.NewReader(body))})
		slow, slowErr := io.ReadAll(&envelopePipe{frames: newEnvelopeReader(c, iotest.OneByteReader(bytes.NewReader(body)))})
		if !bytes.Equal(plain, slow) || (err == nil) != (slowErr == nil) {
			t.Fatalf("the split matters: %q, %v and %q, %v", plain, err, slow, slowErr)
		}
		for rest := plain; len(rest) > 0; { // what connect-go gets is always well formed
			size := wire.HeaderSize + int(binary.BigEndian.Uint32(rest[1:]))
			if rest[0] != 0 || len(rest) < size {
				t.Fatalf("passed on: %q", plain)
			}
			rest = rest[size:]
		}
	})
}
