package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"assay/internal/envd/call"
	"assay/internal/envd/process"
	"assay/internal/judge/phrase"
	"assay/internal/judge/value"
	"assay/internal/record/bundle"
)

// matchLists requires these processes in the response to a list.
func matchLists(l *look) finding { return l.listed(l.m.Lists, true) }

// matchNotLists forbids these processes in the response to a list.
func matchNotLists(l *look) finding { return l.listed(l.m.NotLists, false) }

func (l *look) listed(names []string, want bool) finding {
	if l.x.Body != nil && !l.x.Body.Whole() {
		return l.inconclusive("list: only a part of the %d bytes was kept", l.x.Body.Len)
	}
	pids, err := listedPIDs(l.x)
	if err != nil {
		return l.fails(-1, "list: not readable: %v (%s)", err, answer(l.x)).as(shortfallOr(l.x, bundle.SymptomBody))
	}
	for _, name := range names {
		process, by, has := fmt.Sprintf("pid %d (%s)", l.pid(name), name), "it listed", slices.Contains(pids, l.pid(name))
		absent := pidsText(pids)
		if x := l.it.Exchange(name); x != nil && x.Shape == bundle.ShapeStdio {
			// The surface tells no pid: the process is found by the mark in its arguments.
			mark := socketMark(x)
			if mark == "" || !x.Switched() {
				return l.inconclusive("list: the process of %s is not known (%s)", name, answer(x)).as(bundle.SymptomNoStart)
			}
			argument := " with its argument " + phrase.QuoteString(mark)
			process, by, has, absent = "the process of "+name, "one"+argument, l.hasMark(mark), "none"+argument
		} else if l.pid(name) == 0 {
			return l.inconclusive("list: the pid of %s is not known", name).as(bundle.SymptomNoStart)
		}
		switch {
		case want && !has && l.hadEnded(name, l.x.Invoked):
			return l.inconclusive("list: %s had ended before (%s)", name, l.endText(name)).as(bundle.SymptomEndedEarly)
		case want && !has:
			return l.fails(-1, "list: want %s in it, saw %s", process, absent)
		case !want && has:
			return l.fails(-1, "list: want %s gone, saw %s", process, by)
		}
	}
	return finding{}
}

// socketMark returns the mark that the engine gave to the process of a WebSocket as its last
// argument, "" if it has none.
func socketMark(x *bundle.Exchange) string {
	_, query, _ := strings.Cut(x.Request.Path, "?")
	values, err := url.ParseQuery(query)
	if args := values["arg"]; err == nil && len(args) > 0 && strings.HasPrefix(args[len(args)-1], call.Mark+"=") {
		return args[len(args)-1]
	}
	return ""
}

// hasMark reports whether a response to a list contains an argument: alone, or at the end of a
// longer text, if the gateway wraps the command.
func (l *look) hasMark(mark string) bool {
	var body []byte
	if l.x.Body != nil {
		body = l.x.Body.Data
	}
	text, err := messageJSON(l.x, body)
	if err != nil {
		return false
	}
	v, err := value.Decode(text)
	return err == nil && anyText(v, func(s string) bool { return strings.HasSuffix(strings.TrimRight(s, "'\" "), mark) })
}

// anyText reports whether a text in a JSON value fits.
func anyText(v any, fits func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return fits(v)
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return anyText(e, fits) })
	case map[string]any:
		for _, e := range v {
			if anyText(e, fits) {
				return true
			}
		}
	}
	return false
}

// listedPIDs returns the pids in the response to a list: of a ListResponse in either codec, or of
// any JSON whose objects have a number "pid" (the alias does not define a format).
func listedPIDs(x *bundle.Exchange) ([]uint32, error) {
	var body []byte
	if x.Body != nil {
		body = x.Body.Data
	}
	if x.RPC != "" && x.Codec == call.Proto {
		var m process.ListResponse
		if err := proto.Unmarshal(body, &m); err != nil {
			return nil, errors.New("not a ListResponse")
		}
		var pids []uint32
		for _, p := range m.GetProcesses() {
			pids = append(pids, p.GetPid())
		}
		return pids, nil
	}
	v, err := value.Decode(body)
	if err != nil {
		return nil, fmt.Errorf("not one JSON value: %w", err)
	}
	return collectPIDs(v, nil), nil
}

func collectPIDs(v any, pids []uint32) []uint32 {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			pids = collectPIDs(e, pids)
		}
	case map[string]any:
		if n, ok := v["pid"].(json.Number); ok {
			if pid, err := strconv.ParseUint(n.String(), 10, 32); err == nil {
				pids = append(pids, uint32(pid))
			}
		}
		for _, e := range v {
			pids = collectPIDs(e, pids)
		}
	}
	slices.Sort(pids)
	return pids
}

func pidsText(pids []uint32) string {
	if len(pids) == 0 {
		return "an empty list"
	}
	words := make([]string, 0, len(pids))
	for _, p := range pids[:min(len(pids), 12)] {
		words = append(words, strconv.FormatUint(uint64(p), 10))
	}
	text := "pids " + strings.Join(words, ", ")
	if n := len(pids) - len(words); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
