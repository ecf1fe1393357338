package bundle

import (
	"reflect"
	"unicode/utf8"
)

// Storable replaces each byte that is not UTF-8 by U+FFFD in every string that v, a
// pointer, leads to. JSON does the same when it stores v, so that a verdict on the value in
// memory is the verdict on the stored one. Recorded bytes ([]byte) stay as they are.
func Storable(v any) { makeStorable(reflect.ValueOf(v)) }

func makeStorable(v reflect.Value) {
	if !hasText(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); !utf8.ValidString(s) {
			v.SetString(string([]rune(s)))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			makeStorable(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				makeStorable(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			makeStorable(v.Index(i))
		}
	case reflect.Map:
		makeMapStorable(v)
	default:
	}
}

func makeMapStorable(m reflect.Value) {
	for _, key := range m.MapKeys() {
		k, v := reflect.New(m.Type().Key()).Elem(), reflect.New(m.Type().Elem()).Elem()
		k.Set(key)
		v.Set(m.MapIndex(key))
		makeStorable(k)
		makeStorable(v)
		if k.Equal(key) && (!v.Comparable() || v.Equal(m.MapIndex(key))) {
			continue // others may read the map
		}
		m.SetMapIndex(key, reflect.Value{})
		m.SetMapIndex(k, v)
	}
}

// hasText reports whether a value of a type can lead to a string. It keeps the many
// numbers of an observation out of the search.
func hasText(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return hasText(t.Elem())
	case reflect.Map:
		return hasText(t.Key()) || hasText(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && hasText(f.Type) {
				return true
			}
		}
	default:
	}
	return false
}
