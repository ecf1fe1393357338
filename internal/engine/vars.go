package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"assay/internal/envd/call"
	"assay/scenarios"
)

// expand replaces ${run}, ${iteration}, ${token}, ${dir}, ${name}, ${NAME.pid}, ${NAME.tag} and values
// of responses in s by their values. For a pid it waits for the start event, for a value of a
// response until it is there, and returns errExpired if it never comes.
func (it *iteration) expand(ctx context.Context, s string) (string, error) {
	var failed error
	out, err := scenarios.Expand(s, func(name string) (string, bool) {
		if failed != nil {
			return "", true
		}
		value, err := it.lookup(ctx, name)
		failed = err
		return value, true
	})
	return out, firstError(failed, err)
}

func (it *iteration) lookup(ctx context.Context, name string) (string, error) {
	switch name {
	case "run":
		return it.in.run.ID, nil
	case "iteration":
		return strconv.Itoa(it.index), nil
	case "token":
		return it.in.token(), nil
	case "dir":
		return it.dir(), nil
	case "name":
		return it.name(), nil
	}
	if of, kind, field, ok := scenarios.Capture(name); ok {
		return it.captured(ctx, of, kind, field)
	}
	of, what, _ := strings.Cut(name, ".")
	if what != "pid" && what != "tag" {
		return "", fmt.Errorf("variable ${%s} is not one of ${run}, ${iteration}, ${token}, ${dir}, ${name}, ${NAME.pid}, ${NAME.tag}, ${NAME.json.FIELD} and ${NAME.header.FIELD}", name)
	}
	h, err := it.handle(of)
	if err != nil {
		return "", fmt.Errorf("variable ${%s}: %w", name, err)
	}
	if what == "tag" {
		return h.tag, nil
	}
	pid, err := it.pid(ctx, h)
	if err != nil {
		return "", err
	}
	return strconv.FormatUint(uint64(pid), 10), nil
}

// token returns the access token that requests carry, "" without one.
func (in *instance) token() string {
	for _, h := range in.target.Headers(in.s.ID, in.run.ID) {
		if strings.EqualFold(h.Name, "X-Access-Token") {
			return h.Value
		}
	}
	return ""
}

// variablesIn returns the values of the variables that a value of a script contains.
// For a pid it waits, as expand does.
func (it *iteration) variablesIn(ctx context.Context, v any) (map[string]string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	vars := make(map[string]string)
	var failed error
	_, err = scenarios.Expand(string(text), func(name string) (string, bool) {
		if failed == nil {
			vars[name], failed = it.lookup(ctx, name)
		}
		return "", true
	})
	return vars, firstError(failed, err)
}

// isPID reports whether s is exactly one ${NAME.pid}.
func isPID(s string) bool {
	return strings.HasPrefix(s, "${") && strings.HasSuffix(s, ".pid}") && strings.Count(s, "}") == 1
}

// expandValue expands every string of a value of a script, but no keys. A string that
// is exactly one pid becomes a number, as the field of a message requires.
func (it *iteration) expandValue(ctx context.Context, v any) (any, error) {
	switch v := v.(type) {
	case string:
		out, err := it.expand(ctx, v)
		if err != nil {
			return nil, err
		}
		if isPID(v) {
			return json.Number(out), nil
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			x, err := it.expandValue(ctx, value)
			if err != nil {
				return nil, err
			}
			out[key] = x
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			x, err := it.expandValue(ctx, value)
			if err != nil {
				return nil, err
			}
			out[i] = x
		}
		return out, nil
	}
	return v, nil
}

// jsonOf returns the compact JSON of a value of a script, with its variables expanded.
// The keys of objects are sorted, so that the bytes are the same in each run. The shell
// of the target replaces /bin/sh in a /bin/sh -c command.
func (it *iteration) jsonOf(ctx context.Context, v any) ([]byte, error) {
	v, err := it.expandValue(ctx, v)
	if err != nil {
		return nil, err
	}
	return call.Marshal(scenarios.InShell(v, it.in.target.Shell()))
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
