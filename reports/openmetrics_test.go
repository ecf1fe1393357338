package reports

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

var (
	omMeta   = regexp.MustCompile(`^# (TYPE|UNIT|HELP) ([a-z_]+) (.+)$`)
	omSample = regexp.MustCompile(`^([a-z_]+)(\{[a-z]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z]+="(?:[^"\\\n]|\\["\\n])*")*\})? -?[0-9][0-9.e+-]*$`)
)

// exposed requires that the text is valid as OpenMetrics and in the older text format of Prometheus,
// whose parser node_exporter uses.
func exposed(t *testing.T, text []byte) {
	t.Helper()
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil {
		t.Errorf("the parser of Prometheus' text format: %v\n%s", err, text)
	}
	for _, p := range problems {
		t.Errorf("promlint: %s: %s", p.Metric, p.Text)
	}
	if why := checkOpenMetrics(string(text)); why != "" {
		t.Errorf("%s\n%s", why, text)
	}
}

// checkOpenMetrics says what OpenMetrics does not allow; "" for nothing.
func checkOpenMetrics(text string) string {
	body, ok := strings.CutSuffix(text, "# EOF\n")
	if !ok {
		return "the last line is not # EOF"
	}
	family, kind := "", ""
	families, meta, series := map[string]bool{}, map[string]bool{}, map[string]bool{}
	sampled := false
	for l := range strings.Lines(body) {
		l = strings.TrimSuffix(l, "\n")
		if m := omMeta.FindStringSubmatch(l); m != nil {
			if m[2] != family {
				if families[m[2]] {
					return m[2] + " is in two places"
				}
				family, kind, meta, sampled = m[2], "", map[string]bool{}, false
				families[family] = true
			}
			if sampled || meta[m[1]] {
				return l + ": after samples, or twice"
			}
			meta[m[1]] = true
			switch {
			case m[1] == "TYPE":
				kind = m[3]
			case m[1] == "UNIT" && !strings.HasSuffix(family, "_"+m[3]):
				return family + " does not end with its unit"
			}
			continue
		}
		m := omSample.FindStringSubmatch(l)
		if m == nil {
			return "no sample: " + l
		}
		if m[1] != family && (kind != "summary" || m[1] != family+"_count") {
			return m[1] + " does not belong to " + family
		}
		if key := m[1] + m[2]; series[key] {
			return key + " is there twice"
		}
		series[m[1]+m[2]], sampled = true, true
	}
	return ""
}

func TestTheCheckOfOpenMetricsFindsWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"# EOF\n":                      "",
		"# TYPE a gauge\na 1\n# EOF\n": "",
		"# TYPE a gauge\na{b=\"\\\\\\n\"} 1\n# EOF\n":                   "",
		"# TYPE a gauge\na 1\n":                                         "EOF",
		"# TYPE a gauge\na 1\na 2\n# EOF\n":                             "twice",
		"# TYPE a gauge\na{b=\"\n\"} 1\n# EOF\n":                        "no sample",
		"# TYPE a gauge\n\na 1\n# EOF\n":                                "no sample",
		"# TYPE a gauge\n# UNIT a seconds\na 1\n# EOF\n":                "unit",
		"# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\n# HELP a x\n# EOF\n": "two places",
		"# TYPE a gauge\na_count 1\n# EOF\n":                            "belong",
		"# TYPE a gauge\na NaN\n# EOF\n":                                "no sample",
	} {
		if got := checkOpenMetrics(text); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestSecondsAreRoundedToTwoDigits(t *testing.T) {
	for us, want := range map[int64]string{0: "0", 99: "9.9e-05", 12_345: "0.012", 1_234_567: "1.2", 3600_000_000: "3.6e+03"} {
		if got := duration(us); got != want {
			t.Errorf("%d µs are %s, want %s", us, got, want)
		}
	}
}
