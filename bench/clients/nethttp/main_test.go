package main

import (
	"strings"
	"testing"
)

func TestEnvelopesAreCountedUpToTheEnd(t *testing.T) {
	for body, want := range map[string]struct {
		events int
		ok     bool
	}{
		"\x00\x00\x00\x00\x01a\x00\x00\x00\x00\x00\x02\x00\x00\x00\x02{}": {2, true},
		"\x00\x00\x00\x00\x01a":     {1, false},
		"\x00\x00\x00\x00\x09a":     {0, false},
		"":                          {0, false},
		"\x02\x00\x00\x00\x02{}xxx": {0, true},
	} {
		n := 0
		err := events(strings.NewReader(body), func() { n++ })
		if n != want.events || (err == nil) != want.ok {
			t.Errorf("%q: %d events, %v", body, n, err)
		}
	}
}
