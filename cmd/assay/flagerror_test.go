package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"assay/internal/termsafe"
)

// parserText is what the messages of Go's own parsers contain.
var parserText = []string{"strconv", "parsing", "invalid syntax", "time:", "invalid duration", "bare \"", "map["}

func TestNoMistakeInAFlagIsReportedInTheWordsOfAParser(t *testing.T) {
	silent := func() stdio {
		return stdio{in: strings.NewReader(""), out: termsafe.Writer{To: &bytes.Buffer{}}, err: termsafe.Writer{To: &bytes.Buffer{}}}
	}
	tried := 0
	for _, c := range newRoot(silent()).Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			for _, value := range []string{"x", `a"b`, "99999999999999999999999999"} {
				root := newRoot(silent())
				sub, _, err := root.Find([]string{c.Name()})
				if err != nil {
					t.Fatal(err)
				}
				err = sub.ParseFlags([]string{"--" + f.Name + "=" + value})
				if err == nil {
					continue
				}
				tried++
				text := sub.FlagErrorFunc()(sub, err).Error()
				if !strings.Contains(text, "--"+f.Name) || !strings.Contains(text, "want ") && !strings.Contains(text, "out of range") {
					t.Errorf("%s --%s=%s: the message does not say what the flag wants: %s", c.Name(), f.Name, value, text)
				}
				for _, raw := range parserText {
					if strings.Contains(text, raw) {
						t.Errorf("%s --%s=%s: %q in %s", c.Name(), f.Name, value, raw, text)
					}
				}
			}
		})
	}
	if tried < 100 {
		t.Errorf("only %d mistakes were found, want one for each number, duration and switch", tried)
	}
}
