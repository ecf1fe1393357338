package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// xmlElement is what an element of JUnit XML may have.
type xmlElement struct {
	required, optional, children string // names, separated by spaces
	text                         bool
}

// xunitElements is what Jenkins' xUnit plugin accepts: its schema junit-10.xsd, in the words of this
// test, without the elements and attributes of reruns. The plugin rejects a file with anything else.
var xunitElements = map[string]xmlElement{
	"testsuites": {"", "name time tests failures errors", "testsuite", false},
	"testsuite": {
		"name tests failures errors", "group time skipped timestamp hostname id package file log url",
		"testsuite properties testcase system-out system-err", false,
	},
	"properties": {"", "", "property", false},
	"property":   {"name value", "", "", false},
	"testcase":   {"name", "time classname group", "skipped error failure system-out system-err", false},
	"failure":    {"", "type message", "", true},
	"error":      {"", "type message", "", true},
	"skipped":    {"", "type message", "", true},
	"system-out": {"", "", "", true},
	"system-err": {"", "", "", true},
}

// xunitTime is the type of the attribute time of a suite.
var xunitTime = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?$`)

// xunit requires that the xUnit plugin accepts a document, and that its counts are right.
func xunit(t *testing.T, doc []byte) {
	t.Helper()
	if err := checkXunit(doc); err != "" {
		t.Errorf("%s\n%s", err, doc[:min(len(doc), 4000)])
	}
	countsOfSuites(t, parse(t, doc))
}

// checkXunit says what the plugin rejects; "" for nothing.
func checkXunit(doc []byte) string {
	d := xml.NewDecoder(bytes.NewReader(doc))
	open := []string{}
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF):
			return ""
		case err != nil:
			return err.Error()
		}
		switch e := token.(type) {
		case xml.StartElement:
			if why := checkElement(e, open); why != "" {
				return why
			}
			open = append(open, e.Name.Local)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 && !xunitElements[open[len(open)-1]].text && strings.TrimSpace(string(e)) != "" {
				return "text in " + open[len(open)-1]
			}
		}
	}
}

func checkElement(e xml.StartElement, open []string) string {
	name := e.Name.Local
	is, known := xunitElements[name]
	switch {
	case !known:
		return "the element " + name
	case len(open) == 0 && name != "testsuites":
		return name + " at the top"
	case len(open) > 0 && !slices.Contains(strings.Fields(xunitElements[open[len(open)-1]].children), name):
		return name + " in " + open[len(open)-1]
	}
	missing := strings.Fields(is.required)
	for _, a := range e.Attr {
		if !slices.Contains(strings.Fields(is.required+" "+is.optional), a.Name.Local) {
			return "the attribute " + a.Name.Local + " of " + name
		}
		missing = slices.DeleteFunc(missing, func(n string) bool { return n == a.Name.Local })
		if a.Name.Local == "time" && !xunitTime.MatchString(a.Value) {
			return name + " takes the time " + a.Value
		}
	}
	if len(missing) > 0 {
		return name + " has no " + missing[0]
	}
	return ""
}

func TestTheCheckOfJUnitFindsWhatThePluginRejects(t *testing.T) {
	for doc, want := range map[string]string{
		`<testsuites><testsuite name="a" tests="0" failures="0" errors="0"/></testsuites>`: "",
		`<testsuite name="a" tests="0" failures="0" errors="0"/>`:                          "at the top",
		`<testsuites skipped="1"/>`: "attribute skipped of testsuites",
		`<testsuites><testsuite name="a" tests="0" errors="0"/></testsuites>`: "no failures",
		`<testsuites time="1e3"/>`: "time",
		`<testsuites><testsuite name="a" tests="0" failures="0" errors="0"><testcase name="b"><properties/></testcase></testsuite></testsuites>`: "properties in testcase",
		`<testsuites>x</testsuites>`:    "text",
		`<testsuites><a/></testsuites>`: "element a",
		`<testsuites>`:                  "EOF",
	} {
		if got := checkXunit([]byte(doc)); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
}

// All golden files are accepted, also those that other tests write.
func TestJenkinsAcceptsEveryGoldenJUnitReport(t *testing.T) {
	all, err := filepath.Glob(filepath.Join("..", "testdata", "reports", "*.xml"))
	if err != nil || len(all) < 4 {
		t.Fatalf("%d files, %v", len(all), err)
	}
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		xunit(t, text)
	}
}
