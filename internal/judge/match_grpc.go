package judge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
)

// matchGRPC compares the status of a gRPC or gRPC-Web response with its matcher.
func matchGRPC(l *look) finding {
	m := l.m.GRPC
	got := l.x.GRPC
	if got == nil {
		return l.fails(-1, "grpc-status: want %s, saw none (%s)", grpcWant(m.Status), answer(l.x)).as(shortfallOr(l.x, bundle.SymptomNoEndStream))
	}
	switch {
	case len(m.Status) > 0 && !slices.Contains(m.Status, got.Code):
		return l.fails(-1, "grpc-status: want %s, saw %s", grpcWant(m.Status), grpcText(got)).as(grpcSymptom(m.Status, got.Code))
	case len(m.In) > 0 && !slices.Contains(m.In, got.In):
		return l.fails(-1, "grpc-status: want it in the %s, saw it in the %s", phrase.Legal(m.In, phrase.AsIs), orNone(got.In)).as(bundle.SymptomHeader)
	case m.Message != "" && !strings.Contains(got.Message, l.expand(m.Message)):
		return l.fails(-1, "grpc-message: want it to contain %s, saw %s", phrase.QuoteString(l.expand(m.Message)), phrase.QuoteString(got.Message))
	}
	seen := oneOf(len(m.Status), fmt.Sprintf("grpc-status %d", got.Code)).seen
	return saw(join(seen, oneOf(len(m.In), "in "+got.In).seen))
}

func grpcWant(status []int) string {
	if len(status) == 0 {
		return "one"
	}
	return phrase.Legal(status, strconv.Itoa)
}

func grpcText(s *bundle.GRPCStatus) string {
	if s.Message == "" {
		return strconv.Itoa(s.Code)
	}
	return strconv.Itoa(s.Code) + " " + phrase.QuoteString(s.Message)
}

// matchMetadata compares trailing metadata: a text is one of the values, "*" is any value, a list
// is all values in order, null is no value. HTTP may join the values of a field with commas, so
// joined values are compared, too.
func matchMetadata(l *look) finding {
	all := trailing(l.x)
	for _, name := range slices.Sorted(maps.Keys(l.m.Metadata)) {
		got := all[name]
		switch want := l.m.Metadata[name].(type) {
		case nil:
			if len(got) > 0 {
				return l.fails(-1, "metadata %s: want none, saw %s", name, phrase.QuoteString(got[0]))
			}
		case string:
			want = l.expand(want)
			if len(got) == 0 || want != "*" && !slices.Contains(got, want) && !slices.Contains(split(got), want) {
				return l.fails(-1, "metadata %s: want %s, saw %s", name, headerWant(want), valuesText(got))
			}
		case []any:
			values := make([]string, len(want))
			for i, v := range want {
				values[i] = l.expand(fmt.Sprint(v))
			}
			if !slices.Equal(got, values) && !slices.Equal(split(got), values) {
				return l.fails(-1, "metadata %s: want %s, saw %s", name, valuesText(values), valuesText(got))
			}
		}
	}
	return finding{}
}

// split splits values at commas.
func split(values []string) []string {
	var out []string
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			out = append(out, strings.TrimSpace(part))
		}
	}
	return out
}

func valuesText(values []string) string {
	if len(values) == 0 {
		return "none"
	}
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = phrase.QuoteString(v)
	}
	return strings.Join(words, " then ")
}
