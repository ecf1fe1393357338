package scenarios

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// variable lists the fields of a step in which ${...} stands for a value: a text, or every string of a JSON value except
// its keys. Anywhere else it is text, since a shell has its own use for it.
var variable = map[reflect.Type][]string{
	reflect.TypeFor[Send]():     {"Path", "Headers", "Message", "JSON"},
	reflect.TypeFor[Query]():    {"Text", "Values"},
	reflect.TypeFor[Sign]():     {"Path", "Username", "Token"},
	reflect.TypeFor[Part]():     {"Filename"},
	reflect.TypeFor[Envelope](): {"Message", "JSON"},
	reflect.TypeFor[Bytes]():    {"JSON"},
	reflect.TypeFor[Field]():    {"Value"},
	reflect.TypeFor[Start]():    {"Cwd", "Envs", "Tag", "Headers", "Query"},
	reflect.TypeFor[Target]():   {"Tag"},
}

// Resolve returns a copy of a step that makes a request or writes, with the values of its variables. A string of a JSON value
// that is exactly one ${NAME.pid} becomes a number, as the field of a message requires. It returns the first error of lookup,
// which it calls in the order of the fields, sorted by key in a mapping. Any other step returns as it is.
func (s *Step) Resolve(lookup func(name string) (string, error)) (*Step, error) {
	if s.Await != nil || s.Parallel != nil || s.Race != nil {
		return s, nil
	}
	r := &resolver{lookup: lookup}
	out := r.resolved(reflect.ValueOf(*s), false).Interface().(Step)
	return &out, r.err
}

type resolver struct {
	lookup func(string) (string, error)
	err    error
}

// resolved returns a value with its variables resolved. here is set for a field in which ${...} stands for a value.
func (r *resolver) resolved(v reflect.Value, here bool) reflect.Value {
	switch v.Kind() {
	default:
		return v
	case reflect.String:
		if !here {
			return v
		}
		return reflect.ValueOf(r.text(v.String())).Convert(v.Type())
	case reflect.Interface:
		if !here || v.IsNil() {
			return v
		}
		return reflect.ValueOf(r.json(v.Interface()))
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(r.resolved(v.Elem(), here))
		return out
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; out.Field(i).CanSet() {
				out.Field(i).Set(r.resolved(v.Field(i), here || slices.Contains(variable[v.Type()], name)))
			}
		}
		return out
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(r.resolved(v.Index(i), here))
		}
		return out
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMap(v.Type())
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			out.SetMapIndex(key, r.resolved(v.MapIndex(key), here))
		}
		return out
	}
}

func (r *resolver) text(s string) string {
	out, err := Expand(s, func(name string) (value string, known bool) {
		if r.err == nil {
			value, r.err = r.lookup(name)
		}
		return value, true
	})
	if r.err == nil {
		r.err = err
	}
	return out
}

func (r *resolver) json(v any) any {
	return mapStrings(v, func(s string) any {
		out := r.text(s)
		if strings.HasPrefix(s, "${") && strings.HasSuffix(s, ".pid}") && strings.Count(s, "}") == 1 {
			return json.Number(out)
		}
		return out
	})
}
