package target

import (
	"bufio"
	"bytes"
	"context"
	"regexp"
	"strconv"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
)

// ownLine is the output of the command of probeCommands.
const ownLine = "assay-probe"

// probeCommands runs a command over the NDJSON alias: it is present if the lines of the
// response have its format, from the start to the end of the command.
func probeCommands(ctx context.Context, c *client) findings {
	body, err := call.Command{Cmd: call.NoOp("assay/probe") + "; echo " + ownLine}.JSON()
	r := request{
		method: "POST", surface: surface.Commands, shape: bundle.ShapeNDJSON, body: body, err: err,
		headers: []bundle.Header{{Name: "content-type", Value: "application/json"}},
	}
	x := c.do(ctx, r)
	s := x.Snapshot()
	ours := startedPID(s) != 0
	f := c.decideCall(ctx, r, x, ours && hasEvent(s, bundle.EventEnd))
	switch {
	case f.State != bundle.FeatureUnknown || s.Response == nil || s.Response.Status != 200:
	case ours && !hasEvent(s, bundle.EventUnknown):
		f.Detail += "; no end event"
	case s.Outcome == bundle.OutcomeComplete || len(s.Events) > 0:
		f = lacks(s, foreignWords(s))
	}
	return findings{featCommands: f}
}

// probeMetrics reads the exposition and checks whether it has metrics of the gateway's own
// process.
func probeMetrics(ctx context.Context, c *client) findings {
	r := ask(surface.Metrics)
	x := c.do(ctx, r)
	s := x.Snapshot()
	body := x.BodyBytes()
	c.seen.metrics(s, body)
	var f bundle.Feature
	if exposed := succeeded(s) && isExposition(body); exposed && declaresMetrics.Match(body) {
		f = present(describe(s)) // an exporter may have one on every path
	} else {
		f = c.decidePage(ctx, r, x, exposed)
	}
	if s.Response != nil && s.Response.Status == 403 {
		f = hidden("the credentials do not suffice: " + describe(s)) // for metrics, unlike those of the processes
	}
	if f.State != bundle.FeaturePresent {
		return findings{featMetrics: f, featOwnMetrics: f}
	}
	own := absent("the exposition has no process_ samples")
	if bytes.HasPrefix(body, []byte("process_")) || bytes.Contains(body, []byte("\nprocess_")) {
		own = present("the exposition has process_ samples")
	}
	return findings{featMetrics: f, featOwnMetrics: own}
}

// declaresMetrics matches a line that only an exposition has.
var declaresMetrics = regexp.MustCompile(`(?m)^#[ \t]+(TYPE|HELP)[ \t]`)

// isExposition reports whether the first sample has the form "name{labels} value"; an
// exposition without samples has at least a comment.
func isExposition(body []byte) bool {
	lines := bufio.NewScanner(bytes.NewReader(body))
	comment := false
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "":
			continue
		case strings.HasPrefix(line, "#"):
			comment = true
			continue
		}
		if i := strings.LastIndexByte(line, '}'); i >= 0 {
			line = "labels " + line[i+1:]
		}
		words := strings.Fields(line)
		if len(words) < 2 || len(words) > 3 {
			return false
		}
		_, err := strconv.ParseFloat(words[1], 64)
		return err == nil
	}
	return comment
}

// probeHealth requests the health of the gateway. Its protocol has no message: any success is one, also that of
// a server that responds so to every path.
func probeHealth(ctx context.Context, c *client) findings {
	r := ask(surface.Health)
	x := c.do(ctx, r)
	s := x.Snapshot()
	c.seen.health(s)
	ok := s.Outcome == bundle.OutcomeComplete && s.Response.Status >= 200 && s.Response.Status < 300
	return findings{featHealth: c.decideCall(ctx, r, x, ok)}
}
