package reproduce

import (
	"fmt"
	"strings"
	"time"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
)

// Dialing holds the connection parameters of a text.
type Dialing struct {
	// URL is the target's URL, Host and Port its address.
	URL        string
	Host, Port string
	// Secure is set for https. CACert is then the path of a file with the authorities to
	// trust, "" for the system's, and Insecure skips verification.
	Secure   bool
	CACert   string
	Insecure bool
}

// tool returns the program that sends the bytes.
func (d Dialing) tool() string {
	if d.Secure {
		return "openssl"
	}
	return "nc"
}

// script writes a source as a POSIX shell script. Its arguments are an optional host and
// port. It prints the response, unchanged to a file or pipe, with unprintable bytes made
// visible on a terminal.
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
	// Without a terminal the exit status is that of the tool.
	b.WriteString("if [ -t 1 ]; then carry | " + s.shown() + "; else carry; fi\n")
	return b.String(), nil
}

// hold returns how many seconds the connection stays open for the response: longer than
// a pause of the machine, which only delays the response.
func (s *source) hold() int {
	const least, most = 2, 10
	return min(max(int((s.took()+time.Second-1)/time.Second), least), most)
}

// shown returns the filter that makes the response safe for a terminal.
func (s *source) shown() string {
	if s.http2() || s.x != nil && s.x.Codec == call.Proto {
		return "od -A d -c"
	}
	return `LC_ALL=C tr -c '\11\12\40-\176' .`
}

// command returns the command that connects to the target. Both programs continue to read
// for a while after the end of their input.
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

// request returns the shell function that writes the bytes, and the environment variables
// that it needs.
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
	begin := 0 // offset of the write
	for _, w := range s.writes {
		if w.pause > 0 {
			fmt.Fprintf(&b, "    sleep %s\n", seconds(w.pause))
		}
		end, from := begin+len(w.data), 0
		for ; len(hs) > 0 && hs[0].from < end; hs = hs[1:] {
			h := hs[0]
			if h.to > end {
				return "", nil, errSecret // the secret is split
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

// sent returns all written bytes, without the pauses.
func (s *source) sent() []byte {
	var all []byte
	for _, w := range s.writes {
		all = append(all, w.data...)
	}
	return all
}

// seconds formats a duration for sleep.
func seconds(d time.Duration) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", d.Seconds()), "0"), ".")
}

// lineRoom is the approximate width of one printf.
const lineRoom = 96

// printf writes data as calls of printf, one line of text or some bytes each.
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

// escape formats one byte for printf between single quotes; a leading "-" would be an
// option.
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

// about returns the comment at the head of a script.
func (s *source) about(rule, source, level string) []string {
	v := s.Verdict
	lines := []string{
		fmt.Sprintf("Reproduces: %s (%s)", v.Rule, level),
	}
	if rule != "" {
		lines = append(lines, "Rule:      "+rule)
	}
	if source != "" {
		lines = append(lines, "Source:    "+source)
	}
	lines = append(lines,
		fmt.Sprintf("Scenario:  %s on %s, seed %d", v.Scenario, v.Axes, s.Observation.Seed),
		"Seen:      "+v.Message,
	)
	if v.Seen != "" {
		lines = append(lines, "Legal:     "+v.Seen)
	}
	if place := s.place(); place != "" {
		lines = append(lines, "Look at:   "+place)
	}
	if s.others > 0 {
		lines = append(lines, fmt.Sprintf("The scenario has %d more connections; this one showed the failure.", s.others))
	}
	if len(s.it.Processes) > 0 && !s.endsByItself() {
		lines = append(lines, "The script leaves a process running on the target.")
	}
	return append(lines, "Usage:     sh THIS [HOST PORT]")
}

// place says where in the response to look.
func (s *source) place() string {
	e := s.Verdict.Evidence
	of := "the answer"
	if s.x != nil && len(s.exchanges) > 1 {
		of = "the response to " + s.x.Name
	}
	if e.Off >= 0 {
		return fmt.Sprintf("byte %d of the body of %s", e.Off, of)
	}
	if s.x != nil && s.x.Outcome != bundle.OutcomeComplete {
		return fmt.Sprintf("the end of %s: it is %s", of, s.x.Outcome)
	}
	return of
}

// endsByItself reports whether every process of the connection ended without our help.
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
