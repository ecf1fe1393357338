package ledger

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

func testNames() Names {
	return Names{Started: "c_started_total", Finished: "c_finished_total", Active: "c_active"}
}

// healthy is the output of client_golang for the three metrics and two others.
const healthy = `# HELP c_active Commands running now.
# TYPE c_active gauge
c_active 3
# HELP c_finished_total Commands that ended, \\ by \n status.
# TYPE c_finished_total counter
c_finished_total{status="error"} 2
c_finished_total{status="killed",sandbox="a"} 4
c_finished_total{sandbox="b",status="killed"} 5
c_finished_total{status="ok"} 1e+01
# HELP c_started_total Commands started.
# TYPE c_started_total counter
c_started_total 24
# TYPE gc_seconds summary
gc_seconds{quantile="0.5"} NaN
gc_seconds_sum 0.25
gc_seconds_count 3
# TYPE request_seconds histogram
request_seconds_bucket{le="0.1"} 1
request_seconds_bucket{le="+Inf"} 2
request_seconds_sum 0.3
request_seconds_count 2
`

func TestReadCountersOfAHealthyExposition(t *testing.T) {
	c, problems := ReadCounters([]byte(healthy), testNames())
	if len(problems) > 0 {
		t.Errorf("problems: %q", problems)
	}
	if c.Started != 24 || c.OK != 10 || c.Error != 2 || c.Killed != 9 || c.Active != 3 || c.Finished() != 21 {
		t.Errorf("counters %+v", c)
	}
	want := map[string]bool{"started": true, "ok": true, "error": true, "killed": true, "active": true}
	if !maps.Equal(c.Has, want) {
		t.Errorf("has %v", c.Has)
	}
	if Partition(c, 0) != "" {
		t.Errorf("partition: %s", Partition(c, 0))
	}
}

func TestReadCountersOfOtherNames(t *testing.T) {
	c, problems := ReadCounters([]byte(healthy), Names{Started: "x_started_total", Finished: "x_finished_total", Active: "x_active"})
	if len(problems) > 0 || len(c.Has) > 0 || c.Started != 0 {
		t.Errorf("got %+v, %q", c, problems)
	}
}

func TestReadCountersFindsEveryBreach(t *testing.T) {
	cases := []struct {
		name string
		text string
		want string // the only problem
	}{
		{"no newline at the end", "a 1", "line 1: the exposition does not end with a newline"},
		{"a carriage return", "a 1\r\n", "line 1: a carriage return before the newline"},
		{"bytes that are not UTF-8", "# \xff\n", "line 1: not UTF-8"},
		{"TYPE after the samples", "a_total 1\n# TYPE a_total counter\n", "line 2: TYPE of a_total after its samples"},
		{"two TYPEs", "# TYPE a_total counter\n# TYPE a_total counter\na_total 1\n", "line 2: a second TYPE for a_total, the first is in line 1"},
		{"two HELPs", "# HELP a x\n# HELP a y\na 1\n", "line 2: a second HELP for a"},
		{"an unknown TYPE", "# TYPE a metre\na 1\n", `line 1: TYPE "metre" of a is not counter, gauge, histogram, summary or untyped`},
		{"a bad escape in HELP", "# HELP a \\t\na 1\n", `line 1: HELP of a has an escape other than \\ and \n`},
		{"TYPE of no name", "# TYPE 1a counter\n", `line 1: TYPE of "1a", which is not a metric name`},
		{"a series twice", "a{x=\"1\",y=\"2\"} 1\na{y=\"2\",x=\"1\"} 1\n", `line 2: duplicate series a{x="1",y="2"}, first in line 1`},
		{"a family in two groups", "a{x=\"1\"} 1\nb 1\na{x=\"2\"} 1\n", "line 3: samples of a in a second group"},
		{"a counter that is not a number", "# TYPE a_total counter\na_total NaN\n", "line 2: counter a_total is not a number"},
		{"a negative counter", "# TYPE a_total counter\na_total -1\n", "line 2: counter a_total is negative: -1"},
		{"a counter without _total", "# TYPE a counter\na 1\n", "line 2: should: the name of counter a ends in _total"},
		{"a histogram without the last bucket", "# TYPE h histogram\nh_sum 1\nh_count 1\n", `line 1: histogram h has no bucket le="+Inf"`},
		{"a label twice", "a{x=\"1\",x=\"2\"} 1\n", "line 1: a: duplicate label x"},
		{"a label that does not end", "a{x=\"1\n", "line 1: a: label x: the value does not end"},
		{"labels that do not end", "a{x\n", "line 1: a: the labels do not end"},
		{"a bad label name", "a{1x=\"1\"} 1\n", `line 1: a: "1x" is not a label name`},
		{"a label without quotes", "a{x=1} 1\n", "line 1: a: the value of label x is not in quotes"},
		{"a bad escape in a label", `a{x="\t"} 1` + "\n", `line 1: a: label x: escape "\\t" is not \\, \" or \n`},
		{"no comma between labels", `a{x="1"y="2"} 1` + "\n", "line 1: a: want a comma or a closing brace after label x"},
		{"no value", "a\n", `line 1: "a" has no value`},
		{"a value that is not a number", "a one\n", `line 1: a: value "one" is not a number`},
		{"a hexadecimal value", "a 0x10\n", `line 1: a: value "0x10" is not a number`},
		{"a timestamp that is no integer", "a 1 1.5\n", `line 1: a: timestamp "1.5" is not a 64-bit integer`},
		{"too many words", "a 1 2 3\n", `line 1: a: want a value and an optional timestamp, got "1 2 3"`},
		{"no metric name", "1a 1\n", `line 1: "1a" is not a metric name`},
		{"HTML", "<html>\n", `line 1: "<html>" has no value`},
		{"ours with the wrong type", "# TYPE c_started_total gauge\nc_started_total 1\n", "line 2: c_started_total has the type gauge, want counter"},
		{"ours below zero", "# TYPE c_active gauge\nc_active -1\n", "line 2: c_active is below zero: -1"},
		{"ours without status", "c_finished_total 1\n", "line 1: c_finished_total has no label status"},
		{"ours with a foreign status", "c_finished_total{status=\"lost\"} 1\n", `line 1: c_finished_total{status="lost"} has a status that is not ok, error or killed`},
		{"ours infinite", "c_started_total +Inf\n", "line 1: c_started_total is +Inf, want a finite number"},
		{
			"ours with an infinite sum", "c_started_total{a=\"1\"} 1.7e308\nc_started_total{a=\"2\"} 1.7e308\n",
			`line 2: c_started_total{a="2"} is 1.7e+308: the sum of its family is not a finite number`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, problems := ReadCounters([]byte(c.text), testNames())
			if !slices.Equal(problems, []string{c.want}) {
				t.Errorf("got  %q\nwant %q", problems, c.want)
			}
		})
	}
}

