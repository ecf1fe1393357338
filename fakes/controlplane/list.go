package controlplane

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/fakes/strict"
)

// maxPage is the largest and the default number of sandboxes of a page.
const maxPage = 100

// query selects sandboxes and a page of them.
type query struct {
	metadata  map[string]string // all of these pairs
	states    []State           // one of these; empty: all
	template  string            // "" is all
	since     time.Time         // started at or after
	ascending bool
	limit     int
	after     *position
}

// position is the place of a sandbox in the order: that of the last one of a page.
// Unlike a number, it remains right when sandboxes before it are deleted.
type position struct {
	started time.Time
	id      string
}

// compare orders by the start and then by the id.
func (p position) compare(q position) int {
	return cmp.Or(p.started.Compare(q.started), cmp.Compare(p.id, q.id))
}

func positionOf(i Info) position { return position{i.Started, i.ID} }

// token returns the position for the client. It is valid for one order only.
func (p position) token(ascending bool) string {
	return base64.RawURLEncoding.EncodeToString([]byte(orderName(ascending) + " " + strconv.FormatInt(p.started.UnixNano(), 10) + " " + p.id))
}

func orderName(ascending bool) string {
	if ascending {
		return "asc"
	}
	return "desc"
}

// readToken reads a position.
func readToken(token string, ascending bool) (*position, error) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	parts := strings.Split(string(raw), " ")
	if err != nil || len(parts) != 3 || !idForm.MatchString(parts[2]) {
		return nil, failure(http.StatusBadRequest, "nextToken is not a token of this list")
	}
	nanos, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return nil, failure(http.StatusBadRequest, "nextToken is not a token of this list")
	}
	if parts[0] != orderName(ascending) {
		return nil, failure(http.StatusBadRequest, "nextToken is one of the order %q", parts[0])
	}
	return &position{time.Unix(0, nanos), parts[2]}, nil
}

// readQuery reads the query of a request.
func readQuery(v url.Values) (q query, err error) {
	if q.metadata, err = readMetadata(v); err != nil {
		return q, err
	}
	for _, word := range strings.Split(strings.Join(v["state"], ","), ",") {
		switch s := State(strings.TrimSpace(word)); s {
		case Running, Paused:
			q.states = append(q.states, s)
		case "":
		default:
			return q, failure(http.StatusBadRequest, "state %q: want running or paused", word)
		}
	}
	switch order := v.Get("order"); order {
	case "", "desc":
	case "asc":
		q.ascending = true
	default:
		return q, failure(http.StatusBadRequest, "order %q: want asc or desc", order)
	}
	if since := v.Get("startedAfter"); since != "" {
		if q.since, err = time.Parse(time.RFC3339Nano, since); err != nil {
			return q, failure(http.StatusBadRequest, "startedAfter %q: want a time such as 2026-01-31T12:00:00Z", since)
		}
	}
	q.template = v.Get("template")
	if q.limit, err = number("limit", v.Get("limit"), 1, maxPage, maxPage); err != nil {
		return q, err
	}
	if token := v.Get("nextToken"); token != "" {
		q.after, err = readToken(token, q.ascending)
	}
	return q, err
}

// readMetadata reads the pairs of a filter. The SDKs encode it three times: every key
// and value, the list of pairs, and the query, which is decoded already.
func readMetadata(v url.Values) (map[string]string, error) {
	text := v.Get("metadata")
	if text == "" {
		return nil, nil
	}
	list, err := url.QueryUnescape(text)
	if err != nil {
		return nil, failure(http.StatusBadRequest, "metadata %q: %v", text, err)
	}
	pairs := map[string]string{}
	for _, pair := range strings.Split(list, "&") {
		k, val, ok := strings.Cut(pair, "=")
		key, err := url.QueryUnescape(k)
		value, err2 := url.QueryUnescape(val)
		if err = cmp.Or(err, err2); err != nil || !ok {
			return nil, failure(http.StatusBadRequest, "metadata %q: want pairs KEY=VALUE", text)
		}
		pairs[key] = value
	}
	return pairs, nil
}

// matches reports whether a sandbox is selected, on whatever page.
func (q *query) matches(i Info) bool {
	for k, want := range q.metadata {
		if got, ok := i.Metadata[k]; !ok || got != want {
			return false
		}
	}
	return (len(q.states) == 0 || slices.Contains(q.states, i.State)) &&
		(q.template == "" || templateName(i.Template) == templateName(q.template)) &&
		!i.Started.Before(q.since)
}

// page returns the sandboxes of one page, and the token of the next; "" on the last.
func (q *query) page(all []Info) (page []Info, next string) {
	all = slices.DeleteFunc(all, func(i Info) bool { return !q.matches(i) || !q.follows(i) })
	slices.SortFunc(all, func(a, b Info) int { return q.order(positionOf(a), positionOf(b)) })
	if len(all) <= q.limit {
		return all, ""
	}
	page = all[:q.limit]
	return page, positionOf(page[q.limit-1]).token(q.ascending)
}

// order compares two positions in the order of the list.
func (q *query) order(a, b position) int {
	if q.ascending {
		return a.compare(b)
	}
	return b.compare(a)
}

// follows reports whether a sandbox is behind the pages before.
func (q *query) follows(i Info) bool { return q.after == nil || q.order(*q.after, positionOf(i)) < 0 }

// list serves one page of the sandboxes.
func (p *Plane) list(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r.URL.Query())
	if err != nil {
		return err
	}
	all := p.boxes.List()
	running := 0
	for _, i := range all {
		if i.State == Running {
			running++
		}
	}
	page, next := q.page(all)
	w.Header().Set("X-Total-Running", strconv.Itoa(running))
	if next != "" {
		w.Header().Set("X-Next-Token", next)
	}
	p.writeList(w, page)
	return nil
}

// listRunning serves all running sandboxes without pages.
func (p *Plane) listRunning(w http.ResponseWriter, r *http.Request) error {
	pairs, err := readMetadata(r.URL.Query())
	if err != nil {
		return err
	}
	q := query{metadata: pairs, states: []State{Running}, limit: p.o.MaxSandboxes}
	page, _ := q.page(p.boxes.List())
	p.writeList(w, page)
	return nil
}

func (p *Plane) writeList(w http.ResponseWriter, page []Info) {
	out := []details{}
	for _, i := range page {
		out = append(out, p.listed(i))
	}
	strict.WriteJSON(w, http.StatusOK, out)
}
