package reproduce

import (
	"fmt"
	"strings"
	"time"

	"assay/internal/bundle"
)

// Dialing is how a text reaches the target.
type Dialing struct {
	// URL is the target's, Host and Port what is dialed.
	URL        string
	Host, Port string
	// Secure is set for https; CACert is then the path of a file with the
	// authorities to trust, "" for those of the system, and Insecure trusts anybody.
	Secure   bool
	CACert   string
	Insecure bool
}

// tool is the program that carries the bytes.
func (d Dialing) tool() string {
	if d.Secure {
		return "openssl"
	}
	return "nc"
}

// script writes a source as a POSIX shell script. It takes another host and port
// as its arguments, and prints what came back: as it came into a file or a pipe,
// and with everything unprintable made visible on a terminal.
func (s *source) script(d Dialing, secrets []secretHeader, about []string) (string, error) {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	for _, line := range about {
		b.WriteString(comment(line))
	}
	fmt.Fprintf(&b, "host=${1:-%s} port=${2:-%s}\n", quoteWord(d.Host), d.Port)
	tool := d.tool()
	fmt.Fprintf(&b, "command -v %s >/dev/null || { echo 'this needs %s' >&2; exit 2; }\n", tool, tool)
	request, variables, err := s.request(secrets)
	if err != nil {
		return "", err
	}
	for _, v := range variables {
		b.WriteString(demand([]string{v}) + "\n")
	}
	b.WriteString(request)
	hold := s.hold()
	fmt.Fprintf(&b, "carry() { { request; sleep %d; } | %s; }\n", hold, d.command(hold, s.http2()))
	// Without a terminal the status is that of the tool.
	b.WriteString("if [ -t 1 ]; then carry | " + s.shown() + "; else carry; fi\n")
	return b.String(), nil
}

// hold is for how many seconds the connection is kept open for the answer: longer
// than a machine stands still, whose answer comes late and is the same.
func (s *source) hold() int {
	const least, most = 2, 10
	return min(max(int((s.took()+time.Second-1)/time.Second), least), most)
}

// shown is the filter for a terminal: nothing that came may steer it.
func (s *source) shown() string {
	if s.http2() || s.x != nil && s.x.Codec == "proto" {
		return "od -A d -c"
	}
	return `LC_ALL=C tr -c '\11\12\40-\176' .`
}

// command is the pipe to the target. Both programs go on reading for a while
// after the input has ended.
func (d Dialing) command(hold int, http2 bool) string {
	if !d.Secure {
		return fmt.Sprintf(`nc -w %d "$host" "$port"`, hold+1)
	}
	words := []string{"openssl s_client -quiet -no_ign_eof -connect", `"$host:$port"`, "-servername", quoteWord(d.Host)}
	switch {
	case d.Insecure:
	case d.CACert != "":
		words = append(words, "-verify_return_error -CAfile", quoteWord(d.CACert))
	default:
		words = append(words, "-verify_return_error")
	}
	alpn := "http/1.1"
	if http2 {
		alpn = "h2"
	}
	return strings.Join(append(words, "-alpn", alpn, "2>/dev/null"), " ")
}

// request is the shell function that writes the bytes, and the variables of the
// environment that it needs.
func (s *source) request(secrets []secretHeader) (text string, variables []string, err error) {
	if s.http2() && len(secrets) > 0 {
		return "", nil, errSecret
	}
	var b strings.Builder
	b.WriteString("request() {\n")
	hs := holes(s.sent(), secrets)
	if leaks(s.sent(), hs, secrets) {
		return "", nil, errSecret
	}
	begin := 0 // of a write in all that was sent
	for _, w := range s.writes {
		if w.pause > 0 {
			fmt.Fprintf(&b, "    sleep %s\n", seconds(w.pause))
		}
		end, from := begin+len(w.data), 0
		for ; len(hs) > 0 && hs[0].from < end; hs = hs[1:] {
			h := hs[0]
			if h.to > end {
				return "", nil, errSecret // it was cut in the middle
			}
			printf(&b, w.data[from:h.from-begin])
			fmt.Fprintf(&b, "    printf %%s \"$%s\"\n", h.variable)
			from = h.to - begin
			variables = append(variables, h.variable)
		}
		printf(&b, w.data[from:])
		begin = end
	}
	b.WriteString("}\n")
	return b.String(), compact(variables), nil
}

// sent is all that is written, without the pauses.
func (s *source) sent() []byte {
	var all []byte
	for _, w := range s.writes {
		all = append(all, w.data...)
	}
	return all
}

// seconds is a duration as sleep takes it.
func seconds(d time.Duration) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", d.Seconds()), "0"), ".")
}

// lineRoom is about how many columns of bytes stand in one printf.
const lineRoom = 96

// printf writes data as calls of printf, a line of text or some bytes each.
func printf(b *strings.Builder, data []byte) {
	var line strings.Builder
	flush := func() {
		if line.Len() > 0 {
			fmt.Fprintf(b, "    printf '%s'\n", line.String())
			line.Reset()
		}
	}
	for _, c := range data {
		if line.Len() >= lineRoom {
			flush()
		}
		line.WriteString(escape(c, line.Len() == 0))
		if c == '\n' {
			flush()
		}
	}
	flush()
}

// escape is one byte in the format of printf between single quotes; a "-" at its
// beginning would be taken for an option.
func escape(c byte, first bool) string {
	switch {
	case c == '\r':
		return `\r`
	case c == '\n':
		return `\n`
	case c == '%':
		return `%%`
	case c < 0x20 || c > 0x7e || c == '\\' || c == '\'' || c == '-' && first:
		return fmt.Sprintf(`\%03o`, c)
	}
	return string(rune(c))
}

// about is what the head of a script says.
func (s *source) about(rule, source, level string) []string {
	v := s.Verdict
	lines := []string{
		fmt.Sprintf("Shows again: %s (%s)", v.Rule, level),
	}
	if rule != "" {
		lines = append(lines, "The rule:  "+rule)
	}
	if source != "" {
		lines = append(lines, "Source:    "+source)
	}
	lines = append(lines,
		fmt.Sprintf("Scenario:  %s on %s, seed %d", v.Scenario, v.Axes, s.Observation.Seed),
		"Seen:      "+v.Message,
	)
	if v.Seen != "" {
		lines = append(lines, "Legal seen: "+v.Seen)
	}
	if place := s.place(); place != "" {
		lines = append(lines, "Look at:   "+place)
	}
	if s.others > 0 {
		lines = append(lines, fmt.Sprintf("The scenario has %d more connections; this is the one on which it was seen.", s.others))
	}
	if len(s.it.Processes) > 0 && !s.endsByItself() {
		lines = append(lines, "It leaves a process running on the target.")
	}
	return append(lines, "Usage:     sh THIS [HOST PORT]")
}

// place is where in the answer to look.
func (s *source) place() string {
	e := s.Verdict.Evidence
	of := "the answer"
	if s.x != nil && len(s.exchanges) > 1 {
		of = "the answer to " + s.x.Name
	}
	if e.Off >= 0 {
		return fmt.Sprintf("byte %d of the body of %s", e.Off, of)
	}
	if s.x != nil && s.x.Outcome != bundle.OutcomeComplete {
		return fmt.Sprintf("how %s ends: it is %s", of, s.x.Outcome)
	}
	return of
}

// endsByItself reports whether every process of the connection had ended without us.
func (s *source) endsByItself() bool {
	for _, p := range s.it.Processes {
		for _, x := range s.exchanges {
			if x.Name == p.Name && p.Cleanup != "" {
				return false
			}
		}
	}
	return true
}
