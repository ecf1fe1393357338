package scenarios

import (
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
)

const goodKnown = `# what we know of
- pattern: process.output.*
  rule: process.output.complete
  axes: connect/*/1.1/*
  reason: the proxy holds the last 4 KiB back
  link: https://tracker.example/1234
  expires: 2027-03-31

- {pattern: health.get, reason: no route, link: "http://tracker.example/2", expires: "2027-01-01"}
`

func TestAListOfKnownFailuresKeepsItsOrderAndItsLines(t *testing.T) {
	known, err := ParseKnown("known.yaml", []byte(goodKnown))
	if err != nil {
		t.Fatal(err)
	}
	if len(known.Entries) != 2 || known.At(&known.Entries[0]) != "known.yaml:2" || known.At(&known.Entries[1]) != "known.yaml:9" {
		t.Errorf("got %+v", known.Entries)
	}
	if string(known.Text) != goodKnown || known.Entries[0].Expires != "2027-03-31" {
		t.Errorf("got %+v", known)
	}
}

func TestAnEntryMatchesByGlobAndAxes(t *testing.T) {
	axes := bundle.Axes{Protocol: "connect", Codec: "proto", HTTP: "1.1", Compression: "identity"}
	for name, c := range map[string]struct {
		entry KnownFailure
		want  bool
	}{
		"the id itself":                   {KnownFailure{Pattern: "process.output.large"}, true},
		"a glob":                          {KnownFailure{Pattern: "process.*"}, true},
		"another id":                      {KnownFailure{Pattern: "process.output"}, false},
		"one of its axes":                 {KnownFailure{Pattern: "process.*", Axes: "proto"}, true},
		"all four axes":                   {KnownFailure{Pattern: "process.*", Axes: "connect/*/1.1/identity"}, true},
		"another codec":                   {KnownFailure{Pattern: "process.*", Axes: "json"}, false},
		"the axes of another permutation": {KnownFailure{Pattern: "process.*", Axes: "connect/*/h2c/*"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.entry.Matches("process.output.large", axes); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestAnEntryHoldsToTheEndOfItsDayInUTC(t *testing.T) {
	k := KnownFailure{Expires: "2027-03-31"}
	for at, want := range map[string]bool{
		"2027-03-31T00:00:00Z": false, "2027-03-31T23:59:59Z": false, "2027-04-01T00:00:00Z": true,
		"2027-04-01T01:30:00+02:00": false, "2027-03-31T23:30:00-01:00": true, "2026-12-31T00:00:00Z": false,
	} {
		when, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := k.Expired(when); got != want {
			t.Errorf("at %s: expired %v", at, got)
		}
	}
}

func TestMistakesInAListOfKnownFailuresAreReportedWithTheirPlace(t *testing.T) {
	entry := func(fields string) string { return "- {" + fields + "}\n" }
	const rest = `reason: r, link: "https://x/1", expires: 2027-01-01`
	for name, c := range map[string]struct{ text, want string }{
		"no reason":           {entry(`pattern: a.b, link: "https://x/1", expires: 2027-01-01`), `k.yaml:1:3: the field "reason" is missing`},
		"an empty reason":     {entry(`pattern: a.b, reason: " ", link: "https://x/1", expires: 2027-01-01`), `" " is not a reason`},
		"no link":             {entry(`pattern: a.b, reason: r, expires: 2027-01-01`), `the field "link" is missing`},
		"a link to nowhere":   {entry(`pattern: a.b, reason: r, link: see below, expires: 2027-01-01`), `k.yaml:1:35: "see below" is not a link`},
		"no date":             {entry(`pattern: a.b, reason: r, link: "https://x/1"`), `the field "expires" is missing`},
		"an impossible date":  {entry(`pattern: a.b, reason: r, link: "https://x/1", expires: 2027-02-30`), `"2027-02-30" is not a date`},
		"no pattern":          {entry(rest), `the field "pattern" is missing`},
		"a bracket left open": {entry(`pattern: "a.[b", ` + rest), `a bracket is not closed`},
		"a field misspelt":    {entry(`pattern: a.b, expire: 1, ` + rest), `did you mean "expires"?`},
		"a mapping":           {"pattern: a.b\n", `k.yaml:1:1: the file is a mapping; it must be a list`},
		"nothing at all":      {"", "the file is empty"},
		"not YAML":            {"- {pattern: a.b\n", "not YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseKnown("k.yaml", []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a mention of %s", err, c.want)
			}
		})
	}
}
