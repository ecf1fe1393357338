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

// Many is a list that may be written as a single value.
type Many[T any] []T

// UnmarshalYAML reads a list, or a single value as a list of one.
func (m *Many[T]) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		n = inList(n)
	}
	return n.Decode((*[]T)(m))
}

func inList(n *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: n.Line, Column: n.Column, Content: []*yaml.Node{n}}
}

// orScalar reads a mapping, or passes on the text of a scalar.
func orScalar(n *yaml.Node, mapping any, scalar func(text string)) error {
	if n.Kind == yaml.ScalarNode {
		scalar(n.Value)
		return nil
	}
	return n.Decode(mapping)
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

// UnmarshalYAML reads a split; the scalar "every-byte" sets EveryByte.
func (s *Split) UnmarshalYAML(n *yaml.Node) error {
	type plain Split
	return orScalar(n, (*plain)(s), func(text string) { s.EveryByte = text == "every-byte" })
}

// UnmarshalYAML reads bytes; a scalar is a text.
func (b *Bytes) UnmarshalYAML(n *yaml.Node) error {
	type plain Bytes
	return orScalar(n, (*plain)(b), func(text string) { b.Text = &text })
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

// UnmarshalYAML reads a WebSocket match; a scalar is the type.
func (m *WSMatch) UnmarshalYAML(n *yaml.Node) error {
	type plain WSMatch
	return orScalar(n, (*plain)(m), func(text string) { m.Type = text })
}

// UnmarshalYAML reads a match. A scalar is "ok" or an error code; a set or list may be
// a single value.
func (m *Match) UnmarshalYAML(n *yaml.Node) error {
	type plain Match
	return orScalar(n, (*plain)(m), func(text string) {
		if text == "ok" {
			ok := true
			m.OK = &ok
		} else {
			m.Error = &ErrorMatch{Code: []string{text}}
		}
	})
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
		return n.Decode(&m.Code)
	}
	type plain ErrorMatch
	return n.Decode((*plain)(m))
}

// UnmarshalYAML reads an event; a scalar is its kind.
func (m *EventMatch) UnmarshalYAML(n *yaml.Node) error {
	type plain EventMatch
	return orScalar(n, (*plain)(m), func(text string) { m.Event = text })
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
	type plain MessagesMatch
	switch n.Kind {
	case yaml.ScalarNode:
		return n.Decode(&m.Count)
	case yaml.SequenceNode:
		return n.Decode(&m.All)
	default:
		return n.Decode((*plain)(m))
	}
}

// UnmarshalYAML reads a body; a scalar is its exact text.
func (m *BodyMatch) UnmarshalYAML(n *yaml.Node) error {
	type plain BodyMatch
	return orScalar(n, (*plain)(m), func(text string) { m.Text = &text })
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
		Never    Many[EventMatch]  `yaml:"never"`
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

// desugar rewrites the shorthand of a script's top level: `send` is a single step.
func desugar(root *yaml.Node) *yaml.Node {
	out := *root
	out.Content = slices.Clone(root.Content)
	for i := 0; i+1 < len(out.Content); i += 2 {
		key, value := out.Content[i], out.Content[i+1]
		if key.Value == "send" {
			step := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: key.Line, Column: key.Column, Content: []*yaml.Node{key, value}}
			steps := *key
			steps.Value = "steps"
			out.Content[i], out.Content[i+1] = &steps, inList(step)
		}
	}
	return &out
}
