package reports

import (
	"fmt"
	"time"

	"assay/internal/record/bundle"
)

var (
	axesJSON  = bundle.Axes{Protocol: "connect", Codec: "json", HTTP: "1.1", Compression: "identity"}
	axesProto = bundle.Axes{Protocol: "connect", Codec: "proto", HTTP: "1.1", Compression: "identity"}
	axesGzip  = bundle.Axes{Protocol: "connect", Codec: "json", HTTP: "1.1", Compression: "gzip"}
)

const hostileText = "the target said \x1b[2J\x1b]0;owned\x07 and \x00, \xff, \u202egnp.exe\u202c, \u009b31m, ]]> & <b>, 日本語のメッセージ"

// hostileTexts are texts of a target, each with something that a format must escape.
var hostileTexts = []string{
	"\x00", "\xff\xfe", "]]>", "<a>&b;\"'", "\ufffe\uffff", "\x1b[2J", "\u0085\u2028", "\U0010ffff", "one\n::error::two\r\n%0A,:", "`|*_[x](y)</details>", hostileText,
}

// began is when the runs of the samples began.
var began = time.Date(2026, 11, 23, 9, 30, 0, 250e6, time.UTC)

func rule(id, level, text string, v bundle.Conclusion, message string) bundle.RuleVerdict {
	return bundle.RuleVerdict{ID: id, Level: level, Text: text, Verdict: v, Message: message}
}

// passing returns the report of a run that passed.
func passing() *bundle.Report {
	r := &bundle.Report{
		Schema: bundle.ReportSchema, Tool: bundle.Tool{Name: "assay", Version: "0.1.0"}, Run: "01JD",
		Target: bundle.Target{URL: "http://127.0.0.1:18081", Embedded: true}, Profile: "full",
		Verdict: bundle.Conformant, Started: began, DurationMS: 3210,
		Scenarios: []bundle.ScenarioResult{
			{
				ID: "connect.envelope.two", Title: "Two envelopes in one request are refused", Axes: axesJSON, Verdict: bundle.Pass, DurationMS: 12,
				Rules:  []bundle.RuleVerdict{{ID: "connect.stream.one-request", Level: "must", Verdict: bundle.Pass, Seen: "invalid_argument"}},
				Replay: "assay replay connect.envelope.two --axis connect/json/1.1/identity",
			},
			{
				ID: "coppice.kill-races-exit", Title: "A kill that races the exit is counted once", Axes: axesJSON, Verdict: bundle.Pass, DurationMS: 2100,
				Rules: []bundle.RuleVerdict{
					{ID: "coppice.finalize.once", Level: "must", Verdict: bundle.Pass, Counts: map[string]int{"killed": 103, "exit-first": 97}},
					{ID: "coppice.metrics.partition", Level: "must", Verdict: bundle.Pass, Counts: map[string]int{"killed": 103, "exit-first": 97}},
				},
			},
			{
				ID: "process.pty.size", Title: "A PTY has the size asked for", Axes: axesJSON, Verdict: bundle.Unsupported,
				Rules: []bundle.RuleVerdict{rule("process.pty.size", "must", "", bundle.Unsupported, "the target has no process.pty")},
			},
		},
	}
	return counted(r)
}

