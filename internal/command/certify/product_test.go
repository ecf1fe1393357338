package certify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const good = `schema: assay.product/v1
vendor: Acme Ltd
product: Gateway
version: 1.2.3
url: https://acme.example/gateway
contact: support@acme.example
`

func TestAProductFileIsChecked(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"good":                     {good, ""},
		"a URL as contact":         {strings.Replace(good, "support@acme.example", "https://acme.example/help", 1), ""},
		"all members":              {good + "description: A gateway.\ndigest: sha256:" + strings.Repeat("0a", 32) + "\n", ""},
		"empty":                    {"", "it is empty"},
		"not YAML":                 {"vendor: [", "P.yaml: "},
		"an unknown member":        {good + "colour: red\n", "colour"},
		"two documents":            {good + "---\n" + good, "more than one document"},
		"another version":          {strings.Replace(good, "v1", "v2", 1), "P.yaml:1: schema"},
		"no vendor":                {strings.Replace(good, "vendor: Acme Ltd\n", "", 1), "vendor: it is missing"},
		"a name without letters":   {strings.Replace(good, "Acme Ltd", "'***'", 1), "P.yaml:2: vendor: want at least one letter"},
		"a long name":              {strings.Replace(good, "Acme Ltd", strings.Repeat("a", 101), 1), "it has 101 characters: want at most 100"},
		"a control character":      {strings.Replace(good, "Acme Ltd", `"Acme \x1b[31m Ltd"`, 1), "U+001B, which is not printable"},
		"a turn of the direction":  {strings.Replace(good, "Acme Ltd", `"Acme \u202E dtL"`, 1), "U+202E, which is not printable"},
		"two lines":                {strings.Replace(good, "Acme Ltd", `"Acme\nLtd"`, 1), "U+000A"},
		"a script as URL":          {strings.Replace(good, "https://acme.example/gateway", "javascript:alert(1)", 1), "P.yaml:5: url"},
		"a user in the URL":        {strings.Replace(good, "https://acme", "https://me:secret@acme", 1), "without a user"},
		"a contact that is a name": {strings.Replace(good, "support@acme.example", "Support", 1), "P.yaml:6: contact"},
		"a short digest":           {good + "digest: sha256:12\n", "P.yaml:7: digest"},
		"spaces around":            {strings.Replace(good, "Acme Ltd", "' Acme'", 1), "begins or ends with a space"},
	} {
		_, err := ParseProduct("P.yaml", []byte(c.text))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	name := filepath.Join(t.TempDir(), "P.yaml")
	if err := os.WriteFile(name, []byte(strings.Repeat("#", maxProduct+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadProduct(name); err == nil {
		t.Error("a file of any size is read")
	}
}

func TestASlugIsAPartOfAPath(t *testing.T) {
	for text, want := range map[string]string{
		"Acme Ltd": "acme-ltd", "../../etc": "etc", "Ünïted & Co.": "n-ted-co", "***": "", "-a-": "a", strings.Repeat("ab ", 30): "ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-a",
	} {
		if got := Slug(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzParseProduct(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("vendor: &a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if p, err := ParseProduct("P.yaml", text); err == nil && (Slug(p.Vendor) == "" || strings.ContainsAny(p.Vendor+p.Product+p.Version, "\n\x1b")) {
			t.Errorf("%q is accepted", text)
		}
	})
}
