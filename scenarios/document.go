package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"assay/internal/base/safefile"
)

// The limits of a file of the catalogue.
const (
	maxFile  = safefile.Limit // bytes
	maxDepth = 64             // nested mappings and sequences
	maxKeys  = 2000           // of a mapping; the YAML package compares each with every other
	// maxPlaces is how many bytes the names of all places may take. A list of half a million
	// numbers, the longest of a file, takes 16 MiB.
	maxPlaces = 32 << 20
)

// trust is how strictly a text is checked against its schema and the rules. Tests check the
// embedded files: to compile the schemas and to apply them takes a short command a tenth of a second.
type trust int

const (
	checked trust = iota // a user's file
	stored               // in a bundle, which may be of an older version
	trusted              // embedded
)

// document is one parsed YAML file, before it is decoded to typed values: its lines, for
// messages, and the node at each place.
type document struct {
	file  string
	lines []string
	root  *yaml.Node
	// nodes and keys hold the value node and the key node of each place, named
	// as a JSON pointer without escapes ("/steps/1/race/a").
	nodes map[string]*yaml.Node
	keys  map[string]*yaml.Node
	// places is the length of the names of all places.
	places int
	errs   []*ScriptError
}

// parseDocument reads exactly one YAML document and converts it to JSON values, for the
// JSON Schema. value is nil if the file is unreadable.
func parseDocument(file string, text []byte) (d *document, value any) {
	d = &document{file: file, nodes: map[string]*yaml.Node{}, keys: map[string]*yaml.Node{}}
	switch {
	case len(text) > maxFile:
		d.errorf(nil, "", "the file is %d bytes long; at most %d are read", len(text), maxFile)
		return d, nil
	case !utf8.Valid(text):
		d.errorf(nil, "save the file as UTF-8", "the file is not UTF-8 text")
		return d, nil
	}
	d.lines = linesOf(text)
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		d.syntaxError(err)
		return d, nil
	}
	var more yaml.Node
	switch err := dec.Decode(&more); {
	case err == nil:
		d.errorf(&more, "write one file for each", "a second YAML document begins here; a file contains exactly one")
		return d, nil
	case !errors.Is(err, io.EOF):
		d.syntaxError(err)
		return d, nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		d.errorf(nil, "", "the file is empty")
		return d, nil
	}
	d.root = doc.Content[0]
	value = d.convert(d.root, "", 0)
	if len(d.errs) > 0 {
		return d, nil
	}
	return d, value
}

// linesOf splits a text at every line break of YAML: CR, LF, NEL, LS and PS.
func linesOf(text []byte) []string {
	breaks := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
	return strings.Split(breaks.Replace(string(text)), "\n")
}

// syntaxError reports an error of the YAML reader.
func (d *document) syntaxError(err error) {
	if errors.Is(err, io.EOF) {
		d.errorf(nil, "", "the file is empty")
		return
	}
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		d.errorf(nil, "", "not YAML: %v", err)
		return
	}
	line, column := d.inside(load.Mark.Line, load.Mark.Column)
	message := load.Message
	if load.ContextMsg != "" {
		message = load.ContextMsg + ": " + message
	}
	e := &ScriptError{File: d.file, Line: line, Column: column, Text: d.line(line), Message: shortened("not YAML: " + message), check: CheckSyntax}
	if strings.HasPrefix(strings.TrimLeft(e.Text, " "), "\t") {
		e.Hint = "YAML is indented with spaces, not with tabs"
	}
	d.errs = append(d.errs, e)
}

// decodeError reports an error of decoding to typed values.
func (d *document) decodeError(err error) {
	var many *yaml.LoadErrors
	if !errors.As(err, &many) {
		d.errorf(nil, "", "%v", err)
		return
	}
	for _, e := range many.Errors {
		line, column := d.inside(e.Mark.Line, e.Mark.Column)
		d.errs = append(d.errs, &ScriptError{File: d.file, Line: line, Column: column, Text: d.line(line), Message: shortened(e.Message)})
	}
}

// convert turns a node into a JSON value and records the place of each node.
func (d *document) convert(n *yaml.Node, at string, depth int) any {
	d.nodes[at] = n
	if depth > maxDepth {
		d.errorf(n, "", "nested deeper than %d levels", maxDepth)
		return nil
	}
	if n.Anchor != "" || n.Kind == yaml.AliasNode {
		d.errorf(n, "write the value out where it is needed", "anchors and aliases are not part of the language")
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		return d.convertMapping(n, at, depth)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			place, ok := d.placeIn(c, at, strconv.Itoa(i))
			if !ok {
				return nil
			}
			list[i] = d.convert(c, place, depth+1)
		}
		return list
	default:
		return d.convertScalar(n)
	}
}

