package scenarios

import "reflect"

// awaitTag marks a condition of an Await: "content" for content of the response, which can no longer
// arrive once the exchange has ended; "state" for a state of the exchange or its connection.
const awaitTag = "awaits"

// awaitConditions are the names of the conditions of an Await.
var awaitConditions = func() []string {
	var names []string
	for f := range reflect.TypeFor[Await]().Fields() {
		if f.Tag.Get(awaitTag) != "" {
			names = append(names, f.Tag.Get("yaml"))
		}
	}
	return names
}()

// Conditions lists the conditions that are set, by name.
func (a *Await) Conditions() []string {
	var names []string
	a.eachCondition(func(f reflect.StructField) { names = append(names, f.Tag.Get("yaml")) })
	return names
}

// ForContent reports whether the await waits for content of the response.
func (a *Await) ForContent() (content bool) {
	a.eachCondition(func(f reflect.StructField) { content = content || f.Tag.Get(awaitTag) == "content" })
	return content
}

func (a *Await) eachCondition(visit func(reflect.StructField)) {
	for f, v := range reflect.ValueOf(a).Elem().Fields() {
		if f.Tag.Get(awaitTag) != "" && !v.IsZero() {
			visit(f)
		}
	}
}
