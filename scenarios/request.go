package scenarios

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Query is the query of a request. A scalar is the exact text; a mapping has one value for each
// name, which is percent-encoded, sorted by name.
type Query struct {
	Text   *string
	Values map[string]string
}

// UnmarshalYAML reads a query; a scalar is its text.
func (q *Query) UnmarshalYAML(n *yaml.Node) error {
	return orScalar(n, &q.Values, func(text string) { q.Text = &text })
}

// Sign adds signature and, with Expires, signature_expiration to the query of a request to files.
// A value of the same name in the query takes precedence.
type Sign struct {
	Operation string `yaml:"operation"` // read or write
	// Path and Username are signed instead of those of the query.
	Path     *string `yaml:"path"`
	Username *string `yaml:"username"`
	Token    *string `yaml:"token"`   // instead of the access token of the target
	Expires  *int64  `yaml:"expires"` // in seconds from now; a negative number is in the past
}

// Multipart is a multipart/form-data body. A list is Parts.
type Multipart struct {
	Parts []Part `yaml:"parts"`
	// Boundary is declared instead of the one in the body; with "" none is declared.
	Boundary *string `yaml:"boundary"`
	// Open leaves out the closing delimiter.
	Open bool `yaml:"open"`
}

// UnmarshalYAML reads a body; a list is its parts.
func (m *Multipart) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		return n.Decode(&m.Parts)
	}
	type plain Multipart
	return n.Decode((*plain)(m))
}

// Part is one part of a multipart body.
type Part struct {
	Name     string        `yaml:"name"`     // default file
	Filename *string       `yaml:"filename"` // absent: the part has none
	Type     string        `yaml:"type"`     // default application/octet-stream
	Of       Many[Segment] `yaml:"of"`
}

// Packed is the gzip form of segments.
type Packed struct {
	Of   Many[Segment] `yaml:"of"`
	Drop int           `yaml:"drop"` // bytes that are left out at the end
}

// Capture splits a variable with a value of an earlier response: NAME.json.FIELD or
// NAME.header.FIELD.
func Capture(variable string) (name, kind, field string, ok bool) {
	name, rest, _ := strings.Cut(variable, ".")
	kind, field, ok = strings.Cut(rest, ".")
	return name, kind, field, ok && (kind == "json" || kind == "header")
}

// References lists the variables in the text of the script, in order.
func (s *Scenario) References() []string {
	var names []string
	for _, m := range reference.FindAllSubmatch(s.Text, -1) {
		if name := string(m[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

var reference = regexp.MustCompile(`\$\{([^}\n]+)\}`)

// checkQuery checks the query of a send and its signature.
func (c *checker) checkQuery(at string, s *Send) {
	if s.RPC != "" && (s.Query != nil || s.Sign != nil) {
		c.errorf(c.at(at), "", "a query is for a request without an rpc")
	}
	if s.Query != nil && s.Query.Text != nil && s.Sign != nil {
		c.errorf(c.key(at+"/sign"), "write the query as a mapping", "the exact text of a query cannot be signed")
	}
	if s.Query != nil {
		c.checkVars(at+"/query", s.Query.text())
		for _, name := range slices.Sorted(maps.Keys(s.Query.Values)) {
			c.checkVars(at+"/query/"+name, s.Query.Values[name])
		}
	}
	if s.Sign == nil {
		return
	}
	for name, value := range map[string]*string{"path": s.Sign.Path, "username": s.Sign.Username} {
		if value != nil {
			c.checkVars(at+"/sign/"+name, *value)
		}
	}
}

// text returns the exact text, "" without one.
func (q *Query) text() string {
	if q.Text == nil {
		return ""
	}
	return *q.Text
}

func (c *checker) checkMultipart(at string, m *Multipart) {
	parts := at
	if _, mapping := c.nodes[at+"/parts"]; mapping {
		parts += "/parts"
	}
	for i := range m.Parts {
		place := fmt.Sprintf("%s/%d", parts, i)
		if name := m.Parts[i].Filename; name != nil {
			c.checkVars(place+"/filename", *name)
		}
		c.checkSegments(place+"/of", m.Parts[i].Of)
	}
}
