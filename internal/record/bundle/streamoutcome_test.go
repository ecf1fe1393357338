package bundle

import (
	"encoding/json"
	"testing"
)

func TestOutcomesSurviveJSON(t *testing.T) {
	var want StreamOutcomes
	for o := range StreamOutcome(numStreamOutcomes) {
		want[o] = int64(o) + 1
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]int64
	if err := json.Unmarshal(text, &keys); err != nil || len(keys) != numStreamOutcomes {
		t.Fatalf("%s: %v, want all %d keys", text, err, numStreamOutcomes)
	}
	for o := range StreamOutcome(numStreamOutcomes) {
		if keys[o.String()] != int64(o)+1 {
			t.Errorf("%v is %d, want %d", o, keys[o.String()], o+1)
		}
	}
	var got StreamOutcomes
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("read back as %v, %v; want %v", got, err, want)
	}
	if err := json.Unmarshal([]byte(`{"fine":1}`), &got); err == nil {
		t.Error("an unknown outcome is read")
	}
}

func TestWhatCountsAsFailed(t *testing.T) {
	want := map[StreamOutcome]bool{StreamOK: false, StreamKilled: false, StreamBlocked: false, StreamCancelled: false}
	var all StreamOutcomes
	for o := range StreamOutcome(numStreamOutcomes) {
		all[o] = 1
		expected, listed := want[o]
		if !listed {
			expected = true
		}
		if o.Failed() != expected {
			t.Errorf("%v failed: %v", o, o.Failed())
		}
	}
	if all.Failed() != 7 || all.Total() != 11 {
		t.Errorf("%d of %d failed, want 7 of 11", all.Failed(), all.Total())
	}
}
