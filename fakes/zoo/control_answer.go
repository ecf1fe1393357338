package zoo

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"assay/fakes/controlplane"
)

// controlListFaults returns the faults in lists.
func controlListFaults() []fault {
	return []fault{
		{Fault{
			ID:     "next-token-missing",
			Title:  "No page of a list has a token for the next one",
			Breaks: []string{"control.list.pages"},
			Source: "OpenE2B: no X-Next-Token",
		}, onReply(func(_ *http.Request, a *httptest.ResponseRecorder) { a.Header().Del("X-Next-Token") })},
		{Fault{
			ID:     "next-token-ignored",
			Title:  "Every page is the first one",
			Breaks: []string{"control.list.pages", "control.list.token"},
			Source: "CubeSandbox#1792: nextToken ignored",
		}, onListQuery(func(q url.Values) { q.Del("nextToken") })},
		{Fault{
			ID:     "next-token-offset",
			Title:  "The token for the next page is the number of sandboxes before it",
			Breaks: []string{"control.list.token"},
			Source: "Dormice: the cursor is an offset",
		}, onAPI(offsetPages)},
		{Fault{
			ID:     "list-filters-ignored",
			Title:  "Lists ignore their filters",
			Breaks: []string{"control.list.metadata", "control.list.encoded", "control.list.state"},
			Source: "agent-sandbox/agent-sandbox#11: filters ignored",
		}, onListQuery(func(q url.Values) { q.Del("metadata"); q.Del("state") })},
		{Fault{
			ID:     "list-filter-decoded-once",
			Title:  "A filter by metadata is decoded only as a query",
			Breaks: []string{"control.list.encoded"},
			Source: "Dormice: the filter is decoded once",
		}, onListQuery(func(q url.Values) {
			if m := q.Get("metadata"); m != "" { // encoded again, so that it is decoded once in all
				pairs := strings.Split(m, "&")
				for i, pair := range pairs {
					k, v, _ := strings.Cut(pair, "=")
					pairs[i] = url.QueryEscape(url.QueryEscape(k)) + "=" + url.QueryEscape(url.QueryEscape(v))
				}
				q.Set("metadata", strings.Join(pairs, "&"))
			}
		})},
		{Fault{
			ID:     "list-order-ignored",
			Title:  "Lists begin with the oldest sandbox in every order",
			Breaks: []string{"control.list.order"},
			Source: "a list in the order of a table",
		}, onListQuery(func(q url.Values) { q.Set("order", "asc") })},
	}
}

// controlAnswerFaults returns the faults in the responses of the control plane.
func controlAnswerFaults() []fault {
	return []fault{
		{Fault{
			ID:     "error-code-text",
			Title:  "The code of an error is a text",
			Breaks: []string{"control.error.shape"},
			Source: "Dormice: string code",
		}, onMembers(func(m map[string]any) {
			if n, ok := m["code"].(float64); ok {
				m["code"] = strconv.Itoa(int(n))
			}
		})},
		{Fault{
			ID:     "end-at-empty",
			Title:  "The time at which a sandbox ends is empty",
			Breaks: []string{"control.get.details", "control.list.shows"},
			Source: "CubeSandbox#862: endAt empty",
		}, onMembers(func(m map[string]any) {
			if m["endAt"] != nil {
				m["endAt"] = ""
			}
		})},
		{Fault{
			ID:     "created-ok",
			Title:  "A creation is answered with 200",
			Breaks: []string{"control.create.reply"},
			Source: "E2B's Python SDK takes nothing but 201",
		}, onReply(func(r *http.Request, a *httptest.ResponseRecorder) {
			if a.Code == http.StatusCreated && strings.HasSuffix(r.URL.Path, "/sandboxes") {
				a.Code = http.StatusOK
			}
		})},
		{Fault{
			ID:     "envd-version-missing",
			Title:  "The reply to a creation lacks envdVersion",
			Breaks: []string{"control.create.reply"},
			Source: "E2B's JavaScript SDK: TypeError without envdVersion",
		}, onMembers(func(m map[string]any) { delete(m, "envdVersion") })},
	}
}