// placeIn returns the name of the place of a node inside another. ok is false when the names of
// all places have become too long; the first such node is a mistake.
func (d *document) placeIn(n *yaml.Node, at, name string) (place string, ok bool) {
	before := d.places
	if d.places += len(at) + 1 + len(name); d.places <= maxPlaces {
		return at + "/" + name, true
	}
	if before <= maxPlaces {
		d.errorf(n, "shorten the keys that it is in: they count again for each value below them",
			"the names of the values up to here, each with all keys that it is in, are longer than %d bytes", maxPlaces)
	}
	return "", false
}

func (d *document) convertMapping(n *yaml.Node, at string, depth int) any {
	if keys := len(n.Content) / 2; keys > maxKeys {
		d.errorf(n, "", "the mapping has %d keys; at most %d are read", keys, maxKeys)
		return nil
	}
	object := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Anchor != "" {
			d.errorf(key, "", "a key must be a plain word")
			continue
		}
		if key.ShortTag() == "!!merge" {
			d.errorf(key, "write the fields out where they are needed", "merge keys are not part of the language")
			continue
		}
		place, ok := d.placeIn(key, at, key.Value)
		if !ok {
			return nil
		}
		if _, twice := object[key.Value]; twice {
			d.errorf(key, fmt.Sprintf("it is first on line %d", d.keys[place].Line), "the key %q appears twice", key.Value)
			continue
		}
		d.keys[place] = key
		object[key.Value] = d.convert(value, place, depth+1)
	}
	return object
}

// convertScalar resolves a scalar by YAML's core rules. A time and the words
// yes, no, on, off are strings. A number with a leading zero is refused, since
// YAML readers disagree about its value.
func (d *document) convertScalar(n *yaml.Node) any {
	switch tag := n.ShortTag(); tag {
	case "!!str":
		return n.Value
	case "!!timestamp":
		n.Tag = "!!str"
		return n.Value
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int":
		return d.convertInt(n)
	case "!!float":
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			d.errorf(n, "put it in quotes if it is a text", "%q is not a number in JSON", n.Value)
			return nil
		}
		return f
	default:
		d.errorf(n, "", "the tag %q is not part of the language", tag)
		return nil
	}
}

func (d *document) convertInt(n *yaml.Node) any {
	digits := strings.TrimLeft(n.Value, "+-")
	if len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		d.errorf(n, "put it in quotes if it is a text, or write it without the zero", "%q has a leading zero", n.Value)
		return nil
	}
	i, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 0, 64)
	if err != nil {
		d.errorf(n, "put it in quotes if it is a text", "%q is out of the range of 64-bit integers", n.Value)
		return nil
	}
	return i
}

// errorf records a mistake at a node; nil means the whole file.
func (d *document) errorf(n *yaml.Node, hint, format string, args ...any) {
	e := &ScriptError{File: d.file, Message: shortened(fmt.Sprintf(format, args...)), Hint: shortened(hint)}
	if n != nil {
		e.Line, e.Column = d.inside(n.Line, n.Column)
		e.Text = d.line(e.Line)
	}
	d.errs = append(d.errs, e)
}

// checkf is errorf for one of the checks of LintAll.
func (d *document) checkf(check string, n *yaml.Node, hint, format string, args ...any) {
	d.errorf(n, hint, format, args...)
	d.errs[len(d.errs)-1].check = check
}

// inside returns a place of the YAML reader; one at the end of the file becomes that behind the last text.
func (d *document) inside(line, column int) (int, int) {
	line, column = max(1, line), max(1, column)
	for line > 1 && d.line(line) == "" {
		line--
		column = len([]rune(d.line(line))) + 1
	}
	return line, column
}

// shortened cuts the middle of a text that quotes a value of any length.
func shortened(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	const half = maxMessage / 2
	return strings.ToValidUTF8(text[:half], "") + "…" + strings.ToValidUTF8(text[len(text)-half:], "")
}

// at returns the node of a place, or of the nearest enclosing place that exists.
func (d *document) at(place string) *yaml.Node {
	for {
		if n, ok := d.nodes[place]; ok {
			return n
		}
		i := strings.LastIndexByte(place, '/')
		if i < 0 {
			return d.root
		}
		place = place[:i]
	}
}

// key returns the key node of a place, or its value node if it has no key (in a list).
func (d *document) key(place string) *yaml.Node {
	if n, ok := d.keys[place]; ok {
		return n
	}
	return d.at(place)
}

// clause returns the node of the i-th clause, even if `expect` is a mapping instead of a list.
func (d *document) clause(i int) *yaml.Node { return d.listed("/expect", i) }

// listed returns the i-th entry of a list that may also be written as a single value.
func (d *document) listed(place string, i int) *yaml.Node {
	if n, ok := d.nodes[fmt.Sprintf("%s/%d", place, i)]; ok {
		return n
	}
	return d.at(place)
}

func (d *document) line(n int) string {
	if n < 1 || n > len(d.lines) {
		return ""
	}
	return d.lines[n-1]
}
