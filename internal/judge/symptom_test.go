package judge

import (
	"testing"

	"assay/internal/record/bundle"
)

func TestWhatIsMissingInTheMiddleIsALossAndWhatIsChangedIsNot(t *testing.T) {
	for _, c := range []struct {
		got, want string
		symptom   bundle.Symptom
	}{
		{"", "one\ntwo\nthree\n", bundle.SymptomOutputMissing},
		{"one\ntwo\n", "one\ntwo\nthree\n", bundle.SymptomOutputShort},
		{"one\nthree\n", "one\ntwo\nthree\n", bundle.SymptomOutputShort},
		{"one\nTWO\nthree\n", "one\ntwo\nthree\n", bundle.SymptomOutputOther},
		{"one\nTWO\n", "one\ntwo\nthree\n", bundle.SymptomOutputOther},
		{"one\none\ntwo\n", "one\ntwo\n", bundle.SymptomOutputOther},
	} {
		at, differ := firstDifference([]byte(c.got), []byte(c.want))
		if !differ {
			t.Fatalf("%q and %q do not differ", c.got, c.want)
		}
		if got := lossSymptom(at, []byte(c.got), []byte(c.want)); got != c.symptom {
			t.Errorf("%q for %q: %s, want %s", c.got, c.want, got, c.symptom)
		}
	}
	for _, c := range []struct {
		at, got, want int64
		symptom       bundle.Symptom
	}{
		{0, 0, 9, bundle.SymptomOutputMissing}, {5, 5, 9, bundle.SymptomOutputShort}, {5, 8, 9, bundle.SymptomOutputShort}, {5, 9, 9, bundle.SymptomOutputOther},
	} {
		if got := keptSymptom(c.at, c.got, c.want); got != c.symptom {
			t.Errorf("%d bytes of %d that differ at %d: %s, want %s", c.got, c.want, c.at, got, c.symptom)
		}
	}
}
