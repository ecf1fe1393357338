package reproduce

import (
	"slices"
	"strings"

	"assay/internal/record/bundle"
)

// fields are the header fields of a curl line. Without a secret they are arguments. With
// one, all of them go through a pipe, because every user of a machine can read the
// arguments of its programs; printf is a shell builtin.
type fields struct {
	words     []string // arguments for curl, without those that name the pipe
	piped     []string // fields in the pipe, as shell words
	variables []string
}

// fieldWords returns the fields of the request.
func (s *source) fieldWords(secrets []secretHeader) (fields, error) {
	var f fields
	next := newTurns(secrets)
	for _, h := range s.curlHeaders() {
		variable, secret := next.variable(h.Name, h.Value)
		switch {
		case secret:
			f.variables = append(f.variables, variable)
			f.piped = append(f.piped, quoteWord(h.Name+": ")+`"$`+variable+`"`)
		case masked(h.Value, secrets):
			return f, errSecret
		default:
			f.piped = append(f.piped, fieldWord(h))
		}
	}
	f.variables = compact(f.variables)
	if masked(s.x.Request.Path, secrets) || masked(string(s.x.Request.Body.Data), secrets) {
		return f, errSecret
	}
	if len(f.variables) == 0 {
		for _, word := range f.piped {
			f.words = append(f.words, "-H "+word)
		}
		f.piped = nil
	}
	return f, nil
}

// masked reports whether a recorded text contains a secret.
func masked(text string, secrets []secretHeader) bool {
	return slices.ContainsFunc(secrets, func(s secretHeader) bool { return strings.Contains(text, s.masked) })
}

// around returns the whole line: the pipes and curl. lead prints the body, and is "" when
// the body is an argument. If both come from a pipe, the fields use descriptor 3.
func (f fields) around(lead, curl string) string {
	if len(f.piped) == 0 {
		if lead != "" {
			return lead + " | " + curl
		}
		return curl
	}
	first, rest, _ := strings.Cut(curl, " ")
	pipe := demand(f.variables) + ` && printf '%s\n' ` + strings.Join(f.piped, " ")
	if lead == "" {
		return pipe + " | " + first + " -H @- " + rest
	}
	return pipe + " | { " + lead + " | " + first + " -H @/dev/fd/3 " + rest + "; } 3<&0"
}

// fieldWord formats a field without a secret for curl: "Name:" omits it, "Name;" sends it
// empty.
func fieldWord(h bundle.Header) string {
	switch {
	case strings.HasSuffix(h.Name, ":"):
		return quoteWord(h.Name)
	case h.Value == "":
		return quoteWord(h.Name + ";")
	}
	return quoteWord(h.Name + ": " + h.Value)
}
