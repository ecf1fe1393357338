package certify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"assay/internal/base/safefile"
	"assay/internal/record/bundle"
)

// ProductFile is the name of the product file in a certificate.
const ProductFile = "PRODUCT.yaml"

// The limits of a product file: bytes, and characters of a value.
const (
	maxProduct     = 16 << 10
	maxName        = 100
	maxDescription = 400
)

// ReadProduct reads and checks the product file of a vendor. An error names the file, the line and the mend.
func ReadProduct(name string) (bundle.Product, []byte, error) {
	text, err := safefile.Read(name, maxProduct)
	if err != nil {
		return bundle.Product{}, nil, fmt.Errorf("the product file: %w", err)
	}
	p, err := ParseProduct(name, text)
	return p, text, err
}

// ParseProduct parses and checks the text of a product file.
func ParseProduct(name string, text []byte) (bundle.Product, error) {
	var p bundle.Product
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&p); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return p, fmt.Errorf("%s: %w; `assay schema product` has the format", name, err)
	}
	var next any
	if err := d.Decode(&next); !errors.Is(err, io.EOF) {
		return p, fmt.Errorf("%s: it has more than one document: want one product", name)
	}
	var lines yaml.Node
	_ = yaml.Unmarshal(text, &lines) // it was parsed above
	var all []error
	for _, c := range checks(&p) {
		if c.err != nil {
			all = append(all, fmt.Errorf("%s:%d: %s: %w", name, lineOf(&lines, c.field), c.field, c.err))
		}
	}
	return p, errors.Join(all...)
}

// check is the result of checking a field.
type check struct {
	field string
	err   error
}

func checks(p *bundle.Product) []check {
	all := []check{{"schema", nil}}
	if p.Schema != bundle.ProductSchema {
		all[0].err = fmt.Errorf("%q: want %s", clip(p.Schema), bundle.ProductSchema)
	}
	for _, f := range []struct{ field, value string }{{"vendor", p.Vendor}, {"product", p.Product}, {"version", p.Version}} {
		err := line(f.value, maxName)
		if err == nil && Slug(f.value) == "" {
			err = errors.New("want at least one letter or digit of ASCII")
		}
		all = append(all, check{f.field, err})
	}
	return append(all,
		check{"url", page(p.URL)},
		check{"contact", contact(p.Contact)},
		check{"description", optional(p.Description, func(s string) error { return line(s, maxDescription) })},
		check{"digest", optional(p.Digest, digest)},
	)
}

func optional(s string, of func(string) error) error {
	if s == "" {
		return nil
	}
	return of(s)
}

// line checks a text of one printable line. The characters that turn the direction of text would let a name look
// like another one.
func line(s string, limit int) error {
	switch {
	case strings.TrimSpace(s) == "":
		return errors.New("it is missing")
	case !utf8.ValidString(s):
		return errors.New("it is not UTF-8")
	case s != strings.TrimSpace(s):
		return errors.New("it begins or ends with a space")
	case utf8.RuneCountInString(s) > limit:
		return fmt.Errorf("it has %d characters: want at most %d", utf8.RuneCountInString(s), limit)
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("it has the character %U, which is not printable", r)
		}
	}
	return nil
}

func page(s string) error {
	if err := line(s, 2*maxDescription); err != nil {
		return err
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return fmt.Errorf("%q: want the URL of a page, https://… without a user", clip(s))
	}
	return nil
}

func contact(s string) error {
	if err := line(s, maxDescription); err != nil {
		return err
	}
	if strings.Contains(s, "://") {
		return page(s)
	}
	if a, err := mail.ParseAddress(s); err != nil || a.Address != s {
		return fmt.Errorf("%q: want a mail address, or a URL", clip(s))
	}
	return nil
}

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func digest(s string) error {
	if !digestForm.MatchString(s) {
		return fmt.Errorf("%q: want sha256: and 64 hexadecimal digits in lower case", clip(s))
	}
	return nil
}

// clip returns a part of a text for a message; %q makes it harmless.
func clip(s string) string {
	if len(s) > maxName {
		return s[:maxName] + "…"
	}
	return s
}

// lineOf returns the line of a key of a document, 1 if it has none.
func lineOf(doc *yaml.Node, key string) int {
	if len(doc.Content) == 0 {
		return 1
	}
	m := doc.Content[0]
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i].Line
		}
	}
	return 1
}

// Slug returns a name for a path: its ASCII letters in lower case and its digits, with a dash for all else; at most 40
// characters.
func Slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == 40 {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}

// same reports whether the product of a file is that of a certificate.
func same(a, b bundle.Product) bool {
	one, err := json.Marshal(a)
	two, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(one, two)
}
