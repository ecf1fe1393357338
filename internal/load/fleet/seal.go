package fleet

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
)

// seal says which windows of a shard count. There is one for each shard and round, and the first is the only one.
type seal struct {
	Attempt int
	// Windows is their number: those from 1 on.
	Windows int
	// Ended is the number of streams that ended in them, and Digest the digest of their bytes.
	Ended  int64
	Digest string
	// LateNS is how much later than the common start the worker began, by its own clock.
	LateNS int64 `json:",omitempty"`
	// Lost is set by the coordinator, which seals what is recorded of a lost worker: how it was lost. LostNS is when, since
	// the start.
	Lost   string `json:",omitempty"`
	LostNS int64  `json:",omitempty"`
}

// digest adds up windows in their order.
type digest struct {
	hash    hash.Hash
	windows int
	ended   int64
}

func newDigest() *digest { return &digest{hash: sha256.New()} }

// add adds a window in which so many streams ended.
func (d *digest) add(payload []byte, ended int64) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(payload)))
	d.hash.Write(length[:])
	d.hash.Write(payload)
	d.windows++
	d.ended += ended
}

// seal returns the seal of the windows so far.
func (d *digest) seal(attempt int) seal {
	return seal{Attempt: attempt, Windows: d.windows, Ended: d.ended, Digest: hex.EncodeToString(d.hash.Sum(nil))}
}

// check returns an error unless a seal is that of the windows so far.
func (d *digest) check(s *seal) error {
	own := d.seal(s.Attempt)
	switch {
	case own.Windows != s.Windows:
		return fmt.Errorf("%d windows were read, and the seal counts %d", own.Windows, s.Windows)
	case own.Ended != s.Ended || own.Digest != s.Digest:
		return fmt.Errorf("the windows are not those of the seal: %d streams ended in them, and the seal counts %d", own.Ended, s.Ended)
	}
	return nil
}
