package engine

import "testing"

func TestAKindOfStallIsEstablishedByThreeScenarios(t *testing.T) {
	var s vainWaits
	const kind, other = "output of process.Process/Start", "head of process.Process/List"
	for _, scenario := range []string{"a", "a", "b"} {
		s.put(kind, scenario)
	}
	if s.established(kind) || s.any() {
		t.Fatal("two scenarios establish it")
	}
	s.put(other, "c")
	if s.established(kind) {
		t.Fatal("a stall of another kind counts")
	}
	s.put(kind, "c")
	if !s.established(kind) || !s.any() || s.established(other) {
		t.Error("three scenarios do not establish it, or establish another kind")
	}
}

func TestTheKindOfAWaitHasNoDetailsOfTheScript(t *testing.T) {
	start := &handle{rpc: "process.Process/Start"}
	one, two := &waiting{what: `output "ready\n"`, handle: start}, &waiting{what: `output "x"`, handle: start}
	if kindOf(one) != kindOf(two) {
		t.Errorf("%q and %q differ", kindOf(one), kindOf(two))
	}
	if list := (&waiting{what: "end of the answer", handle: &handle{rpc: "process.Process/List"}}); kindOf(list) == kindOf(&waiting{what: "end of the answer", handle: start}) {
		t.Error("the ends of two methods are of one kind")
	}
}
