package canned

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// The limits of a file.
const (
	maxEntries = 1000     // entries of the list
	maxTimes   = 100_000  // events, and lines of one
	maxSize    = 1 << 20  // bytes of one event
	maxStream  = 64 << 20 // bytes of all events of a finite stream
)

// entry is an event as a file has it.
type entry struct {
	Lines, Size *int
	Text, Times any
	Interval    *time.Duration
}

// Parse reads the text of a canned file; file is its name in messages.
func Parse(file string, text []byte) (*File, error) {
	var read struct {
		File   `yaml:",inline"`
		Events []entry
	}
	read.Flush, read.First = FlushEvent, 1
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	err := dec.Decode(&read)
	if errors.Is(err, io.EOF) {
		err = errors.New("the file is empty")
	}
	if err == nil && !errors.Is(dec.Decode(new(yaml.Node)), io.EOF) {
		err = errors.New("a file holds exactly one YAML document")
	}
	if f := &read.File; err == nil {
		err = f.complete(read.Events)
	}
	if err != nil {
		return nil, placed(file, err)
	}
	return &read.File, nil
}

// placed returns an error with the name of the file and, as far as it is known, the place in it: one line for each mistake.
func placed(file string, err error) error {
	var all *yaml.LoadErrors
	if !errors.As(err, &all) {
		return fmt.Errorf("%s: %w", file, err)
	}
	var lines []error
	for _, e := range all.Errors {
		text := e.Message
		if field, of, ok := strings.Cut(strings.TrimPrefix(text, "field "), " not found in type "); ok && of != "" {
			text = fmt.Sprintf("there is no field %q", field)
		}
		lines = append(lines, fmt.Errorf("%s:%d:%d: %s", file, e.Mark.Line, e.Mark.Column, text))
	}
	return errors.Join(lines...)
}

// complete adds the events, and checks the file as a whole.
func (f *File) complete(entries []entry) error {
	switch {
	case f.Flush != FlushEvent && f.Flush != FlushTogether:
		return fmt.Errorf("flush: got %q, want %s (one write per event) or %s", f.Flush, FlushEvent, FlushTogether)
	case f.Start < 0 || f.Interval < 0:
		return errors.New("start and interval are spans of time from 0s")
	case entries == nil || len(entries) > maxEntries:
		return fmt.Errorf("events: want a list of at most %d events", maxEntries)
	}
	total, events := 0, 0
	for i, entry := range entries {
		e, err := entry.event(f.Interval)
		if err == nil && e.Forever && i < len(entries)-1 {
			err = errors.New("only the last event can be repeated forever")
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", i+1, err)
		}
		f.Events = append(f.Events, e)
		if !e.Forever {
			events += e.Times
			total += e.Times * (len(e.Text) + e.Size + e.Lines*20)
		}
	}
	if events > maxTimes || total > maxStream {
		return fmt.Errorf("a stream of %d events and about %d bytes: at most %d and %d can be kept encoded; use forever", events, total, maxTimes, maxStream)
	}
	return nil
}

// event checks an entry. interval is the default one.
func (in entry) event(interval time.Duration) (e Event, err error) {
	e.Times, e.Interval = 1, interval
	kinds := 0
	if in.Lines != nil {
		e.Lines = *in.Lines
		kinds++
	}
	if in.Size != nil {
		e.Size = *in.Size
		kinds++
	}
	if in.Text != nil {
		e.Text, _ = in.Text.(string)
		kinds++
	}
	switch times := in.Times.(type) {
	case nil:
	case int:
		e.Times = times
	default:
		e.Forever, e.Times = times == "forever", 0
	}
	if in.Interval != nil {
		e.Interval = *in.Interval
	}
	switch {
	case kinds != 1:
		return e, fmt.Errorf("it has one of lines, text and size: this one has %d of them", kinds)
	case in.Text != nil && e.Text == "":
		return e, fmt.Errorf("text: got %v, want a string that is not empty", in.Text)
	case in.Lines != nil && (e.Lines < 1 || e.Lines > maxTimes), in.Size != nil && (e.Size < 1 || e.Size > maxSize):
		return e, fmt.Errorf("want 1 to %d lines, or a size from 1 to %d", maxTimes, maxSize)
	case !e.Forever && (e.Times < 1 || e.Times > maxTimes):
		return e, fmt.Errorf("times: got %v, want forever or a number from 1 to %d", in.Times, maxTimes)
	case e.Interval < 0:
		return e, fmt.Errorf("interval: got %v, want a span of time from 0s", e.Interval)
	case e.Forever && e.Interval == 0:
		return e, errors.New("an event that is repeated forever needs an interval")
	}
	return e, nil
}
