package target

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// mostWords limits the quoted words of a server, in characters.
const mostWords = 200

// words returns what a server says about a refusal, as a sentence to append: the message of an
// error, or else the text of the body without markup. It returns "" if the server says nothing.
func (t *Target) words(x *transport.Exchange, s bundle.Exchange) string {
	said := ""
	if s.Error != nil {
		said = s.Error.Message
	}
	if said == "" {
		said = saidIn(x.BodyBytes())
	}
	if said = t.shortened(said); said == "" {
		return ""
	}
	return fmt.Sprintf(" It says: %q.", said)
}

// shortened returns the words of a server in one line, without secrets and of limited length.
func (t *Target) shortened(said string) string {
	said = strings.Join(strings.Fields(strings.ToValidUTF8(t.redactor.Text(said), "\uFFFD")), " ")
	if utf8.RuneCountInString(said) > mostWords {
		said = string([]rune(said)[:mostWords]) + "…"
	}
	return said
}

// messageFields are the fields of JSON errors that hold words, those for people first.
var messageFields = []string{"message", "error_description", "detail", "error", "msg", "title", "reason"}

// saidIn returns the message in a JSON body, or the text of any other.
func saidIn(body []byte) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) == nil {
		for _, name := range messageFields {
			var text string
			if json.Unmarshal(fields[name], &text) == nil && text != "" {
				return text
			}
			if inner := saidInObject(fields[name]); inner != "" {
				return inner
			}
		}
		return string(body)
	}
	if looksLikeHTML(body) {
		return textOf(string(body))
	}
	return string(body)
}

// saidInObject returns the message of an error that is an object: {"error":{"message":"…"}}.
func saidInObject(value json.RawMessage) string {
	var inner struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(value, &inner) // anything else has no message
	return inner.Message
}

var (
	unseen = regexp.MustCompile(`(?is)<(script|style|head)\b.*?</(script|style|head)>|<!--.*?-->`)
	titled = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	markup = regexp.MustCompile(`<[^>]*>`)
)

// textOf returns the title and the text of a page, without markup.
func textOf(page string) string {
	title := ""
	if m := titled.FindStringSubmatch(page); m != nil {
		title = strings.TrimSpace(m[1])
	}
	text := strings.TrimSpace(markup.ReplaceAllString(unseen.ReplaceAllString(page, " "), " "))
	if title != "" && !strings.HasPrefix(text, title) {
		text = title + " " + text
	}
	return text
}