// controlVariants returns the variants of the control plane.
func controlVariants() []variant {
	return []variant{
		{Variant{
			ID:     "control-more-members",
			Area:   "control",
			Title:  "Responses of the control plane have members that no client knows, and null for absent ones",
			Source: "E2B adds members with every release",
		}, onMembers(func(m map[string]any) {
			m["assayUnknown"] = map[string]any{"a": []any{1, nil}}
			if m["sandboxID"] != nil {
				m["alias"], m["trafficAccessToken"], m["network"] = nil, nil, nil
			}
		})},
		{Variant{
			ID:     "control-whole-seconds",
			Area:   "control",
			Title:  "Times of the control plane have no fraction, and an offset instead of Z",
			Source: "RFC 3339",
		}, onReply(func(_ *http.Request, a *httptest.ResponseRecorder) {
			whole := fraction.ReplaceAll(a.Body.Bytes(), []byte("$1+00:00"))
			a.Body = bytes.NewBuffer(whole)
		})},
		{Variant{
			ID:     "control-slow",
			Area:   "control",
			Title:  "Every change of a sandbox takes 300 ms",
			Source: "machines that boot and write snapshots",
		}, onAPI(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method != http.MethodGet {
				select {
				case <-time.After(300 * time.Millisecond):
				case <-r.Context().Done():
				}
			}
			next.ServeHTTP(w, r)
		})},
	}
}

// fraction is the end of a time.
var fraction = regexp.MustCompile(`(T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]+)?Z`)

// onAPI decorates the requests to the API.
func onAPI(serve middleware) func(*build) {
	return func(b *build) {
		seams := b.controlSeams()
		seams.API = around(seams.API, serve.over)
	}
}

// onReply changes the responses of the API.
func onReply(change func(r *http.Request, a *httptest.ResponseRecorder)) func(*build) {
	return onAPI(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		reply(w, r, next, func(a *httptest.ResponseRecorder) { change(r, a) })
	})
}

// reply serves a request and changes the response.
func reply(w http.ResponseWriter, r *http.Request, next http.Handler, change func(a *httptest.ResponseRecorder)) {
	a := httptest.NewRecorder()
	next.ServeHTTP(a, r)
	change(a)
	maps.Copy(w.Header(), a.Header())
	w.WriteHeader(a.Code)
	_, _ = w.Write(a.Body.Bytes()) // an error means that the client has gone
}

// onMembers changes the objects in the responses of the API: a single one, or those of a list.
func onMembers(change func(map[string]any)) func(*build) {
	return onReply(func(_ *http.Request, a *httptest.ResponseRecorder) {
		var body any
		if json.Unmarshal(a.Body.Bytes(), &body) != nil {
			return
		}
		list, ok := body.([]any)
		if !ok {
			list = []any{body}
		}
		for _, e := range list {
			if m, ok := e.(map[string]any); ok {
				change(m)
			}
		}
		text, err := json.Marshal(body)
		if err != nil {
			return
		}
		a.Body = bytes.NewBuffer(text)
	})
}

// onListQuery changes the queries of lists.
func onListQuery(change func(url.Values)) func(*build) {
	return onAPI(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/sandboxes") {
			q := r.URL.Query()
			change(q)
			r = r.Clone(r.Context())
			r.URL.RawQuery = q.Encode()
		}
		next.ServeHTTP(w, r)
	})
}

