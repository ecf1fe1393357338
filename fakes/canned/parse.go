package canned

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"assay/internal/safefile"
)

// The limits of a file.
const (
	maxFile    = safefile.Limit // bytes of YAML
	maxEntries = 1000           // entries of the list
	maxTimes   = 100_000        // events, and lines of one
	maxSize    = 1 << 20        // bytes of one event
	maxStream  = 64 << 20       // bytes of all events of a finite stream
)

// FileError is one error in a canned file, with its place.
type FileError struct {
	File         string
	Line, Column int // from 1; 0 for the whole file
	Message      string
}

// Error returns "file:line:column: message".
func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// parser reads one file and collects its errors.
type parser struct {
	file string
	errs []error
}

func (p *parser) errorf(n *yaml.Node, format string, args ...any) {
	e := &FileError{File: p.file, Message: fmt.Sprintf(format, args...)}
	if n != nil {
		e.Line, e.Column = n.Line, n.Column
	}
	p.errs = append(p.errs, e)
}

// Parse reads the text of a canned file; file is its name in messages. Errors are
// *FileError, joined in the order of their places.
func Parse(file string, text []byte) (*File, error) {
	p := &parser{file: file}
	f := &File{Flush: FlushEvent, First: 1}
	if root := p.document(text); root != nil {
		p.fields(root, map[string]func(*yaml.Node){
			"title":     func(n *yaml.Node) { f.Title = p.text(n) },
			"start":     func(n *yaml.Node) { f.Start = p.span(n) },
			"interval":  func(n *yaml.Node) { f.Interval = p.span(n) },
			"flush":     func(n *yaml.Node) { f.Flush = p.flush(n) },
			"first":     func(n *yaml.Node) { f.First = uint64(p.number(n, 0, math.MaxInt64)) },
			"exit_code": func(n *yaml.Node) { f.ExitCode = int32(p.number(n, math.MinInt32, math.MaxInt32)) },
			"events":    func(n *yaml.Node) { f.Events = p.events(n) },
		}, "events")
		p.check(root, f)
	}
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return f, nil
}

// document returns the root of the only document in text, nil after an error.
func (p *parser) document(text []byte) *yaml.Node {
	if len(text) > maxFile {
		p.errorf(nil, "the file is %d bytes long; at most %d are read", len(text), maxFile)
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	var load *yaml.LoadError
	switch {
	case errors.Is(err, io.EOF):
		p.errorf(nil, "the file is empty")
		return nil
	case errors.As(err, &load):
		p.errorf(&yaml.Node{Line: max(1, load.Mark.Line), Column: max(1, load.Mark.Column)}, "not YAML: %s", load.Message)
		return nil
	case err != nil:
		p.errorf(nil, "not YAML: %v", err)
		return nil
	case len(doc.Content) != 1:
		p.errorf(nil, "the file is empty")
		return nil
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		p.errorf(&more, "a file holds exactly one YAML document")
		return nil
	}
	return doc.Content[0]
}

// fields passes each member of a mapping to its reader.
func (p *parser) fields(n *yaml.Node, known map[string]func(*yaml.Node), required ...string) {
	if n.Kind != yaml.MappingNode {
		p.errorf(n, "want a mapping with the fields %s", fieldNames(known))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read, ok := known[key.Value]
		switch {
		case !ok:
			p.errorf(key, "there is no field %q; the fields are %s", key.Value, fieldNames(known))
		case seen[key.Value]:
			p.errorf(key, "the field %s appears twice", key.Value)
		default:
			read(value)
		}
		seen[key.Value] = true
	}
	for _, name := range required {
		if !seen[name] {
			p.errorf(n, "the field %s is missing", name)
		}
	}
}

func fieldNames(known map[string]func(*yaml.Node)) string {
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (p *parser) text(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		p.errorf(n, "want a string")
	}
	return n.Value
}

func (p *parser) number(n *yaml.Node, low, high int64) int64 {
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || err != nil || v < low || v > high {
		p.errorf(n, "got %q, want a whole number from %d to %d", n.Value, low, high)
		return low
	}
	return v
}

func (p *parser) span(n *yaml.Node) time.Duration {
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || d < 0 {
		p.errorf(n, "got %q, want a span of time, for example 1s or 250ms", n.Value)
		return 0
	}
	return d
}

func (p *parser) flush(n *yaml.Node) string {
	if n.Value != FlushEvent && n.Value != FlushTogether {
		p.errorf(n, "got %q, want %s (one write per event) or %s", n.Value, FlushEvent, FlushTogether)
	}
	return n.Value
}

func (p *parser) events(n *yaml.Node) []Event {
	if n.Kind != yaml.SequenceNode || len(n.Content) > maxEntries {
		p.errorf(n, "want a list of at most %d events", maxEntries)
		return nil
	}
	events := make([]Event, len(n.Content))
	for i, at := range n.Content {
		events[i] = p.event(at)
		if events[i].Forever && i < len(n.Content)-1 {
			p.errorf(at, "only the last event can be repeated forever")
		}
	}
	return events
}

func (p *parser) event(n *yaml.Node) Event {
	e := Event{Times: 1, Interval: -1}
	kinds := 0
	p.fields(n, map[string]func(*yaml.Node){
		"lines": func(n *yaml.Node) { e.Lines = int(p.number(n, 1, maxTimes)); kinds++ },
		"text": func(n *yaml.Node) {
			if e.Text = p.text(n); e.Text == "" {
				p.errorf(n, "the text is empty")
			}
			kinds++
		},
		"size": func(n *yaml.Node) { e.Size = int(p.number(n, 1, maxSize)); kinds++ },
		"times": func(n *yaml.Node) {
			if e.Forever = n.Value == "forever"; !e.Forever {
				e.Times = int(p.number(n, 1, maxTimes))
			}
		},
		"interval": func(n *yaml.Node) { e.Interval = p.span(n) },
	})
	if n.Kind == yaml.MappingNode && kinds != 1 {
		p.errorf(n, "an event has one of lines, text and size: this one has %d of them", kinds)
	}
	return e
}

// check validates the file as a whole and sets the intervals of events.
func (p *parser) check(root *yaml.Node, f *File) {
	if len(p.errs) > 0 {
		return
	}
	total, events := 0, 0
	for i := range f.Events {
		e := &f.Events[i]
		if e.Interval < 0 {
			e.Interval = f.Interval
		}
		if e.Forever && e.Interval == 0 {
			p.errorf(root, "an event that is repeated forever needs an interval")
		}
		if !e.Forever {
			events += e.Times
			total += e.Times * (len(e.Text) + e.Size + e.Lines*20)
		}
	}
	if events > maxTimes || total > maxStream {
		p.errorf(root, "a stream of %d events and about %d bytes: at most %d and %d can be kept encoded; use forever", events, total, maxTimes, maxStream)
	}
}