// failing returns the report of a run with every kind of verdict.
func failing() *bundle.Report {
	r := passing()
	r.Target = bundle.Target{URL: "http://gateway.example:8081"}
	r.Verdict, r.Exit = bundle.Nonconformant, 1
	const whole = "Every byte that a process wrote arrives, in order, before its end event."
	lost := rule("process.output.complete", "must", whole, bundle.Fail,
		"stdout is 65536 bytes, 200000 were written.\n  got   \"…1638\\n16384\\n\"\n  want  \"…1638\\n16384\\n16385\\n\"\nThe first difference is at byte 65536, in frame 4 at offset 87412 of the body; the end event came 1.2 ms later.")
	lost.Source = "envd 0.6.13, process.Process/Start"
	replay := "assay replay process.output.large http://gateway.example:8081 --axis connect/json/1.1/identity --seed 7 --shell '/bin/bash -l -c'"
	add := func(id, title string, a bundle.Axes, v bundle.Conclusion, rules ...bundle.RuleVerdict) {
		r.Scenarios = append(r.Scenarios, bundle.ScenarioResult{ID: id, Title: title, Axes: a, Verdict: v, Rules: rules, DurationMS: 35, Replay: replay})
	}
	pass := rule("connect.stream.end-stream-once", "must", "", bundle.Pass, "")
	for _, a := range []bundle.Axes{axesJSON, axesProto} {
		add("process.output.large", "Output over 64 kB arrives whole", a, bundle.Fail, pass, lost)
	}
	other := lost
	other.Message = "stdout is 65536 bytes, 70000 were written."
	add("process.output.binary", "Bytes of every value arrive", axesGzip, bundle.Fail, other)
	races := rule("coppice.metrics.partition", "must", "Started is finished plus active.", bundle.Fail, "killed grew by 203, 103 kills were answered ok")
	races.Counts = map[string]int{"killed": 103, "exit-first": 97}
	add("coppice.kill-twice", "The second kill is not_found", axesJSON, bundle.Fail, races)
	add("connect.error.text", "An error's message is text", axesJSON, bundle.Fail, rule("connect.error.message", "should", "A message is UTF-8 text.", bundle.Fail, hostileText))
	add("http.method.get", "GET is refused", axesJSON, bundle.UnexpectedPass, rule("http.method.allow", "must", "405 carries Allow.", bundle.UnexpectedPass, "it was listed as a known failure, and passed"))
	add("process.input.late", "Input after the end", axesJSON, bundle.Error, rule("process.input.after-end", "must", "Input to an ended process is refused.", bundle.Error, "no socket: too many open files"))
	add("coppice.race-few", "A race", axesJSON, bundle.Inconclusive, rule("coppice.finalize.order", "must", "Finalize is idempotent.", bundle.Inconclusive, "order exit-first was seen 3 times in 15 s, 20 are needed"))
	add("connect.unary.case", "Header case", axesJSON, bundle.Advisory, rule("connect.unary.header-case", "should", "Names are canonical.", bundle.Advisory, "the name of the header Content-Type was written as CONTENT-TYPE, which some clients of the field do not read"))
	add("process.signal.zero", "Signal 0", axesJSON, bundle.Deviation, rule("process.signal.zero", "must", "", bundle.Deviation, "allowed by the profile: removal at SIGTERM"))
	add("http.flood", "A flood", axesJSON, bundle.NotRun, rule("http.flood", "must", "", bundle.NotRun, "destructive: runs with --destructive"))
	add("process.tag.two", "Two tags", axesJSON, bundle.KnownFailure, rule("process.tag.two", "must", "", bundle.KnownFailure, "listed in known.txt:3"))
	r.RunRules = []bundle.RuleVerdict{rule("profile.full.process.tag", "must", "The profile requires process.tag.", bundle.Fail, "the probe saw unimplemented")}
	return counted(r)
}

// counted sets the counts and the rules, like the judge.
func counted(r *bundle.Report) *bundle.Report {
	r.Counts = map[bundle.Conclusion]int{}
	r.Rules = nil
	for _, s := range r.Scenarios {
		r.Counts[s.Verdict]++
		for _, v := range s.Rules {
			r.Rules = append(r.Rules, bundle.RuleResult{ID: v.ID, Level: v.Level, Verdict: v.Verdict, Scenarios: []string{s.ID}})
		}
	}
	return r
}

