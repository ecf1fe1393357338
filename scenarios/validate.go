package scenarios

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// validate checks a value against the schema with the name and records its errors.
func (d *document) validate(name string, value any) {
	all, err := compiledSchemas()
	if err != nil {
		d.errorf(nil, "", "%v", err)
		return
	}
	s := all[name]
	var failed *jsonschema.ValidationError
	if err := s.compiled.Validate(value); errors.As(err, &failed) {
		d.report(s, failed)
	}
}

// report walks a tree of schema errors down to its leaves.
func (d *document) report(s *schema, e *jsonschema.ValidationError) {
	if _, ok := e.ErrorKind.(*kind.AnyOf); ok {
		d.reportAny(s, e)
		return
	}
	if len(e.Causes) == 0 {
		d.reportLeaf(s, e)
		return
	}
	if names, ok := e.ErrorKind.(*kind.PropertyNames); ok {
		d.reportName(s, e, names.Property)
		return
	}
	for _, c := range e.Causes {
		d.report(s, c)
	}
}

// reportAny reports the errors for the one of several forms whose type the value has. A
// value of none of the types is reported once, with all types.
func (d *document) reportAny(s *schema, e *jsonschema.ValidationError) {
	depth := len(e.InstanceLocation)
	if types := wrongTypes(e, depth); types != nil {
		var want []string
		for _, t := range types {
			for _, w := range t.ErrorKind.(*kind.Type).Want {
				if !slices.Contains(want, w) {
					want = append(want, w)
				}
			}
		}
		d.reportType(s, types[0], want)
		return
	}
	for _, c := range e.Causes {
		if wrongTypes(c, depth) == nil {
			d.report(s, c)
			return
		}
	}
}

// wrongTypes returns the type errors at the depth if every form below e fails only by its
// type, otherwise nil.
func wrongTypes(e *jsonschema.ValidationError, depth int) []*jsonschema.ValidationError {
	if _, ok := e.ErrorKind.(*kind.Type); ok && len(e.InstanceLocation) == depth {
		return []*jsonschema.ValidationError{e}
	}
	var all []*jsonschema.ValidationError
	for _, c := range e.Causes {
		types := wrongTypes(c, depth)
		if types == nil {
			return nil
		}
		all = append(all, types...)
	}
	return all
}

var plainNames = map[string]string{
	"object": "a mapping", "array": "a list", "string": "a text", "integer": "a whole number",
	"number": "a number", "boolean": "true or false", "null": "nothing",
}

// reportType reports a value whose type is not in want; e is one of the type errors.
func (d *document) reportType(s *schema, e *jsonschema.ValidationError, want []string) {
	got := e.ErrorKind.(*kind.Type).Got
	place := pointer(e.InstanceLocation)
	n := d.at(place)
	words := make([]string, len(want))
	for i, w := range want {
		words[i] = plainNames[w]
	}
	hint := ""
	switch {
	case s.examples(e.SchemaURL) != "":
		hint = s.examples(e.SchemaURL)
	case slices.Contains(want, "string") && (got == "number" || got == "integer" || got == "boolean"):
		hint = fmt.Sprintf("put it in quotes: %q", n.Value)
	case slices.Equal(want, []string{"boolean"}) && got == "string":
		hint = "write true or false; other words are texts"
	case got == "null" && slices.Contains(want, "object"):
		hint = "write {} for an empty mapping"
	}
	d.errorf(n, hint, "%s is %s; it must be %s", d.called(e.InstanceLocation), plainNames[got], strings.Join(words, " or "))
}

// called returns the name of a place in messages: its key, or its number in a list.
func (d *document) called(location []string) string {
	if len(location) == 0 {
		return "the file"
	}
	last := location[len(location)-1]
	if _, ok := d.keys[pointer(location)]; ok {
		return fmt.Sprintf("%q", last)
	}
	return "entry " + last
}

func (d *document) reportLeaf(s *schema, e *jsonschema.ValidationError) {
	place := pointer(e.InstanceLocation)
	name := d.called(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		fields := s.fields(e.SchemaURL)
		for _, p := range k.Properties {
			hint := didYouMean(p, fields)
			if hint == "" {
				hint = "the fields are " + strings.Join(fields, ", ")
			}
			d.errorf(d.key(place+"/"+p), hint, "unknown field %q", p)
		}
	case *kind.Required:
		for _, p := range k.Missing {
			d.errorf(d.key(place), "", "the field %q is missing", p)
		}
	case *kind.Type:
		d.reportType(s, e, k.Want)
	case *kind.Enum:
		d.reportEnum(s, e, k)
	case *kind.Pattern:
		d.errorf(d.at(place), s.examples(e.SchemaURL), "%q is not %s", k.Got, s.titleOr(e.SchemaURL, "valid here"))
	case *kind.MaxProperties:
		d.errorf(d.key(place), "", "%s has %d fields where %d is allowed", s.titleOr(e.SchemaURL, name), k.Got, k.Want)
	case *kind.MinProperties, *kind.MinItems:
		d.errorf(d.at(place), "", "%s is empty", name)
	case *kind.Minimum:
		d.errorf(d.at(place), "", "%s is %s; the minimum is %s", name, k.Got.RatString(), k.Want.RatString())
	case *kind.Maximum:
		d.errorf(d.at(place), "", "%s is %s; the maximum is %s", name, k.Got.RatString(), k.Want.RatString())
	default:
		text := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
		d.errorf(d.at(place), s.examples(e.SchemaURL), "%s: %s", name, text)
	}
}

func (d *document) reportEnum(s *schema, e *jsonschema.ValidationError, k *kind.Enum) {
	var words []string
	for _, w := range k.Want {
		words = append(words, fmt.Sprint(w))
	}
	got, list := fmt.Sprint(k.Got), strings.Join(words, ", ")
	hint := didYouMean(got, words)
	if title := s.titleOr(e.SchemaURL, ""); title != "" {
		if hint == "" {
			hint = "it is one of " + list
		}
		d.errorf(d.at(pointer(e.InstanceLocation)), hint, "%q is not %s", got, title)
		return
	}
	d.errorf(d.at(pointer(e.InstanceLocation)), hint, "%q is not one of %s", got, list)
}

// reportName reports a key that its mapping does not allow.
func (d *document) reportName(s *schema, e *jsonschema.ValidationError, name string) {
	url := e.SchemaURL
	for c := e; len(c.Causes) > 0; {
		c = c.Causes[0]
		url = c.SchemaURL
	}
	title := s.titleOr(url, "valid here")
	d.errorf(d.key(d.placeOfName(pointer(e.InstanceLocation), name)), s.examples(url), "%q is not %s", name, title)
}

// placeOfName returns the place of a key that its mapping does not allow. The validator
// reuses the memory of the location in such an error, so if the mapping there does not have
// the key, placeOfName returns the first place of the key.
func (d *document) placeOfName(mapping, name string) string {
	place := mapping + "/" + name
	if _, ok := d.keys[place]; ok {
		return place
	}
	for _, other := range slices.Sorted(maps.Keys(d.keys)) {
		if strings.HasSuffix(other, "/"+name) {
			return other
		}
	}
	return place
}

func pointer(location []string) string {
	if len(location) == 0 {
		return ""
	}
	return "/" + strings.Join(location, "/")
}
