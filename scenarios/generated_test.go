package scenarios

import (
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The parsed form, which the program reads at its start, is that of the YAML, with its digest.
func TestTheGeneratedCatalogueIsThatOfTheYAML(t *testing.T) {
	fromYAML, err := parseEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := Digest()
	if err != nil {
		t.Fatal(err)
	}
	want, err := fromYAML.marshal(digest)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("catalogue.cbor", want, 0o600); err != nil {
			t.Fatal(err)
		}
	} else if !reflect.DeepEqual(want, generated) {
		t.Error("catalogue.cbor is not that of the YAML: go test ./scenarios -run Generated -update")
	}
	got, err := unmarshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(fromYAML, got, anyInteger, cmpopts.IgnoreUnexported(Catalogue{})); d != "" {
		t.Errorf("the parsed form loses something (-YAML +parsed):\n%s", d)
	}
}

// anyInteger compares integers within JSON values: the reader of YAML makes them int, that of the parsed form int64.
var anyInteger = cmp.FilterValues(func(a, b any) bool { return isInt(a) && isInt(b) }, cmp.Comparer(func(a, b any) bool {
	return reflect.ValueOf(a).Int() == reflect.ValueOf(b).Int()
}))

func isInt(v any) bool {
	switch v.(type) {
	case int, int64:
		return true
	}
	return false
}

// While somebody edits the YAML, the program reads that.
func TestAParsedFormOfOtherYAMLIsNotUsed(t *testing.T) {
	c, err := parseEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	form, err := c.marshal("sha256:of other files")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := unmarshal(form); got != nil || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := unmarshal(form[:len(form)/2]); err == nil {
		t.Error("half of it is accepted")
	}
}

// BenchmarkStart is what each start of a command that needs the catalogue takes.
func BenchmarkStart(b *testing.B) {
	for name, read := range map[string]func() (*Catalogue, error){
		"YAML": parseEmbedded, "parsed": func() (*Catalogue, error) { return unmarshal(generated) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