// caused returns the report of a run with two causes, from which most broken rules follow.
// The target died at the end, and much was not tested.
func caused() *bundle.Report {
	r := passing()
	r.Target = bundle.Target{URL: "http://gateway.example:8081", Looks: bundle.LooksEnvd}
	r.Profile, r.Verdict, r.Exit = "full", bundle.Nonconformant, 1
	const said = "stdout ends at byte 65536, 200000 were written"
	complete := rule("process.output.complete", "must", "Every byte that a process wrote arrives, in order, before its end event.", bundle.Fail, said)
	complete.Source, complete.Symptom = "envd, Output (E12)", bundle.SymptomOutputShort
	add := func(id string, a bundle.Axes, v bundle.Conclusion, rules ...bundle.RuleVerdict) {
		r.Scenarios = append(r.Scenarios, bundle.ScenarioResult{
			ID: id, Title: "Of " + id, Axes: a, Verdict: v, Rules: rules, DurationMS: 35, Replay: "assay replay " + id + " http://gateway.example:8081 --axis " + a.String(),
		})
	}
	broken := func(id, message string) bundle.RuleVerdict { return rule(id, "must", "", bundle.Fail, message) }
	add("process.output.large", axesJSON, bundle.Fail, broken("connect.stream.flushed", "the last byte came late"), complete)
	again := complete
	add("process.output.binary", axesProto, bundle.Fail, again)
	add("process.pty.output", axesJSON, bundle.Fail, broken("process.pty.echo", "want 12 bytes, saw 7"))
	exit := rule("process.end.exit-code", "must", "The end event has the exit code of the process.", bundle.Fail, "exit code: want 42, saw 0 (end event, frame 1, body offset 37)")
	add("process.exit.codes", axesJSON, bundle.Fail, exit, broken("process.end.status-text", "want exit status 42"))
	for _, id := range []string{"process.input.late", "process.signal.term", "process.signal.kill"} {
		add(id, axesJSON, bundle.Inconclusive, rule(id, "must", "", bundle.Inconclusive, "not judged: p ended (exit 0) without printing ready"))
	}
	for _, id := range []string{"process.update.a", "process.update.b"} {
		add(id, axesJSON, bundle.Inconclusive, rule(id, "must", "", bundle.Inconclusive, fmt.Sprintf("not judged: update was answered with not_found \"process with pid 1%d not found\"", len(r.Scenarios))))
	}
	add("process.tag.three", axesJSON, bundle.Inconclusive, rule("process.tag.three", "must", "", bundle.Inconclusive, "not judged: "+hostileText))
	add("connect.unary.case", axesJSON, bundle.Advisory, rule("connect.unary.header-case", "should", "Names are canonical.", bundle.Advisory, "CONTENT-TYPE"))
	add("http.method.get", axesJSON, bundle.UnexpectedPass, rule("http.method.allow", "must", "405 carries Allow.", bundle.UnexpectedPass, "it was listed as a known failure, and passed"))
	for _, id := range []string{"connect.request.huge", "http.flood"} {
		add(id, axesJSON, bundle.NotRun, rule(id, "must", "", bundle.NotRun, "the target was gone: the target had stopped accepting connections"))
	}
	r.Causes = []bundle.Cause{
		{
			Rule: "process.output.complete", Level: "must", Title: complete.Text, Scenario: "process.output.large", Axes: axesJSON, Message: said,
			Follows: []string{"connect.stream.flushed", "process.pty.echo"}, Scenarios: []string{"process.output.binary", "process.output.large"},
			Unjudged:   []string{"process.input.late", "process.signal.term"},
			Reproducer: "assay replay process.output.large http://gateway.example:8081 --axis connect/json/1.1/identity --seed 7",
			Transcript: "CONNECTION 0\n       0 µs   dialed\n      … 3 lines folded\n      +1.2 ms ✗ ◀ stdout differs from the expected output at byte 65536",
		},
		{
			Rule: "process.end.exit-code", Level: "must", Title: exit.Text, Scenario: "process.exit.codes", Axes: axesJSON, Message: exit.Message,
			Follows: []string{"process.end.status-text"}, Scenarios: []string{"process.exit.codes"}, Reproducer: "assay replay process.exit.codes",
		},
	}
	r.Scope = &bundle.Scope{
		Unsupported: []bundle.Count{{Name: "http.h2c", Runs: 120}, {Name: "protocol.grpc", Runs: 80}, {Name: "rpc.probe", Runs: 3}, {Name: "process.stream-input", Runs: 2}, {Name: "metrics.prometheus", Runs: 2}, {Name: "ndjson.commands", Runs: 1}},
		NotRun:      []bundle.Count{{Name: "slow", Runs: 5}, {Name: "destructive", Runs: 2}, {Name: "target-gone", Runs: 2}},
		Deviations:  []bundle.Count{{Name: "connect.compression.preference", Runs: 3}, {Name: "connect.route.allow", Runs: 1}, {Name: "process.tag.selects", Runs: 2}, {Name: "process.keepalive.zero", Runs: 1}, {Name: "process.signal.zero", Runs: 1}},
	}
	r.Died = &bundle.Died{Scenario: "process.keepalive.zero", Axes: axesJSON}
	return counted(r)
}
