package virtual

import (
	"fmt"
	"strconv"
	"strings"
)

// escapes selects the supported backslash sequences.
type escapes int

const (
	escapesEcho   escapes = iota // \c, and \0 with up to three octal digits
	escapesPrintf                // up to three octal digits; no \c
	escapesArg                   // %b: both kinds of octal, and \c
)

// unescape interprets backslashes. stopped is true if \c ended the text.
func unescape(s string, kind escapes) (text string, stopped bool) {
	if !strings.Contains(s, `\`) {
		return s, false
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; {
		case c == 'c' && kind != escapesPrintf:
			return b.String(), true
		case c == '0' || c >= '1' && c <= '7' && kind != escapesEcho:
			width := 3
			if c == '0' && kind != escapesPrintf {
				width = 4
			}
			n := digits(s[i:], width, 8)
			v, _ := strconv.ParseUint(s[i:i+n], 8, 16) // at most four octal digits
			b.WriteByte(byte(v))
			i += n - 1
		case c == 'x' && kind != escapesEcho && digits(s[i+1:], 2, 16) > 0:
			n := digits(s[i+1:], 2, 16)
			v, _ := strconv.ParseUint(s[i+1:i+1+n], 16, 8) // one or two hexadecimal digits
			b.WriteByte(byte(v))
			i += n
		default:
			if at := strings.IndexByte(`abfnrtv\`, c); at >= 0 {
				b.WriteByte("\a\b\f\n\r\t\v\\"[at])
			} else if c == '"' && kind == escapesPrintf {
				b.WriteByte(c)
			} else {
				b.WriteByte('\\')
				b.WriteByte(c)
			}
		}
	}
	return b.String(), false
}

// digits counts the digits of a base at the start of s, up to limit.
func digits(s string, limit, base int) int {
	n := 0
	for n < len(s) && n < limit {
		if _, err := strconv.ParseUint(s[n:n+1], base, 8); err != nil {
			break
		}
		n++
	}
	return n
}

// maxWidth limits field widths such as %1000000d.
const maxWidth = 1 << 16

// printer is one run of printf.
type printer struct {
	args     []string
	out      []byte
	write    func(b []byte) error
	complain func(text string)
	status   int
	stopped  bool
}

// formatPrintf formats args[1:] with args[0], repeatedly while arguments are left, and returns the status. Output up to the size of a pipe is one write.
func formatPrintf(args []string, write func(b []byte) error, complain func(text string)) int {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		complain("usage: printf format [arg ...]")
		return 2
	}
	p := &printer{args: args[1:], write: write, complain: complain}
	for {
		left := len(p.args)
		p.once(args[0])
		if p.stopped || len(p.args) == 0 || len(p.args) == left {
			break
		}
	}
	p.flush()
	return p.status
}

// flush writes the output so far.
func (p *printer) flush() {
	if p.write(p.out) != nil {
		p.stopped, p.status = true, 1
	}
	p.out = p.out[:0]
}

// once processes the format once.
func (p *printer) once(format string) {
	for format != "" && !p.stopped {
		if len(p.out) >= pipeSize {
			p.flush()
		}
		at := strings.IndexByte(format, '%')
		if at < 0 {
			at = len(format)
		}
		text, _ := unescape(format[:at], escapesPrintf)
		p.out = append(p.out, text...)
		if format = format[at:]; format == "" {
			return
		}
		if strings.HasPrefix(format, "%%") {
			p.out = append(p.out, '%')
			format = format[2:]
			continue
		}
		format = format[p.directive(format):]
	}
}

// directive formats the directive at the start of s and returns its length.
func (p *printer) directive(s string) int {
	i := 1
	for i < len(s) && strings.IndexByte("-+ #0", s[i]) >= 0 {
		i++
	}
	flags := s[1:i]
	width, n := p.measure(s[i:])
	i += n
	precision := ""
	if i < len(s) && s[i] == '.' {
		var value string
		value, n = p.measure(s[i+1:])
		if strings.HasPrefix(value, "-") {
			value = "0"
		}
		precision = "." + value
		i += n + 1
	}
	if i == len(s) || strings.IndexByte("diouxXcsbeEfFgG", s[i]) < 0 {
		p.warn(2, "%s: invalid directive", s[:min(i+1, len(s))])
		p.stopped = true
		return len(s)
	}
	p.convert("%"+flags+width+precision, s[i])
	return i + 1
}

// measure reads a width or precision; * reads it from the arguments.
func (p *printer) measure(s string) (string, int) {
	if strings.HasPrefix(s, "*") {
		v := p.integer(p.next())
		return strconv.FormatInt(max(-maxWidth, min(v, maxWidth)), 10), 1
	}
	n := digits(s, len(s), 10)
	if v, err := strconv.Atoi(s[:n]); n > 0 && (err != nil || v > maxWidth) {
		return strconv.Itoa(maxWidth), n
	}
	return s[:n], n
}

func (p *printer) next() string {
	if len(p.args) == 0 {
		return ""
	}
	arg := p.args[0]
	p.args = p.args[1:]
	return arg
}

// convert appends one converted argument. spec is everything before the letter.
func (p *printer) convert(spec string, verb byte) {
	switch verb {
	case 'd', 'i':
		p.out = fmt.Appendf(p.out, spec+"d", p.integer(p.next()))
	case 'u':
		p.out = fmt.Appendf(p.out, spec+"d", uint64(p.integer(p.next())))
	case 'o', 'x', 'X':
		p.out = fmt.Appendf(p.out, spec+string(verb), uint64(p.integer(p.next())))
	case 'c':
		arg := p.next()
		p.out = append(p.out, pad(spec, arg[:min(1, len(arg))])...)
	case 's':
		p.out = append(p.out, pad(spec, p.next())...)
	case 'b':
		text, stopped := unescape(p.next(), escapesArg)
		p.stopped = stopped
		p.out = append(p.out, pad(spec, text)...)
	default:
		arg := p.next()
		v, err := strconv.ParseFloat(arg, 64)
		if err != nil && arg != "" {
			p.warn(1, "%s: expected numeric value", arg)
		}
		p.out = fmt.Appendf(p.out, spec+string(verb), v)
	}
}

// integer reads 42, 042, 0x2a or 'c. It uses the numeric prefix of other text, with a complaint.
func (p *printer) integer(arg string) int64 {
	if arg == "" {
		return 0
	}
	if arg[0] == '\'' || arg[0] == '"' {
		if len(arg) > 1 {
			return int64(arg[1])
		}
		return 0
	}
	text := strings.TrimLeft(arg, " \t\n")
	if v, err := strconv.ParseInt(text, 0, 64); err == nil && !strings.Contains(text, "_") && !strings.HasPrefix(strings.TrimLeft(text, "+-"), "0b") {
		return v
	}
	if v, err := strconv.ParseUint(text, 0, 64); err == nil && !strings.ContainsAny(text, "_bo") {
		return int64(v)
	}
	sign := int64(1)
	rest := text
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		if rest[0] == '-' {
			sign = -1
		}
		rest = rest[1:]
	}
	n := digits(rest, len(rest), 10)
	if n == 0 {
		p.warn(1, "%s: expected numeric value", arg)
		return 0
	}
	p.warn(1, "%s: not completely converted", arg)
	v, _ := strconv.ParseInt(rest[:n], 10, 64) // out of range is the largest
	return sign * v
}

func (p *printer) warn(status int, format string, args ...any) {
	p.complain(fmt.Sprintf(format, args...))
	p.status = status
}

// pad applies width, precision and "-" of a spec by bytes, where fmt would count characters.
func pad(spec, s string) string {
	body, precision, cut := strings.Cut(spec[1:], ".")
	if n, err := strconv.Atoi(precision); cut && (err == nil || precision == "") && n < len(s) {
		s = s[:max(n, 0)]
	}
	flags := len(body) - len(strings.TrimLeft(body, "-+ #0"))
	width, err := strconv.Atoi(body[flags:])
	left := strings.Contains(body[:flags], "-")
	if err == nil && width < 0 {
		left, width = true, -width
	}
	if gap := width - len(s); gap > 0 && left {
		s += strings.Repeat(" ", gap)
	} else if gap > 0 {
		s = strings.Repeat(" ", gap) + s
	}
	return s
}
