package inject

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is a kind of fault.
type Kind struct {
	Name string
	Text string // what it does, in a few words
	// proxied says that it needs the proxy, and cuts that it ends streams of the soak.
	proxied, cuts bool
}

// Kinds returns all kinds, by name.
func Kinds() []Kind {
	return []Kind{
		{Name: "burst", Text: "100 commands start at once"},
		{Name: "cut", Text: "the proxy resets connections in the middle of their responses", proxied: true, cuts: true},
		{Name: "delay", Text: "the proxy delays each piece of data by 50 to 500 ms", proxied: true},
		{Name: "half-open", Text: "20 clients neither read nor write any more"},
		{Name: "pause", Text: "a process with 10 clients in mid-stream stands still (SIGSTOP) for 3 seconds, and then reads on"},
		{Name: "reset", Text: "20 clients reset their connections in mid-stream"},
		{Name: "slow-reader", Text: "5 clients read a flood of output at 64 kB a second"},
		{Name: "split", Text: "the proxy passes data on in pieces of 1 to 256 bytes", proxied: true},
	}
}

// all is the name of every kind.
const all = "all"

// Parse reads the names of kinds; all among them is every kind.
func Parse(names []string) ([]Kind, error) {
	known := Kinds()
	var out []Kind
	for _, name := range names {
		if name == all {
			continue
		}
		i := slices.IndexFunc(known, func(k Kind) bool { return k.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown fault %q: want %s or all", name, strings.Join(Names(known), ", "))
		}
		if !slices.ContainsFunc(out, func(k Kind) bool { return k.Name == name }) {
			out = append(out, known[i])
		}
	}
	if slices.Contains(names, all) {
		return known, nil
	}
	return out, nil
}

// Names returns the names of kinds.
func Names(kinds []Kind) []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.Name)
	}
	return out
}

// The sizes and times of the faults.
const (
	burst      = 100
	resets     = 20
	halfOpen   = 20
	slow       = 5
	paused     = 10
	pauseAfter = time.Second
	pauseFor   = 3 * time.Second
	slowPiece  = 6400 // bytes every slowEvery
	slowEvery  = 100 * time.Millisecond
	floodLines = 300_000
	longest    = 20 * time.Second // of a fault
	leastDelay = 50 * time.Millisecond
	mostDelay  = 500 * time.Millisecond
	mostPiece  = 256
	pieceEvery = time.Millisecond
)
