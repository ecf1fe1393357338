package ledger

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// sample is one line of an exposition: a series and its value.
type sample struct {
	name   string
	labels []label // sorted by name
	value  float64
}

type label struct{ name, value string }

// key identifies a series regardless of the order of its labels.
func (s sample) key() string {
	var b strings.Builder
	b.WriteString(s.name)
	b.WriteByte(0)
	for _, l := range s.labels {
		b.WriteString(l.name + "\x01" + l.value + "\x00")
	}
	return b.String()
}

// text returns the series as written, for messages.
func (s sample) text() string {
	if len(s.labels) == 0 {
		return s.name
	}
	parts := make([]string, len(s.labels))
	for i, l := range s.labels {
		parts[i] = fmt.Sprintf("%s=%q", l.name, l.value)
	}
	return s.name + "{" + strings.Join(parts, ",") + "}"
}

func (s sample) label(name string) (string, bool) {
	for _, l := range s.labels {
		if l.name == name {
			return l.value, true
		}
	}
	return "", false
}

// parseSample parses "name{label="value",…} value [timestamp]".
func parseSample(line string) (sample, error) {
	i := strings.IndexAny(line, "{ \t")
	if i < 0 {
		return sample{}, fmt.Errorf("%q has no value", cut(line))
	}
	s := sample{name: line[:i]}
	if !validName(s.name, true) {
		return s, fmt.Errorf("%q is not a metric name", cut(s.name))
	}
	rest := strings.TrimLeft(line[i:], " \t")
	if strings.HasPrefix(rest, "{") {
		var err error
		if s.labels, rest, err = parseLabels(rest[1:]); err != nil {
			return s, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 || len(fields) > 2 {
		return s, fmt.Errorf("%s: want a value and an optional timestamp, got %q", s.name, cut(rest))
	}
	var err error
	if s.value, err = parseValue(fields[0]); err != nil {
		return s, fmt.Errorf("%s: %w", s.name, err)
	}
	if len(fields) == 2 {
		if _, err := strconv.ParseInt(fields[1], 10, 64); err != nil {
			return s, fmt.Errorf("%s: timestamp %q is not a 64-bit integer", s.name, cut(fields[1]))
		}
	}
	return s, nil
}

// parseLabels parses the text after an opening brace and returns the text after the closing one.
func parseLabels(text string) ([]label, string, error) {
	var labels []label
	for {
		text = strings.TrimLeft(text, " \t")
		if rest, ok := strings.CutPrefix(text, "}"); ok {
			slices.SortFunc(labels, func(a, b label) int { return strings.Compare(a.name, b.name) })
			return labels, rest, nil
		}
		l, rest, err := parseLabel(text)
		if err != nil {
			return nil, "", err
		}
		if slices.ContainsFunc(labels, func(o label) bool { return o.name == l.name }) {
			return nil, "", fmt.Errorf("duplicate label %s", l.name)
		}
		labels = append(labels, l)
		text = strings.TrimLeft(rest, " \t")
		if rest, ok := strings.CutPrefix(text, ","); ok {
			text = rest
		} else if !strings.HasPrefix(text, "}") {
			return nil, "", fmt.Errorf("want a comma or a closing brace after label %s", l.name)
		}
	}
}

func parseLabel(text string) (label, string, error) {
	name, rest, ok := strings.Cut(text, "=")
	if !ok {
		return label{}, "", errors.New("the labels do not end")
	}
	l := label{name: strings.TrimRight(name, " \t")}
	if !validName(l.name, false) {
		return l, "", fmt.Errorf("%q is not a label name", cut(l.name))
	}
	rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " \t"), `"`)
	if !ok {
		return l, "", fmt.Errorf("the value of label %s is not in quotes", l.name)
	}
	var err error
	if l.value, rest, err = unquote(rest); err != nil {
		return l, "", fmt.Errorf("label %s: %w", l.name, err)
	}
	return l, rest, nil
}

// unquote reads a label value up to its closing quote.
func unquote(text string) (value, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			return b.String(), text[i+1:], nil
		case '\\':
			i++
			if i == len(text) {
				return "", "", errors.New("the value does not end")
			}
			switch text[i] {
			case '\\', '"':
				b.WriteByte(text[i])
			case 'n':
				b.WriteByte('\n')
			default:
				return "", "", fmt.Errorf(`escape %q is not \\, \" or \n`, text[i-1:i+1])
			}
		default:
			b.WriteByte(text[i])
		}
	}
	return "", "", errors.New("the value does not end")
}

// parseValue parses a floating point number of the format: decimal, or NaN, +Inf, -Inf.
func parseValue(text string) (float64, error) {
	switch text {
	case "NaN":
		return math.NaN(), nil
	case "+Inf", "Inf":
		return math.Inf(1), nil
	case "-Inf":
		return math.Inf(-1), nil
	}
	if strings.Trim(text, "0123456789+-.eE") != "" || strings.ContainsAny(text, "_xXpP") {
		return 0, fmt.Errorf("value %q is not a number", cut(text))
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("value %q is not a number", cut(text))
	}
	return v, nil
}

// validName reports whether s is a metric name or, without colons, a label name.
func validName(s string, colons bool) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '_', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case c == ':' && colons:
		case '0' <= c && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return s != ""
}

// cutBlank returns the first word of text and the text after the following blank.
func cutBlank(text string) (word, rest string) {
	text = strings.TrimLeft(text, " \t")
	i := strings.IndexAny(text, " \t")
	if i < 0 {
		return text, ""
	}
	return text[:i], text[i+1:]
}

// cut truncates a quotation in a message.
func cut(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
