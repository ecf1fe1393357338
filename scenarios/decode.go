package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// The methods below read the shorthands of the language. They run after the schema has
// accepted the file, so they can rely on the kinds of the nodes.

// listOf returns n with each value of the named keys that is not a list replaced by a list of one.
func listOf(n *yaml.Node, keys ...string) *yaml.Node {
	out := *n
	out.Content = slices.Clone(n.Content)
	for i := 0; i+1 < len(out.Content); i += 2 {
		if v := out.Content[i+1]; slices.Contains(keys, out.Content[i].Value) && v.Kind != yaml.SequenceNode {
			out.Content[i+1] = inList(v)
		}
	}
	return &out
}

func inList(n *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: n.Line, Column: n.Column, Content: []*yaml.Node{n}}
}

// UnmarshalYAML reads a step and sets its line.
func (s *Step) UnmarshalYAML(n *yaml.Node) error {
	type plain Step
	if err := n.Decode((*plain)(s)); err != nil {
		return err
	}
	s.Line = n.Line
	return nil
}

// UnmarshalYAML reads axes; a scalar is a list of one.
func (a *AxesSpec) UnmarshalYAML(n *yaml.Node) error {
	type plain AxesSpec
	return listOf(n, "protocol", "codec", "http", "compression").Decode((*plain)(a))
}

// UnmarshalYAML reads a send; its body may be a single segment, or a text.
func (s *Send) UnmarshalYAML(n *yaml.Node) error {
	type plain Send
	return listOf(n, "body").Decode((*plain)(s))
}

// UnmarshalYAML reads a write; `of` may be a single segment, or a text.
func (w *Write) UnmarshalYAML(n *yaml.Node) error {
	type plain Write
	return listOf(n, "of").Decode((*plain)(w))
}

// UnmarshalYAML reads a chunk; `of` may be a single segment, or a text.
func (c *Chunk) UnmarshalYAML(n *yaml.Node) error {
	type plain Chunk
	return listOf(n, "of").Decode((*plain)(c))
}

// UnmarshalYAML reads a split; the scalar "every-byte" sets EveryByte.
func (s *Split) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		s.EveryByte = n.Value == "every-byte"
		return nil
	}
	type plain Split
	return n.Decode((*plain)(s))
}

// UnmarshalYAML reads bytes; a scalar is a text.
func (b *Bytes) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		text := n.Value
		b.Text = &text
		return nil
	}
	type plain Bytes
	return n.Decode((*plain)(b))
}

// UnmarshalYAML reads a segment; a scalar is a text.
func (s *Segment) UnmarshalYAML(n *yaml.Node) error {
	if err := s.Bytes.UnmarshalYAML(n); err != nil || n.Kind == yaml.ScalarNode {
		return err
	}
	var rest struct {
		Envelope *Envelope `yaml:"envelope"`
		Chunk    *Chunk    `yaml:"chunk"`
		Frame    *Frame    `yaml:"frame"`
		WS       *WSFrame  `yaml:"ws"`
		Gzip     *Packed   `yaml:"gzip"`
	}
	if err := n.Decode(&rest); err != nil {
		return err
	}
	s.Envelope, s.Chunk, s.Frame, s.WS, s.Gzip = rest.Envelope, rest.Chunk, rest.Frame, rest.WS, rest.Gzip
	return nil
}

// UnmarshalYAML reads a frame; `of` may be a single segment, or a text.
func (f *Frame) UnmarshalYAML(n *yaml.Node) error {
	type plain Frame
	return listOf(n, "of").Decode((*plain)(f))
}

// UnmarshalYAML reads a WebSocket frame; `of` may be a single segment, or a text.
func (f *WSFrame) UnmarshalYAML(n *yaml.Node) error {
	type plain WSFrame
	return listOf(n, "of").Decode((*plain)(f))
}

// UnmarshalYAML reads a WebSocket match; a scalar is the type.
func (m *WSMatch) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		m.Type = n.Value
		return nil
	}
	type plain WSMatch
	return n.Decode((*plain)(m))
}

// UnmarshalYAML reads a match. A scalar is "ok" or an error code; a set or list may be
// a single value.
func (m *Match) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		if n.Value == "ok" {
			ok := true
			m.OK = &ok
		} else {
			m.Error = &ErrorMatch{Code: []string{n.Value}}
		}
		return nil
	}
	type plain Match
	return listOf(n, "outcome", "status", "never", "lists", "not-lists", "h2", "h2-never", "ws", "ws-never", "close").Decode((*plain)(m))
}

// UnmarshalYAML reads a named match.
func (m *NamedMatch) UnmarshalYAML(n *yaml.Node) error {
	var rest struct {
		Name string `yaml:"name"`
	}
	if err := n.Decode(&rest); err != nil {
		return err
	}
	m.Name = rest.Name
	return m.Match.UnmarshalYAML(n)
}

// UnmarshalYAML reads an error; a scalar or a list is the set of its codes.
func (m *ErrorMatch) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		if n.Kind != yaml.SequenceNode {
			n = inList(n)
		}
		return n.Decode(&m.Code)
	}
	type plain ErrorMatch
	return listOf(n, "code").Decode((*plain)(m))
}

// UnmarshalYAML reads a gRPC status; numbers and places may be single values.
func (m *GRPCMatch) UnmarshalYAML(n *yaml.Node) error {
	type plain GRPCMatch
	return listOf(n, "status", "in").Decode((*plain)(m))
}