// offsetPages cuts the pages of a list by numbers.
func offsetPages(w http.ResponseWriter, r *http.Request, next http.Handler) {
	q := r.URL.Query()
	limit, err := strconv.Atoi(q.Get("limit"))
	if r.URL.Path != "/v2/sandboxes" || r.Method != http.MethodGet || err != nil || limit < 1 {
		next.ServeHTTP(w, r)
		return
	}
	raw, _ := base64.RawURLEncoding.DecodeString(q.Get("nextToken"))
	from, _ := strconv.Atoi(string(raw))
	q.Del("limit")
	q.Del("nextToken")
	r = r.Clone(r.Context())
	r.URL.RawQuery = q.Encode()
	reply(w, r, next, func(a *httptest.ResponseRecorder) {
		var all []json.RawMessage
		if json.Unmarshal(a.Body.Bytes(), &all) != nil {
			return
		}
		from = min(from, len(all))
		to := min(from+limit, len(all))
		if to < len(all) {
			a.Header().Set("X-Next-Token", base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(to))))
		}
		if text, err := json.Marshal(all[from:to]); err == nil {
			a.Body = bytes.NewBuffer(text)
		}
	})
}

// controlTrafficFaults returns the faults in front of the sandboxes.
func controlTrafficFaults() []fault {
	return []fault{
		{Fault{
			ID:     "created-too-early",
			Title:  "A creation is answered two seconds before the sandbox takes requests",
			Breaks: []string{"control.create.ready"},
			Source: "openkruise/agents#296: answered before it is done",
		}, createdEarly},
		{Fault{
			ID:     "dead-traffic-not-found",
			Title:  "A request to a sandbox that does not run is answered with 404",
			Breaks: []string{"control.delete.traffic", "control.pause.traffic", "connect.error.code"},
			Source: "E2B's SDKs know a dead sandbox by 502 of /health only",
		}, deadNotFound},
		{Fault{
			ID:     "api-key-ignored",
			Title:  "The control plane accepts every API key, and none",
			Breaks: []string{"control.key.required"},
			Source: "OpenE2B: any key opens any route",
		}, func(b *build) { b.controlSeams(); b.plane.APIKey = "" }},
		{Fault{
			ID:     "token-opens-all",
			Title:  "The token of a sandbox opens every sandbox",
			Breaks: []string{"control.sandbox.token"},
			Source: "OpenE2B: one check for all sandboxes",
		}, tokenOpensAll},
	}
}

// onTraffic decorates the requests to sandboxes.
func onTraffic(serve middleware) func(*build) {
	return func(b *build) {
		seams := b.controlSeams()
		seams.Traffic = around(seams.Traffic, serve.over)
	}
}

// writeProxyError writes an error of the proxy in front of the sandboxes.
func writeProxyError(w http.ResponseWriter, status int, id, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"sandboxId": id, "message": message, "code": status}) // an error means that the client has gone
}

// watched lets a decorator of the traffic see the sandboxes.
func watched(b *build) *haunted {
	h := &haunted{}
	onSandboxes(func(next controlplane.Sandboxes) controlplane.Sandboxes {
		h.Sandboxes = next
		return h
	})(b)
	return h
}

func createdEarly(b *build) {
	boxes := watched(b)
	onTraffic(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		id := r.Header.Get("E2b-Sandbox-Id")
		if i, ok := boxes.known.get(id); ok && time.Since(i.Started) < 2*time.Second {
			writeProxyError(w, http.StatusBadGateway, id, "The sandbox was not found")
			return
		}
		next.ServeHTTP(w, r)
	})(b)
}

func deadNotFound(b *build) {
	boxes := watched(b)
	onTraffic(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		id := r.Header.Get("E2b-Sandbox-Id")
		if i, err := boxes.Find(id); err != nil || i.State != controlplane.Running {
			writeProxyError(w, http.StatusNotFound, id, "The sandbox was not found")
			return
		}
		next.ServeHTTP(w, r)
	})(b)
}

func tokenOpensAll(b *build) {
	boxes := watched(b)
	onTraffic(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		own, ok := boxes.known.get(r.Header.Get("E2b-Sandbox-Id"))
		if token := r.Header.Get("X-Access-Token"); ok && token != "" && boxes.known.has(func(_ string, i controlplane.Info) bool { return i.Token == token }) {
			r = r.Clone(r.Context())
			r.Header.Set("X-Access-Token", own.Token)
		}
		next.ServeHTTP(w, r)
	})(b)
}
