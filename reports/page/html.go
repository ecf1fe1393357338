package page

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/base/termsafe"
)

// HTML is markup. Only the functions of this package make it from text.
type HTML string

// specials escapes what ends text or an attribute's value.
var specials = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// Text returns text of any origin as markup. What a terminal would obey, such as control
// characters and those that change the direction of text, is spelled out.
func Text(s string) HTML { return HTML(specials.Replace(termsafe.Text(s))) }

// Textf formats, and returns the result as Text does.
func Textf(format string, args ...any) HTML { return Text(fmt.Sprintf(format, args...)) }

// Attrs are the attributes of an element: names, each followed by its value. A last name
// without a value is a boolean attribute.
type Attrs []string

// At returns attributes.
func At(pairs ...string) Attrs { return pairs }

// Class returns the attribute class.
func Class(names string) Attrs { return Attrs{"class", names} }

// void are the elements without content that this package and its views use.
var void = []string{"br", "input", "wbr"}

// El returns an element. Names of elements and attributes are constants of the caller.
func El(name string, attrs Attrs, children ...HTML) HTML {
	var b strings.Builder
	b.WriteString("<" + name)
	for i := 0; i < len(attrs); i += 2 {
		b.WriteString(" " + attrs[i])
		if i+1 < len(attrs) {
			b.WriteString(`="` + string(Text(attrs[i+1])) + `"`)
		}
	}
	b.WriteString(">")
	if slices.Contains(void, name) {
		return HTML(b.String())
	}
	for _, c := range children {
		b.WriteString(string(c))
	}
	b.WriteString("</" + name + ">")
	return HTML(b.String())
}

// Join returns parts one after another, with a separator between them.
func Join(parts []HTML, sep HTML) HTML {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString(string(sep))
		}
		b.WriteString(string(p))
	}
	return HTML(b.String())
}

// longestID is the length at which an anchor is cut.
const longestID = 120

// ID returns an anchor for a thing of some kind: ID("rule", "http.method.get") is
// rule-http.method.get. Characters other than letters, digits, dot, underscore and hyphen
// become ~ and their hexadecimal code.
func ID(kind, name string) string {
	var b strings.Builder
	b.WriteString(kind + "-")
	for i := range len(name) {
		if b.Len() > longestID {
			break
		}
		c := name[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("._-", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "~%02x", c)
	}
	return b.String()
}

// Link returns a link to an anchor of the page.
func Link(id string, children ...HTML) HTML { return El("a", At("href", "#"+id), children...) }
