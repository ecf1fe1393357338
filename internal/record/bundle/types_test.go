package bundle

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestABlobIsWholeUpToItsBound(t *testing.T) {
	for _, n := range []int{0, 1, BlobWhole, BlobWhole + 1, 5 * BlobWhole} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			p := bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n]
			b := NewBlob(p, nil)
			if b.Len != int64(n) || b.Whole() != (n <= BlobWhole) {
				t.Fatalf("len %d, whole %v", b.Len, b.Whole())
			}
			if b.Whole() {
				if !bytes.Equal(b.Data, p) || b.Head != nil || b.Tail != nil {
					t.Error("it is not what went in")
				}
			} else if !bytes.Equal(b.Head, p[:BlobEdge]) || !bytes.Equal(b.Tail, p[n-BlobEdge:]) || b.Data != nil {
				t.Error("head and tail are not those that went in")
			}
			text, err := json.Marshal(b)
			must(t, err)
			var back Blob
			must(t, json.Unmarshal(text, &back))
			if d := cmp.Diff(b, back); d != "" {
				t.Errorf("-in +out:\n%s", d)
			}
		})
	}
	if (*Blob)(nil).Whole() {
		t.Error("no blob is whole")
	}
}

func TestABlobIsACopy(t *testing.T) {
	p := []byte("abc")
	b := NewBlob(p, nil)
	p[0] = 'x'
	if string(b.Data) != "abc" {
		t.Error("the blob changed with its source")
	}
}

func TestTheChunkTableIsBounded(t *testing.T) {
	if n := len(NewBlob(nil, make([]Chunk, maxChunks+9)).Chunks); n != maxChunks {
		t.Errorf("%d chunks are kept, want %d", n, maxChunks)
	}
}

func TestTheFirstDifferenceIsFound(t *testing.T) {
	long := strings.Repeat("x", 1000)
	tests := []struct {
		name      string
		got, want string
		off, from int64 // off -1: no difference
	}{
		{"nothing differs", "abc", "abc", -1, 0},
		{"both are empty", "", "", -1, 0},
		{"the first byte differs", "abc", "xbc", 0, 0},
		{"the tail is lost", "ab", "abcd", 2, 0},
		{"everything is lost", "", "abcd", 0, 0},
		{"there is too much", "abcd", "ab", 2, 0},
		{"it is far in", long + "a" + long, long + "b" + long, 1000, 1000 - blobWindow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := FirstDifference([]byte(tt.got), []byte(tt.want))
			if tt.off < 0 {
				if d != nil {
					t.Errorf("a difference at %d", d.Off)
				}
				return
			}
			if d == nil || d.Off != tt.off || d.From != tt.from || len(d.Got) > 2*blobWindow || len(d.Want) > 2*blobWindow {
				t.Errorf("got %+v, want offset %d from %d", d, tt.off, tt.from)
			}
		})
	}
}

func TestConclusionsAreRankedWorstLast(t *testing.T) {
	all := Conclusions()
	for i, a := range all {
		if a.Rank() != i {
			t.Errorf("%s has rank %d, want %d", a, a.Rank(), i)
		}
		for j, b := range all {
			if want := all[max(i, j)]; Worst(a, b) != want {
				t.Errorf("worst of %s and %s is %s, want %s", a, b, Worst(a, b), want)
			}
		}
	}
	if Worst(Error, "nonsense") != "nonsense" {
		t.Error("an unknown conclusion passes for a known one")
	}
	all[0] = "changed"
	if Conclusions()[0] != Pass {
		t.Error("the list can be changed from outside")
	}
}

func TestStampsAreOrderedByTheirNumber(t *testing.T) {
	a, b := Stamp{T: 5, N: 1}, Stamp{T: 5, N: 2}
	if !a.Before(b) || b.Before(a) || a.Before(a) {
		t.Error("two steps at the same time are not ordered by their number")
	}
}

func TestHeadersAreFoundWithoutCase(t *testing.T) {
	r := &Response{Headers: []Header{{"X-A", "1"}, {"x-a", "2"}, {"X-B", "3"}}}
	if d := cmp.Diff([]string{"1", "2"}, r.Get("x-A")); d != "" {
		t.Error(d)
	}
	if (*Response)(nil).Get("x") != nil {
		t.Error("no response has headers")
	}
}

func TestAnExchangeIsFoundByName(t *testing.T) {
	it := &Iteration{Exchanges: []Exchange{{ID: 0, Name: "a"}, {ID: 1, Name: "b"}, {ID: 2, Name: "b"}}}
	if e := it.Exchange("b"); e == nil || e.ID != 1 {
		t.Errorf("got %+v, want the first b", e)
	}
	if it.Exchange("c") != nil {
		t.Error("found what is not there")
	}
}
