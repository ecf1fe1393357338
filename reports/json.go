package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"assay/internal/record/bundle"
)

// JSON writes exactly one JSON value, the report of schema assay.report/v1, and a
// newline. Empty lists are [], and every conclusion has its count. Unprintable
// characters are \uNNNN, so that the text is safe to print.
func JSON(w io.Writer, r *bundle.Report) error {
	full := *r
	full.Schema = bundle.ReportSchema
	full.Counts = allCounts(r.Counts)
	full.Rules = make([]bundle.RuleResult, len(r.Rules))
	for i, rule := range r.Rules {
		rule.Scenarios = list(rule.Scenarios)
		full.Rules[i] = rule
	}
	full.Scenarios = make([]bundle.ScenarioResult, len(r.Scenarios))
	for i, s := range r.Scenarios {
		s.Rules = list(s.Rules)
		full.Scenarios[i] = s
	}
	full.Causes = make([]bundle.Cause, len(r.Causes))
	for i, c := range r.Causes {
		c.Follows, c.Scenarios = list(c.Follows), list(c.Scenarios)
		full.Causes[i] = c
	}
	return writeJSON(w, full)
}

func allCounts(counts map[bundle.Conclusion]int) map[bundle.Conclusion]int {
	all := map[bundle.Conclusion]int{}
	for _, c := range bundle.Conclusions() {
		all[c] = counts[c]
	}
	return all
}

// list returns s, or an empty list for nil.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// writeJSON writes v in one write, or nothing when it cannot be encoded.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("report as JSON: %w", err)
	}
	_, err := w.Write(escapeUnprintable(b.Bytes()))
	return err
}

// escapeUnprintable writes runes that encoding/json leaves unescaped but a terminal may
// interpret (C1 controls, bidirectional overrides) as \uNNNN. Such runes occur only
// inside strings.
func escapeUnprintable(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r < 0x7f || unicode.IsPrint(r):
			out = append(out, text[i:i+n]...)
		case r <= 0xffff:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
		i += n
	}
	return out
}
