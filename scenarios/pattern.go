package scenarios

import (
	"fmt"
	"regexp"
	"strings"
)

// EventPattern is a compiled pattern over event kinds.
type EventPattern struct {
	re *regexp.Regexp
	// keepalive is set if the pattern names keepalives; otherwise Match ignores them.
	keepalive bool
}

// eventLetters maps each kind of event to its letter in the regular expression.
var eventLetters = map[string]string{"start": "s", "data": "d", "end": "e", "keepalive": "k", "unknown": "u", "count": "c", "result": "r", "error": "f"}

var patternWord = regexp.MustCompile(`[a-z]+|[()|*+?]|\s+|.`)

// CompileEvents compiles a pattern: kinds joined by white space, with ( ) | * +
// and ? as in a regular expression. It must cover all events, from first to last.
func CompileEvents(pattern string) (*EventPattern, error) {
	var b strings.Builder
	p := &EventPattern{}
	for _, word := range patternWord.FindAllString(pattern, -1) {
		switch {
		case strings.TrimSpace(word) == "":
		case strings.Contains("()|*+?", word):
			b.WriteString(word)
		case eventLetters[word] != "":
			b.WriteString(eventLetters[word])
			p.keepalive = p.keepalive || word == "keepalive"
		default:
			kinds := []string{"start", "data", "end", "keepalive", "unknown", "count", "result", "error"}
			if near := didYouMean(word, kinds); near != "" {
				return nil, fmt.Errorf("%q is not a kind of event; %s", word, near)
			}
			return nil, fmt.Errorf("%q is not a kind of event; the kinds are %s", word, strings.Join(kinds, ", "))
		}
	}
	re, err := regexp.Compile("^(?:" + b.String() + ")$")
	if err != nil {
		return nil, fmt.Errorf("the pattern %q is not balanced", pattern)
	}
	p.re = re
	return p, nil
}

// Match reports whether the pattern matches the kinds.
func (p *EventPattern) Match(kinds []string) bool {
	var b strings.Builder
	for _, k := range kinds {
		switch letter := eventLetters[k]; {
		case letter == "k" && !p.keepalive:
		case letter == "":
			return false
		default:
			b.WriteString(letter)
		}
	}
	return p.re.MatchString(b.String())
}