// UnmarshalYAML reads an end; codes and signals may be single values.
func (m *EndMatch) UnmarshalYAML(n *yaml.Node) error {
	type plain EndMatch
	return listOf(n, "code", "signal").Decode((*plain)(m))
}

// UnmarshalYAML reads an event; a scalar is its kind.
func (m *EventMatch) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		m.Event = n.Value
		return nil
	}
	type plain EventMatch
	return n.Decode((*plain)(m))
}

// UnmarshalYAML reads an output; a scalar is its exact text.
func (m *OutputMatch) UnmarshalYAML(n *yaml.Node) error {
	if err := m.Bytes.UnmarshalYAML(n); err != nil || n.Kind == yaml.ScalarNode {
		return err
	}
	var rest struct {
		PrefixOf *Bytes  `yaml:"prefix-of"`
		SuffixOf *Bytes  `yaml:"suffix-of"`
		Contains *string `yaml:"contains"`
		Digest   string  `yaml:"digest"`
		Length   *int64  `yaml:"length"`
		Matches  string  `yaml:"matches"`
	}
	if err := n.Decode(&rest); err != nil {
		return err
	}
	m.PrefixOf, m.SuffixOf, m.Contains = rest.PrefixOf, rest.SuffixOf, rest.Contains
	m.Digest, m.Length, m.Matches = rest.Digest, rest.Length, rest.Matches
	return nil
}

// UnmarshalYAML reads a match of messages; a number is Count, a list is All.
func (m *MessagesMatch) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&m.Count)
	}
	if n.Kind == yaml.SequenceNode {
		return n.Decode(&m.All)
	}
	type plain MessagesMatch
	return listOf(n, "some", "none").Decode((*plain)(m))
}

// UnmarshalYAML reads a body; a scalar is its exact text.
func (m *BodyMatch) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		text := n.Value
		m.Text = &text
		return nil
	}
	type plain BodyMatch
	return n.Decode((*plain)(m))
}

// clauseFields are the keys of a clause that are not the names of exchanges.
var clauseFields = []string{"rule", "orders", "metrics", "parity", "sequence", "never", "says"}

// UnmarshalYAML reads a clause; every key that is not in clauseFields is a subject.
func (c *Clause) UnmarshalYAML(n *yaml.Node) error {
	var fixed struct {
		Rule     string            `yaml:"rule"`
		Orders   orders            `yaml:"orders"`
		Metrics  map[string]string `yaml:"metrics"`
		Parity   []string          `yaml:"parity"`
		Sequence []string          `yaml:"sequence"`
		Says     string            `yaml:"says"`
		Never    eventList         `yaml:"never"`
	}
	if err := n.Decode(&fixed); err != nil {
		return err
	}
	*c = Clause{Rule: fixed.Rule, Orders: fixed.Orders, Metrics: fixed.Metrics,
		Parity: fixed.Parity, Sequence: fixed.Sequence, Says: fixed.Says, Line: n.Line}
	var err error
	if c.Subjects, err = subjects(n, clauseFields); err != nil {
		return err
	}
	if len(fixed.Never) == 0 {
		return nil
	}
	if len(c.Subjects) != 1 {
		return fmt.Errorf("never beside %d exchanges: move it into one of them", len(c.Subjects))
	}
	for _, m := range c.Subjects {
		m.Never = append(m.Never, fixed.Never...)
	}
	return nil
}

// subjects reads the matchers among the keys of n.
func subjects(n *yaml.Node, except []string) (map[string]*Match, error) {
	var out map[string]*Match
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if slices.Contains(except, key) {
			continue
		}
		m := new(Match)
		if err := n.Content[i+1].Decode(m); err != nil {
			return nil, err
		}
		if out == nil {
			out = map[string]*Match{}
		}
		out[subjectName(key)] = m
	}
	return out, nil
}

// subjectName returns the exchange that a key of a clause names.
func subjectName(key string) string {
	key = strings.TrimPrefix(key, "each ")
	if key == "stream" {
		return "send"
	}
	return key
}

// orders is read from a mapping and keeps its order.
type orders []Order

// UnmarshalYAML reads the orders in the order of the file.
func (o *orders) UnmarshalYAML(n *yaml.Node) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		order := Order{Name: n.Content[i].Value}
		body := n.Content[i+1]
		for j := 0; j+1 < len(body.Content); j += 2 {
			if body.Content[j].Value == "min" {
				least, err := strconv.Atoi(body.Content[j+1].Value)
				if err != nil {
					return err
				}
				order.Min = least
			}
		}
		var err error
		if order.Subjects, err = subjects(body, []string{"min"}); err != nil {
			return err
		}
		*o = append(*o, order)
	}
	return nil
}

type eventList []EventMatch

// UnmarshalYAML reads one event or a list of them.
func (l *eventList) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		n = inList(n)
	}
	return n.Decode((*[]EventMatch)(l))
}

// desugar rewrites the shorthands of a script's top level: `send` is a single
// step, and a mapping under `expect` a single clause.
func desugar(root *yaml.Node) *yaml.Node {
	out := *root
	out.Content = slices.Clone(root.Content)
	for i := 0; i+1 < len(out.Content); i += 2 {
		key, value := out.Content[i], out.Content[i+1]
		switch {
		case key.Value == "send":
			step := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: key.Line, Column: key.Column, Content: []*yaml.Node{key, value}}
			steps := *key
			steps.Value = "steps"
			out.Content[i], out.Content[i+1] = &steps, inList(step)
		case key.Value == "expect" && value.Kind == yaml.MappingNode:
			out.Content[i+1] = inList(value)
		}
	}
	return listOf(&out, "rules", "needs")
}
