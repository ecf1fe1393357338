package reports

import (
	"reflect"
	"regexp"
	"strings"
	"time"
)

// infect appends hostile text to every string below v, and puts one wherever there is none. It
// leaves strings that name one of a few values alone unless all is set.
func infect(v reflect.Value, all bool, depth int) {
	if depth > 12 || !v.CanSet() || v.Type() == reflect.TypeFor[time.Time]() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if all || v.Type() == reflect.TypeFor[string]() && !strings.HasPrefix(v.String(), "assay.") {
			v.SetString(v.String() + hostileText)
		}
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		infect(v.Elem(), all, depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			infect(v.Field(i), all, depth+1)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(append(v.Bytes(), hostileText...))
			return
		}
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		for i := range v.Len() {
			infect(v.Index(i), all, depth+1)
		}
	case reflect.Map:
		infected := reflect.MakeMap(v.Type())
		for _, k := range append(v.MapKeys(), reflect.New(v.Type().Key()).Elem()) {
			key, value := reflect.New(k.Type()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.Set(k)
			if old := v.MapIndex(k); old.IsValid() {
				value.Set(old)
			}
			infect(key, all, depth+1)
			infect(value, all, depth+1)
			infected.SetMapIndex(key, value)
		}
		v.Set(infected)
	default:
	}
}

// ours are the colours that drawings have.
var ours = regexp.MustCompile("\x1b\\[(0|1|2|1;31|32|33|1;35|36)m")
