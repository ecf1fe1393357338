package canned

import (
	"embed"
	"fmt"
	"path"
	"strings"
	"time"

	"assay/internal/base/safefile"
)

//go:embed w1.yaml w2.yaml ticks.yaml
var examples embed.FS

//go:embed schema/canned.schema.json
var schema []byte

// Schema returns the published JSON Schema of a canned file.
func Schema() []byte { return schema }

// Examples lists the built-in files: w1 (short streams), w2 (a dozen
// events, one a second) and ticks (a line a second until it is killed).
func Examples() []string { return []string{"ticks", "w1", "w2"} }

// The ways to write events.
const (
	// FlushEvent writes each event separately, as gateways do.
	FlushEvent = "event"
	// FlushTogether combines events that are due at the same time.
	FlushTogether = "together"
)

// File is the content of every stream: a start event, the listed events, an end event.
type File struct {
	// Title is for people.
	Title string
	// Start is the time before the head of the response and its start event: with
	// hours the gateway is a sink that accepts streams and sends nothing.
	Start time.Duration
	// Interval is the default time before each listed event.
	Interval time.Duration
	// Flush is FlushEvent (default) or FlushTogether.
	Flush string
	// First is the number of the first numbered line; default 1.
	First uint64
	// ExitCode is the exit code in the end event.
	ExitCode int32 `yaml:"exit_code"`
	// Events are the data events, all on stdout.
	Events []Event `yaml:"-"`
}

// Event is one or several equal events. Exactly one of Lines, Text and Size is set.
type Event struct {
	// Lines is the number of numbered lines in an event; numbering continues across events.
	Lines int
	// Text is the data of an event.
	Text string
	// Size is the number of filler bytes in an event; the last one is a newline.
	Size int
	// Times is the number of events; 0 means 1.
	Times int
	// Forever repeats the event until the stream is killed; only for the last entry.
	Forever bool
	// Interval is the time before each of these events.
	Interval time.Duration
}

// Load reads a file, or the built-in one of that name.
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
	text, err := safefile.Read(name, safefile.Limit)
	if err != nil {
		hint := ""
		if path.Ext(name) == "" {
			hint = "; the built-in ones are " + strings.Join(Examples(), ", ")
		}
		return nil, fmt.Errorf("%w%s", err, hint)
	}
	return Parse(name, text)
}
