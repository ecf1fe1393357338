//go:build linux && (amd64 || arm64)

package fast

import (
	"math/bits"

	"assay/internal/load/account"
)

// idTable finds streams by their HTTP/2 id: open addressing, 8 bytes an entry, at most three
// quarters full. The zero value is empty. (A Go map takes three times the memory.)
type idTable struct {
	slots []idSlot // a power of two
	n     int
	shift uint8 // 32 minus the bits of an index
}

// idSlot is an entry; with id 0, which is never a stream's, it is empty.
type idSlot struct {
	id     uint32
	stream int32
}

func (t *idTable) len() int { return t.n }

// home returns the slot where the search for an id begins. Ids are odd and increase; in
// neighbouring slots they would form one long run, which each remove would have to walk.
// Multiplying by the golden ratio spreads them evenly.
func (t *idTable) home(id uint32) int { return int(((id >> 1) * 0x9e3779b9) >> t.shift) }

func (t *idTable) find(id uint32) int32 {
	if t.n == 0 || id == 0 {
		return account.None
	}
	for at := t.home(id); ; at = (at + 1) & (len(t.slots) - 1) {
		switch t.slots[at].id {
		case id:
			return t.slots[at].stream
		case 0:
			return account.None
		}
	}
}

func (t *idTable) add(id uint32, stream int32) {
	if (t.n+1)*4 > len(t.slots)*3 {
		old := t.slots
		t.slots = make([]idSlot, max(16, 2*len(old)))
		t.shift = uint8(32 - bits.TrailingZeros(uint(len(t.slots)))) //nolint:gosec // at most 28
		t.n = 0
		for _, s := range old {
			if s.id != 0 {
				t.add(s.id, s.stream)
			}
		}
	}
	at := t.home(id)
	for t.slots[at].id != 0 {
		at = (at + 1) & (len(t.slots) - 1)
	}
	t.slots[at] = idSlot{id, stream}
	t.n++
}

// remove removes an id, and moves up the entries that its slot had displaced.
func (t *idTable) remove(id uint32) {
	if t.n == 0 {
		return
	}
	mask := len(t.slots) - 1
	at := t.home(id)
	for t.slots[at].id != id {
		if t.slots[at].id == 0 {
			return
		}
		at = (at + 1) & mask
	}
	for next := (at + 1) & mask; t.slots[next].id != 0; next = (next + 1) & mask {
		if home := t.home(t.slots[next].id); (next-home)&mask >= (next-at)&mask {
			t.slots[at] = t.slots[next]
			at = next
		}
	}
	t.slots[at] = idSlot{}
	t.n--
}

// each calls f for every entry; f must not change the table.
func (t *idTable) each(f func(id uint32, stream int32)) {
	for _, s := range t.slots {
		if s.id != 0 {
			f(s.id, s.stream)
		}
	}
}
