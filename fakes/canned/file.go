package canned

import (
	"embed"
	"fmt"
	"os"
	"path"
	"strings"
	"time"
)

//go:embed w1.yaml w2.yaml ticks.yaml
var examples embed.FS

//go:embed schema/canned.schema.json
var schema []byte

// Schema is the JSON Schema of a canned file, as it is published.
func Schema() []byte { return schema }

// Examples lists the files that are built in: w1 (short streams), w2 (a dozen
// events, one a second) and ticks (a line a second until it is killed).
func Examples() []string { return []string{"ticks", "w1", "w2"} }

// The ways to hand events to the kernel.
const (
	// FlushEvent writes each event on its own, as gateways do.
	FlushEvent = "event"
	// FlushTogether writes together whatever is due at the same time.
	FlushTogether = "together"
)

// File says what every stream holds: a start event, the events of the list, an
// end event.
type File struct {
	// Title is for people.
	Title string
	// Start is the time before the start event, and before the head of the answer: with
	// hours the gateway is a sink that takes streams and says nothing.
	Start time.Duration
	// Interval is the time before each event of the list; an event may have its own.
	Interval time.Duration
	// Flush is FlushEvent (default) or FlushTogether.
	Flush string
	// First is the number on the first numbered line; default 1.
	First uint64
	// ExitCode is that of the end event.
	ExitCode int32
	// Events are the data events, all on stdout.
	Events []Event
}

// Event is one entry of the list: an event, or several of a kind. Exactly one of
// Lines, Text and Size is set.
type Event struct {
	// Lines is how many numbered lines an event holds; the numbers go on from event to event.
	Lines int
	// Text is what it holds.
	Text string
	// Size is how many bytes of filler it holds, the last one a newline.
	Size int
	// Times is how many such events there are; 0 is one.
	Times int
	// Forever repeats it until the stream is killed; only the last entry may.
	Forever bool
	// Interval is the time before each of them.
	Interval time.Duration
}

// Load reads a file, or the built-in one of that name. Mistakes in it are
// *FileError, joined; other errors say which file could not be read.
func Load(name string) (*File, error) {
	for _, example := range Examples() {
		if name == example {
			text, err := examples.ReadFile(name + ".yaml")
			if err != nil {
				return nil, fmt.Errorf("the built-in file %s: %w", name, err)
			}
			return Parse(name+".yaml", text)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		hint := ""
		if path.Ext(name) == "" {
			hint = "; the built-in ones are " + strings.Join(Examples(), ", ")
		}
		return nil, fmt.Errorf("%w%s", err, hint)
	}
	return Parse(name, text)
}
