package bundle

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// lineReader reads the observations of a stream, one JSON value a line.
type lineReader struct {
	name  string // for messages
	in    io.Reader
	limit int // of one line, in bytes

	// cut says what was left out at the end, "" when nothing was.
	cut string
}

// all reads to the end. A last line without a newline that is not complete is
// left out and said in cut; any other line that is not one valid observation is
// an error.
func (l *lineReader) all() ([]*Observation, error) {
	var obs []*Observation
	in := bufio.NewReaderSize(l.in, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(in, l.limit)
		whole := err == nil
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s:%d: %w", l.name, n, err)
		}
		if !whole && len(line) == 0 {
			return obs, nil
		}
		o, err := decodeObservation(line)
		if err != nil && !whole && !json.Valid(line) {
			l.cut = fmt.Sprintf("line %d of the observations was cut after %d bytes and is left out", n, len(line))
			return obs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", l.name, n, err)
		}
		obs = append(obs, o)
	}
}

// readLine returns the next line without its newline; io.EOF when it had none.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, fmt.Errorf("the line is longer than %d bytes, which no observation is", limit)
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
	if n := bytes.Count(line, []byte("{")); n > maxObjects {
		return nil, fmt.Errorf("the line holds %d JSON objects, at most %d are read", n, maxObjects)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, fmt.Errorf("not an observation: %w", err)
	}
	if err := checkSchema(head.Schema, ObservationSchema); err != nil {
		return nil, err
	}
	o := &Observation{}
	if err := json.Unmarshal(line, o); err != nil {
		return nil, fmt.Errorf("not an observation: %w", err)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	return o, nil
}
