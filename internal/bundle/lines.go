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
	limit int // of one line, in bytes

	// cut says what was left out at the end, "" when nothing was.
	cut string
	// objects is how many of them were read, to bound what they take in memory.
	objects int
}

// each gives every line to take. A last line without a newline that is not
// complete is left out and said in cut; any other that take refuses is an error.
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
			l.cut = fmt.Sprintf("line %d was cut after %d bytes and is left out", n, len(line))
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
			return fmt.Errorf("the observations hold more than %d iterations, connections and exchanges, which no bundle does", maxParts)
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

// count bounds what the values of all lines take in memory: an empty object, and
// a null in place of one, is a few bytes of text and some hundred in memory.
func (l *lineReader) count(line []byte) error {
	l.objects += weight(line)
	if l.objects > maxObjects {
		return fmt.Errorf("the file holds more than %d JSON objects, which no bundle does", maxObjects)
	}
	return nil
}

// partsOf is how many of the parts of an observation that are large in memory,
// also when they are empty, a line holds. It takes no memory for them.
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
	_ = json.Unmarshal(line, &o) // what is wrong with it is said by who decodes it
	n := len(o.Iterations) + len(o.Scrapes)
	for _, it := range o.Iterations {
		n += len(it.Conns) + len(it.Exchanges) + len(it.Awaits) + len(it.Processes)
	}
	return n
}

// parts is the same of an observation that is not encoded yet.
func (o *Observation) parts() int {
	n := len(o.Iterations) + len(o.Scrapes)
	for i := range o.Iterations {
		it := &o.Iterations[i]
		n += len(it.Conns) + len(it.Exchanges) + len(it.Awaits) + len(it.Processes)
	}
	return n
}

// weight is how many objects a JSON text makes at most.
func weight(text []byte) int {
	return bytes.Count(text, []byte("{")) + bytes.Count(text, []byte("null"))
}

// readLine returns the next line without its newline; io.EOF when it had none.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, fmt.Errorf("the line is longer than %d bytes, which none is", limit)
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

// decodeLine decodes a line into v, after a look at its schema: a newer version
// may have fields of other types.
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
