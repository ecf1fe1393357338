package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/textproto"
	"path"
	"slices"
	"strconv"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/judge"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// captured returns a value of the response of an earlier exchange. It waits until the value can be
// read, and returns errExpired if the response never has it.
func (it *iteration) captured(ctx context.Context, name, kind, field string) (string, error) {
	h, err := it.exchange(name)
	if err != nil {
		return "", err
	}
	value, ok := capture(h.x, kind, field)
	if ok {
		it.hide(field, value)
		return value, nil
	}
	w := it.onExchange(h, bundle.Wait{Kind: bundle.WaitValue, Of: kind + "." + field}, nil)
	w.met = func() bool {
		value, ok = capture(h.x, kind, field)
		return ok
	}
	err = it.wait(ctx, w)
	it.hide(field, value)
	return value, err
}

// leastCaptured is the length of the shortest captured credential. Shorter values, such as numbers, occur
// everywhere by chance.
const leastCaptured = 8

// hide keeps a captured value out of the records if its name is that of a credential. The token for the
// next page of a list is none, and later requests repeat it.
func (it *iteration) hide(field, value string) {
	if credential(field) && len(value) >= leastCaptured {
		it.in.target.Redactor().Add(value)
	}
}

// credential reports whether a field or header of this name holds a credential.
func credential(name string) bool {
	name = strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
	return (strings.HasSuffix(name, "token") || strings.HasSuffix(name, "key")) && !strings.HasSuffix(name, "nexttoken")
}

// capture reads a header field, or a field of the JSON body or of the first message; ok is false
// while the response does not have it.
func capture(x *transport.Exchange, kind, field string) (value string, ok bool) {
	s := x.Snapshot()
	if s.Response == nil {
		return "", false
	}
	if kind == "header" {
		for _, h := range s.Response.Headers {
			if textproto.CanonicalMIMEHeaderKey(h.Name) == textproto.CanonicalMIMEHeaderKey(field) {
				return h.Value, true
			}
		}
		return "", false
	}
	body := x.BodyBytes()
	if s.Shape == bundle.ShapePlain && s.Response.Ended == nil {
		return "", false
	}
	text, ok := judge.FirstMessage(&s, body)
	if !ok {
		return "", false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return "", false
	}
	return judge.Scalar(v, field)
}

// dirPrefix begins the name of every directory of an iteration. Nothing without it is removed.
const dirPrefix = "assay-"

// name returns a name that no other iteration has, and notes that files may have it.
func (it *iteration) name() string {
	it.named.Store(true)
	h := fnv.New32a()
	_, _ = h.Write([]byte(it.in.axes.String()))
	clean := strings.Map(func(r rune) rune {
		if r == '.' || r == '/' {
			return '-'
		}
		return r
	}, it.in.run.ID+"-"+it.in.s.ID)
	return dirPrefix + clean + fmt.Sprintf("-%04x-", h.Sum32()&0xffff) + it.number()
}

// number returns the number of the iteration in names. It is another one each time the scenario is repeated: what an earlier
// run of it left behind may still use the names of that.
func (it *iteration) number() string {
	if it.in.turn == 0 {
		return strconv.Itoa(it.index)
	}
	return fmt.Sprintf("%d-turn-%d", it.index, it.in.turn)
}

// dir returns the absolute path of the iteration's directory, which no one has made yet.
func (it *iteration) dir() string { return strings.TrimSuffix(it.in.files, "/") + "/" + it.name() }

// filesDir holds the directories of iterations, unless the target keeps its files elsewhere.
const filesDir = "/tmp"

// locate finds the directory in which iterations may have files: /tmp or, where the target refuses
// it, the home directory.
func (e *Engine) locate(ctx context.Context) {
	uses := func(s *slot) bool { return bytes.Contains(s.run.Scenario.Text, []byte("${dir}")) }
	if !e.env.has("filesystem") || !slices.ContainsFunc(e.slots, uses) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, e.env.probeBound())
	defer cancel()
	rec := e.env.target.NewRecorder(e.env.clock)
	defer rec.Finish(nil)
	in := e.env.housekeeper(bundle.OpProbe)
	if _, ok := in.statPath(ctx, rec, filesDir); ok {
		return
	}
	if home, ok := in.statPath(ctx, rec, "."); ok && strings.HasPrefix(home, "/") {
		e.env.files = path.Clean(home)
	}
}

// statPath returns the absolute path of a file that exists.
func (in *instance) statPath(ctx context.Context, rec *transport.Recorder, name string) (absolute string, ok bool) {
	text, err := call.Marshal(map[string]string{"path": name})
	if err != nil {
		return "", false
	}
	req, err := in.render().RPC(in.form(), call.Text{RPC: call.FilesystemStat, JSON: text})
	if err != nil {
		return "", false
	}
	return capture(in.direct(ctx, rec, bundle.OpProbe, req), "json", "entry.path")
}

// keepCaptured adds the values of responses, and of ${dir} and ${name}, that the script mentions,
// so that expectations can use them.
func (it *iteration) keepCaptured(vars map[string]string) {
	for _, variable := range it.in.s.References() {
		switch variable {
		case "dir":
			vars[variable] = it.dir()
			continue
		case "name":
			vars[variable] = it.name()
			continue
		}
		name, kind, field, ok := scenarios.Capture(variable)
		h := it.byName[name]
		if !ok || h == nil || h.x == nil {
			continue
		}
		if value, ok := capture(h.x, kind, field); ok {
			vars[variable] = it.in.target.Redactor().Text(value)
		}
	}
}
