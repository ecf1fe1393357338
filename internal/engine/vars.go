package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"assay/scenarios"
)

// resolve returns a step with the values of its variables, and with the pid of the earlier start that it names. It waits for
// a pid until the start event, and for a value of a response until it is there, and returns errExpired if it never comes.
func (it *iteration) resolve(ctx context.Context, st *scenarios.Step) (*scenarios.Step, error) {
	st, err := st.Resolve(func(name string) (string, error) { return it.lookup(ctx, name) })
	if err != nil {
		return nil, err
	}
	if c, calls := st.Call(); calls && c.Target != nil && c.Target.To != "" {
		h, err := it.handle(c.Target.To)
		if err != nil {
			return nil, err
		}
		pid, err := it.pid(ctx, h)
		if err != nil {
			return nil, err
		}
		c.Target.PID = new(int64(pid))
	}
	return st, nil
}

// lookup returns the value of a variable.
func (it *iteration) lookup(ctx context.Context, name string) (string, error) {
	switch name {
	case "run":
		return it.in.run.ID, nil
	case "iteration":
		return strconv.Itoa(it.index), nil
	case "token":
		return it.render().Token(), nil
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

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
