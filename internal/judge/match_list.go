package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/internal/envd/process"
	"assay/internal/judge/value"
)

// matchLists requires these processes in the response to a list.
func matchLists(l *look) finding { return l.listed(l.m.Lists, true) }

// matchNotLists forbids these processes in the response to a list.
func matchNotLists(l *look) finding { return l.listed(l.m.NotLists, false) }

func (l *look) listed(names []string, want bool) finding {
	if l.x.Body != nil && !l.x.Body.Whole() {
		return l.unclear("list: only a part of the %d bytes was kept", l.x.Body.Len)
	}
	pids, err := listedPIDs(l.x)
	if err != nil {
		return l.fails(-1, "list: not readable: %v (%s)", err, answer(l.x)).as(shortfallOr(l.x, bundle.SymptomBody))
	}
	for _, name := range names {
		pid := l.pid(name)
		if pid == 0 {
			return l.unclear("list: the pid of %s is not known", name).as(bundle.SymptomNoStart)
		}
		switch has := slices.Contains(pids, pid); {
		case want && !has && l.hadEnded(name, l.x.Invoked):
			return l.unclear("list: %s had ended before (%s)", name, l.endText(name)).as(bundle.SymptomEndedEarly)
		case want && !has:
			return l.fails(-1, "list: want pid %d (%s) in it, saw %s", pid, name, pidsText(pids))
		case !want && has:
			return l.fails(-1, "list: want pid %d (%s) gone, saw it listed", pid, name)
		}
	}
	return finding{}
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
