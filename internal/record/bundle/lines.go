package bundle

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// lineReader reads a file of lines, one JSON value each.
type lineReader struct {
	name  string // for messages
	in    io.Reader
	limit int // maximum length of a line, in bytes

	// cut describes a truncated last line, "" if there is none.
	cut string
	// objects counts the JSON objects, to limit the memory for them.
	objects int
}

// each passes every line to take. It skips an incomplete last line without a newline and
// describes it in cut; an error for any other line is an error.
func (l *lineReader) each(take func(line []byte) error) error {
	in := bufio.NewReaderSize(l.in, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(in, l.limit)
		whole := err == nil
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s:%d: %w", l.name, n, err)
		}
		if !whole && len(line) == 0 {
			return nil
		}
		if err := l.count(line); err != nil {
			return fmt.Errorf("%s:%d: %w", l.name, n, err)
		}
		err = take(line)
		if err != nil && !whole && !json.Valid(line) {
			l.cut = fmt.Sprintf("line %d is truncated after %d bytes and ignored", n, len(line))
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", l.name, n, err)
		}
		if !whole {
			return nil
		}
	}
}

// all reads the observations.
func (l *lineReader) all() ([]*Observation, error) {
	var obs []*Observation
	parts := 0
	err := l.each(func(line []byte) error {
		if parts += partsOf(line); parts > maxParts {
			return fmt.Errorf("the observations have more than %d iterations, connections and exchanges, the limit of a bundle", maxParts)
		}
		o, err := decodeObservation(line)
		if err == nil {
			obs = append(obs, o)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return obs, nil
}

// count limits the memory for the values of all lines: an empty object, or a null in its
// place, is a few bytes of text but some hundred bytes of memory.
func (l *lineReader) count(line []byte) error {
	l.objects += weight(line)
	if l.objects > maxObjects {
		return fmt.Errorf("the file has more than %d JSON objects, the limit of a bundle", maxObjects)
	}
	return nil
}

// partsOf counts the parts of an observation in a line that are large in memory even when
// empty, without allocating them.
func partsOf(line []byte) int {
	var o struct {
		Iterations []struct {
			Conns     []struct{} `json:"conns"`
			Exchanges []struct{} `json:"exchanges"`
			Awaits    []struct{} `json:"awaits"`
			Processes []struct{} `json:"processes"`
		} `json:"iterations"`
		Scrapes []struct{} `json:"scrapes"`
	}
	_ = json.Unmarshal(line, &o) // the decoder reports errors
	n := len(o.Iterations) + len(o.Scrapes)
	for _, it := range o.Iterations {
		n += len(it.Conns) + len(it.Exchanges) + len(it.Awaits) + len(it.Processes)
	}
	return n
}

// parts is the same for an observation that is not encoded yet.
func (o *Observation) parts() int {
	n := len(o.Iterations) + len(o.Scrapes)
	for it := range Each(o.Iterations) {
		n += len(it.Conns) + len(it.Exchanges) + len(it.Awaits) + len(it.Processes)
	}
	return n
}

// weight returns an upper bound of the objects in a JSON text.
func weight(text []byte) int {
	return bytes.Count(text, []byte("{")) + bytes.Count(text, []byte("null"))
}

// values returns an upper bound of the values in a JSON text: every one but the first follows a
// comma or begins a list or an object.
func values(text []byte) int {
	return 1 + bytes.Count(text, []byte(",")) + bytes.Count(text, []byte("[")) + bytes.Count(text, []byte("{"))
}

// readLine returns the next line without its newline; io.EOF if the newline is missing.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, fmt.Errorf("the line is longer than %d bytes", limit)
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
}

// decodeObservation decodes and checks one line.
func decodeObservation(line []byte) (*Observation, error) {
	o := &Observation{}
	if err := decodeLine(line, o, ObservationSchema); err != nil {
		return nil, fmt.Errorf("not an observation: %w", err)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	return o, nil
}

// decodeLine checks the schema of a line before it decodes the line into v: a newer
// version may have fields of other types.
func decodeLine(line []byte, v any, schema string) error {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return err
	}
	if err := checkSchema(head.Schema, schema); err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}
