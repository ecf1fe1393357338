package scenarios

import (
	_ "embed"
	"fmt"
	"math"
	"path"
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

// generated is the embedded catalogue in CBOR: to read the YAML takes ten times as long, at every start of the program.
// `go test ./scenarios -run Generated -update` writes it.
//
//go:embed catalogue.cbor
var generated []byte

// parsedForm is the parsed form of the embedded YAML. The texts of the scenarios are left out: they are embedded already.
type parsedForm struct {
	Digest    string // of the YAML, as Digest returns it
	Rules     []*Rule
	Scenarios []*Scenario
}

// marshal returns the parsed form of a catalogue; equal catalogues have equal bytes.
func (c *Catalogue) marshal(digest string) ([]byte, error) {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, err
	}
	p := parsedForm{Digest: digest, Rules: c.Rules}
	for _, s := range c.Scenarios {
		bare := *s
		bare.Text = nil
		p.Scenarios = append(p.Scenarios, &bare)
	}
	return mode.Marshal(p)
}

// unmarshal returns the embedded catalogue from its parsed form, or nil if the form is that of another YAML: somebody
// edits it.
func unmarshal(form []byte) (*Catalogue, error) {
	// Integers within JSON values are int64, as they are float64, never uint64.
	mode, err := cbor.DecOptions{IntDec: cbor.IntDecConvertSignedOrFail, DefaultMapType: reflect.TypeFor[map[string]any](), MaxArrayElements: math.MaxInt32}.DecMode()
	if err != nil {
		return nil, err
	}
	var p parsedForm
	if err := mode.Unmarshal(form, &p); err != nil {
		return nil, fmt.Errorf("read the generated catalogue: %w", err)
	}
	if digest, err := Digest(); err != nil || digest != p.Digest {
		return nil, err
	}
	for _, s := range p.Scenarios {
		if s.Text, err = embedded.ReadFile(path.Clean(s.File)); err != nil {
			return nil, err
		}
	}
	return &Catalogue{Scenarios: p.Scenarios, Rules: p.Rules}, nil
}
