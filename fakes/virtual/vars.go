package virtual

import (
	"errors"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// variable is a shell variable. set is false if it is only exported or read-only.
type variable struct {
	value    string
	set      bool
	exported bool
	readonly bool
}

// errReadonly ends the shell, like any error of an assignment.
var errReadonly = errors.New("is read only")

// loadVars creates the variables from the environment.
func (sh *shell) loadVars() {
	sh.vars = make(map[string]variable, len(sh.env)+4)
	for k, v := range sh.env {
		if syntax.ValidName(k) {
			sh.vars[k] = variable{value: v, set: true, exported: true}
		}
	}
	same := len(sh.vars) == len(sh.env) && !sh.bash
	for k, v := range map[string]string{"IFS": " \t\n", "OPTIND": "1", "PPID": strconv.Itoa(int(sh.ppid))} {
		same = same && !sh.vars[k].set
		sh.vars[k] = variable{value: v, set: true}
	}
	pwd := sh.vars["PWD"]
	sh.vars["PWD"] = variable{value: sh.dir, set: true, exported: pwd.exported || sh.bash}
	if same && !pwd.set {
		sh.exports = sh.env // what environ would make
	}
	sh.env = nil
}

// environ returns the environment of children, which they do not change. It is made anew after an exported variable has changed.
func (sh *shell) environ() map[string]string {
	if sh.exports == nil {
		sh.exports = make(map[string]string, len(sh.vars))
		for k, v := range sh.vars {
			if v.exported && v.set {
				sh.exports[k] = v.value
			}
		}
	}
	return sh.exports
}

// store sets a variable with its attributes.
func (sh *shell) store(name string, v variable) {
	if v.exported || sh.vars[name].exported {
		sh.exports = nil
	}
	sh.vars[name] = v
}

// drop removes a variable.
func (sh *shell) drop(name string) {
	if sh.vars[name].exported {
		sh.exports = nil
	}
	delete(sh.vars, name)
}

// assign sets a variable and keeps its attributes.
func (sh *shell) assign(name, value string) error {
	v := sh.vars[name]
	if v.readonly {
		return errReadonly
	}
	if len(value) > maxValue || len(value) > largeValue && sh.p.sys.full() {
		return errNoMemory
	}
	v.value, v.set = value, true
	v.exported = v.exported || sh.opts.allexport
	sh.store(name, v)
	return nil
}

// put restores a saved variable.
func (sh *shell) put(name string, v variable) {
	if v == (variable{}) {
		sh.drop(name)
		return
	}
	sh.store(name, v)
}

func (sh *shell) get(name string) string { return sh.vars[name].value }

// shellEnv gives the expansion access to the shell.
type shellEnv struct{ sh *shell }

var _ expand.WriteEnviron = shellEnv{}

// Get also returns the special parameters. The expansion requests "HOME name" for ~name; Get always sets it, otherwise the library would ask the host.
func (e shellEnv) Get(name string) expand.Variable {
	sh := e.sh
	if user, ok := strings.CutPrefix(name, "HOME "); ok {
		return str(homeOf(user))
	}
	switch name {
	case "#":
		return str(strconv.Itoa(len(sh.params)))
	case "@", "*":
		list := sh.params
		if list == nil {
			list = []string{}
		}
		return expand.Variable{Set: true, Kind: expand.Indexed, List: list}
	case "?":
		return str(strconv.Itoa(sh.last))
	case "$":
		return str(strconv.Itoa(int(sh.pid)))
	case "!":
		if sh.lastJob == 0 {
			return expand.Variable{}
		}
		return str(strconv.Itoa(int(sh.lastJob)))
	case "-":
		return str(sh.optionLetters())
	case "0":
		return str(sh.name)
	case "LINENO":
		return str(strconv.Itoa(int(sh.line)))
	}
	if name != "" && name[0] >= '1' && name[0] <= '9' {
		if n, err := strconv.Atoi(name); err == nil && n <= len(sh.params) {
			return str(sh.params[n-1])
		}
		return expand.Variable{}
	}
	v := sh.vars[name]
	if !v.set {
		return expand.Variable{Exported: v.exported, ReadOnly: v.readonly}
	}
	return expand.Variable{Set: true, Exported: v.exported, ReadOnly: v.readonly, Kind: expand.String, Str: v.value}
}

// Set is called by ${x:=y} and by arithmetic.
func (e shellEnv) Set(name string, v expand.Variable) error {
	if !syntax.ValidName(name) {
		return errors.New(name + ": bad variable name")
	}
	if err := e.sh.assign(name, v.String()); err != nil {
		return errors.New(name + ": " + err.Error())
	}
	return nil
}

// Each lists all variables.
func (e shellEnv) Each(fn func(name string, v expand.Variable) bool) {
	for name := range e.sh.vars {
		if !fn(name, e.Get(name)) {
			return
		}
	}
}

func str(s string) expand.Variable { return expand.Variable{Set: true, Kind: expand.String, Str: s} }

// homeOf returns the home directory of a sandbox user; an unknown ~name stays unchanged.
func homeOf(user string) string {
	switch user {
	case "root":
		return "/root"
	case "user":
		return "/home/user"
	}
	return "~" + user
}