func TestReadCountersLetsLegalFormsPass(t *testing.T) {
	for name, text := range map[string]string{
		"nothing at all":               "",
		"blank lines and comments":     "\n  \n# a comment\n#\n# TYPES is no keyword\n",
		"blanks between all":           "  a { x = \"1\" , y=\"2\" , }   1   1395066363000  \n",
		"untyped samples":              "a 1\nb -2.5e-3\nc +Inf\nd -Inf\ne NaN\n",
		"escapes in labels":            `a{x="\\ \" \n é"} 1` + "\n",
		"a family of similar name":     "# TYPE a summary\na_sum 1\na_count 1\na_counter 1\n",
		"a TYPE without any samples":   "# TYPE a_total counter\n",
		"a name with colons":           "job:a:rate 1\n",
		"a sum that belongs to nobody": "x_sum 1\nx_count 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, problems := ReadCounters([]byte(text), testNames()); len(problems) > 0 {
				t.Errorf("problems: %q", problems)
			}
		})
	}
}

func TestReadCountersIsBounded(t *testing.T) {
	if _, problems := ReadCounters([]byte(strings.Repeat("?\n", 10_000)), testNames()); len(problems) != maxProblems {
		t.Errorf("%d problems", len(problems))
	}
}

// FuzzReadCounters reads arbitrary bytes: the sums are numbers, the problems are bounded and have
// a line, a second reading gives the same counters, and a missing final newline is a problem.
func FuzzReadCounters(f *testing.F) {
	f.Add([]byte(healthy))
	f.Add([]byte("c_finished_total{status=\"ok\"} 1e308\nc_finished_total{status=\"ok\",a=\"\"} 1e308\n"))
	f.Add([]byte("# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\n#"))
	f.Add([]byte("a{\"b\"} 1\n{a=\"b\"} 1\n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		c, problems := ReadCounters(p, testNames())
		for _, v := range []float64{c.Started, c.OK, c.Error, c.Killed, c.Active} {
			if math.IsNaN(v) {
				t.Fatalf("a sum is not a number: %+v", c)
			}
		}
		lines := strings.Count(string(p), "\n") + 1
		for _, problem := range problems {
			if !strings.HasPrefix(problem, "line ") {
				t.Fatalf("no line: %q", problem)
			}
		}
		if len(problems) > maxProblems || len(problems) > 4*lines {
			t.Fatalf("%d problems in %d lines", len(problems), lines)
		}
		again, _ := ReadCounters(p, testNames())
		if again.Started != c.Started || again.Finished() != c.Finished() || !maps.Equal(again.Has, c.Has) {
			t.Fatal("read twice, two results")
		}
		if len(problems) == 0 && len(p) > 0 && p[len(p)-1] != '\n' {
			t.Fatal("no final newline, and no problem")
		}
	})
}
