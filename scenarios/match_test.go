package scenarios

import (
	"reflect"
	"slices"
	"testing"
)

func TestEveryFieldOfAMatchSaysWhatItIsAbout(t *testing.T) {
	known := []About{AboutOutcome, AboutHead, AboutProgress, AboutEnd, AboutFrames, AboutAny}
	for _, f := range matchFields {
		if f.Name == "" || !slices.Contains(known, f.About) {
			t.Errorf("field %q is about %q, which is not one of %q", f.Name, f.About, known)
		}
	}
}

func TestAskedYieldsTheFieldsThatAreSet(t *testing.T) {
	yes := true
	m := &Match{OK: &yes, Status: []int{}, Headers: map[string]*string{}, H2: []string{"GOAWAY"}, Within: Span{RTT: 1}}
	var names []string
	for f := range m.Asked() {
		names = append(names, f.Name)
	}
	if want := []string{"ok", "h2", "within"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

// stepsWithoutCall are the kinds of step that make no request of their own.
var stepsWithoutCall = []string{"open", "write", "await", "close", "read", "scrape", "pause", "parallel", "race"}

func TestEveryKindOfStepMakesACallOrIsKnownToMakeNone(t *testing.T) {
	for f := range reflect.TypeFor[Step]().Fields() {
		kind := f.Tag.Get("yaml")
		if kind == "-" {
			continue
		}
		step := &Step{}
		if field := reflect.ValueOf(step).Elem().FieldByIndex(f.Index); f.Type.Kind() == reflect.Pointer {
			field.Set(reflect.New(f.Type.Elem()))
		} else {
			field.Set(reflect.MakeSlice(f.Type, 1, 1))
		}
		call, ok := step.Call()
		switch {
		case ok == slices.Contains(stepsWithoutCall, kind):
			t.Errorf("%s: Call reports %v", kind, ok)
		case ok && call.Kind != kind:
			t.Errorf("%s: Call has kind %q", kind, call.Kind)
		}
		if inside, all := nested(f.Type, reflect.TypeFor[Step]()), visited(step); inside != (all > 1) {
			t.Errorf("%s: it holds steps: %v; Each visits %d", kind, inside, all)
		}
	}
}

func TestEveryFieldOfAnAwaitIsAConditionOrSaysHowToWait(t *testing.T) {
	how := []string{"on", "within", "idle", "proves", "optional"}
	for f := range reflect.TypeFor[Await]().Fields() {
		tag, condition := f.Tag.Lookup(awaitTag)
		switch name := f.Tag.Get("yaml"); {
		case condition == slices.Contains(how, name):
			t.Errorf("%s: it is a condition: %v", name, condition)
		case condition && tag != "content" && tag != "state":
			t.Errorf("%s awaits %q", name, tag)
		}
	}
}

func visited(s *Step) (n int) {
	s.Each(func(*Step) { n++ })
	return n
}

// nested reports whether a field of that type contains steps: a step, a list of steps, or a struct with steps.
func nested(t, step reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return nested(t.Elem(), step)
	case reflect.Struct:
		return t == step || slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Type == step })
	default:
		return false
	}
}

func TestClausesSayWhoseEndTheyNeed(t *testing.T) {
	for name, tc := range map[string]struct {
		expect string
		want   bool
	}{
		"an end":                         {"p: {end: {code: 0}}", true},
		"success":                        {"p: ok", true},
		"a gRPC status":                  {"p: {grpc: {status: 0}}", true},
		"a count of messages":            {"p: {messages: 2}", true},
		"trailing metadata":              {"p: {metadata: {x: y}}", true},
		"HTTP trailers":                  {"p: {trailers: {x: null}}", true},
		"no compression":                 {"p: {compressed: false}", true},
		"whole output":                   {"p: {stdout: x}", true},
		"ends once":                      {"p: {ends: once}", true},
		"one of several":                 {"p: {any: [{name: x, start: true}, {name: y, error: not_found}]}", true},
		"an order of a race":             {"orders: {x: {p: ok, min: 1}}", true},
		"an instant":                     {"sequence: [p.start, p.end]", true},
		"parity":                         {"parity: [p, q]", true},
		"a head":                         {"p: {status: 200, headers: {x: null}}", false},
		"frames":                         {"p: {h2: RST_STREAM}", false},
		"a start":                        {"p: {start: true}", false},
		"part of the output":             {"p: {stdout: {contains: x}}", false},
		"that it never ends":             {"p: {ends: never}", false},
		"that it was not done":           {"p: {outcome: aborted}", false},
		"that it may be aborted, or not": {`p: {outcome: [complete, aborted], stdout: {contains: x}}`, false},
		"the end of what may be aborted": {`p: {outcome: [complete, aborted], end: {code: 0}}`, true},
		"an early instant":               {"sequence: [p.invoked, p.data]", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse("x.yaml", []byte("id: x.y\ntitle: T\nrules: [a.b.c]\nrepeat: {times: 2}\nsteps: [{start: {as: p, sh: x}}, {start: {as: q, sh: x}}, {race: {a: {list: {as: m}}, b: {list: {as: n}}}}]\nexpect: {"+tc.expect+"}"))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Subjects()["p"]; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
