package engine

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"strconv"
	"strings"
	"time"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/internal/transport"
	"assay/scenarios"
)

// query returns the query of a send, with its signature, "" for none.
func (it *iteration) query(ctx context.Context, s *scenarios.Send) (string, error) {
	values := map[string]string{}
	switch {
	case s.Query != nil && s.Query.Text != nil:
		return it.expand(ctx, *s.Query.Text)
	case s.Query != nil:
		for _, name := range sortedKeys(s.Query.Values) {
			value, err := it.expand(ctx, s.Query.Values[name])
			if err != nil {
				return "", err
			}
			values[name] = value
		}
	}
	if s.Sign != nil {
		signed, err := it.sign(ctx, s.Sign, values)
		if err != nil {
			return "", err
		}
		maps.Copy(signed, values)
		values = signed
	}
	var pairs []call.Parameter
	for _, name := range sortedKeys(values) {
		pairs = append(pairs, call.Parameter{Name: name, Value: values[name]})
	}
	return call.EncodeParameters(pairs), nil
}

// sign returns the query values of a signature.
func (it *iteration) sign(ctx context.Context, s *scenarios.Sign, query map[string]string) (map[string]string, error) {
	words := []string{query["path"], s.Operation, query["username"], it.in.token()}
	for i, own := range map[int]*string{0: s.Path, 2: s.Username, 3: s.Token} {
		if own == nil {
			continue
		}
		value, err := it.expand(ctx, *own)
		if err != nil {
			return nil, err
		}
		words[i] = value
	}
	out := map[string]string{}
	if s.Expires != nil {
		at := strconv.FormatInt(time.Now().Unix()+*s.Expires, 10)
		words = append(words, at)
		out["signature_expiration"] = at
	}
	sum := sha256.Sum256([]byte(strings.Join(words, ":")))
	out["signature"] = "v1_" + base64.RawStdEncoding.EncodeToString(sum[:])
	return out, nil
}

// boundary delimits the parts of the bodies of scripts; their contents do not have it.
const boundary = "assay-boundary-6b1f0c92"

// quoteName escapes a name in a Content-Disposition as browsers do.
var quoteName = strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A")

// multipart renders a multipart/form-data body and its content type.
func (it *iteration) multipart(ctx context.Context, f call.Form, m *scenarios.Multipart) (body []byte, contentType string, err error) {
	var b strings.Builder
	for i := range m.Parts {
		p := &m.Parts[i]
		name := p.Name
		if name == "" {
			name = "file"
		}
		b.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + quoteName.Replace(name) + `"`)
		if p.Filename != nil {
			filename, err := it.expand(ctx, *p.Filename)
			if err != nil {
				return nil, "", err
			}
			b.WriteString(`; filename="` + quoteName.Replace(filename) + `"`)
		}
		kind := p.Type
		if kind == "" {
			kind = "application/octet-stream"
		}
		content, err := rendering{it: it, rpc: rawRPC, codec: f.Codec}.segments(ctx, p.Of)
		if err != nil {
			return nil, "", err
		}
		b.WriteString("\r\nContent-Type: " + kind + "\r\n\r\n")
		b.Write(content.entity)
		b.WriteString("\r\n")
	}
	if !m.Open {
		b.WriteString("--" + boundary + "--\r\n")
	}
	contentType = "multipart/form-data; boundary=" + boundary
	switch {
	case m.Boundary != nil && *m.Boundary == "":
		contentType = "multipart/form-data"
	case m.Boundary != nil:
		contentType = "multipart/form-data; boundary=" + *m.Boundary
	}
	return []byte(b.String()), contentType, nil
}

// packed renders compressed segments.
func (r rendering) packed(ctx context.Context, p *scenarios.Packed) ([]byte, error) {
	content, err := r.segments(ctx, p.Of)
	if err != nil {
		return nil, err
	}
	out := call.Compress(content.entity)
	return out[:max(0, len(out)-p.Drop)], nil
}

// removeFiles removes what the iteration may have left at ${dir} and, below the home directory,
// at ${name}.
func (it *iteration) removeFiles(ctx context.Context, out *bundle.Iteration) {
	if !it.named.Load() {
		return
	}
	ctx, cancel := it.in.aside(ctx, it.in.cleanupBound(), afterInterrupt/2)
	defer cancel()
	rec := it.in.target.NewRecorder(it.in.clock)
	in := it.in.plain()
	for _, variable := range []string{"dir", "name"} {
		path := it.dir()
		if variable == "name" {
			path = it.name()
		}
		if it.mentions(variable) {
			in.remove(ctx, rec, path)
		}
	}
	absorb(out, rec)
}

// mentions reports whether the script uses a variable.
func (it *iteration) mentions(variable string) bool {
	return strings.Contains(string(it.in.s.Text), "${"+variable+"}")
}

// remove removes a file tree by the filesystem service, or by a process.
func (in *instance) remove(ctx context.Context, rec *transport.Recorder, path string) {
	var m call.Message
	switch text, err := call.Marshal(map[string]string{"path": path}); {
	case err != nil:
		return
	case in.has("filesystem"):
		m = call.Text{RPC: call.FilesystemRemove, JSON: text}
	case in.has("process.start"):
		m = call.Start{Process: call.Config{Cmd: "rm", Args: []string{"-rf", "--", path}, Envs: map[string]string{call.Mark: in.mark()}}}
	default:
		return
	}
	if req, err := in.rpcRequest(in.form(), m, headerPlan{}); err == nil {
		in.direct(ctx, rec, bundle.OpCleanup, req)
	}
}
