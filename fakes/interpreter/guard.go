package interpreter

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

const (
	// maxMemory limits the bytes of all large values that a run makes. The interpreter itself has
	// no limit: twenty doublings of a string fill the machine.
	maxMemory = 64 << 20
	// maxDepth limits the nesting of a value that is shown: the Go stack holds a frame for each level.
	maxDepth = 500
	// maxNumber limits an integer, in bytes: no interrupt reaches the arithmetic of larger ones.
	maxNumber = 128 << 10
	// item is the memory of an element of a list, beside its content.
	item = 16
)

// errMemory ends a run that makes too large values.
var errMemory = errors.New("out of memory: the values of a run may take 64 MiB")

// charge takes memory of the run.
func (r *run) charge(n int64) error {
	if n < 0 || n > r.memory {
		return errMemory
	}
	r.memory -= n
	return nil
}

// printable charges for the text of a value, which may be much longer than the value.
func (r *run) printable(v starlark.Value) error { return r.charge(textSize(v, r.memory, 0)) }

// textSize returns about the length of the text of a value, or more than limit.
func textSize(v starlark.Value, limit int64, depth int) int64 {
	if depth > maxDepth {
		return limit + 1
	}
	n := int64(2)
	switch v := v.(type) {
	case starlark.String:
		return n + int64(len(v))
	case starlark.Bytes:
		return n + int64(len(v))
	case starlark.Int:
		return n + int64(v.BigInt().BitLen()/3)
	case *starlark.Dict:
		for _, e := range v.Items() {
			if n += textSize(e, limit-n, depth+1); n > limit {
				return n
			}
		}
	case *starlark.List, starlark.Tuple, *starlark.Set: // a range is short
		for e := range starlark.Elements(v.(starlark.Iterable)) {
			if n += textSize(e, limit-n, depth+1); n > limit {
				return n
			}
		}
	default:
		return n + item
	}
	return n
}

// size returns the memory of the value itself, without that of its elements.
func size(v starlark.Value) int64 {
	switch v := v.(type) {
	case starlark.String:
		return int64(len(v))
	case starlark.Bytes:
		return int64(len(v))
	case starlark.Int:
		return int64(v.BigInt().BitLen() / 8)
	case starlark.Sequence:
		return item * int64(v.Len())
	}
	return 0
}

// The guards are functions that the operators of code are replaced by. No code can spell their names.
const (
	fnPlus, fnTimes, fnPercent, fnOr = "+", "*", "%", "|"
	fnGrow                           = "+=" // charges for an assignment by such an operator
	fnGrowItem                       = "[]+="
	fnCopy                           = "[:]"
	fnAttr                           = "."
)

var operators = map[syntax.Token]string{syntax.PLUS: fnPlus, syntax.STAR: fnTimes, syntax.PERCENT: fnPercent, syntax.PIPE: fnOr}

// augmented are the operators of assignments.
var augmented = map[syntax.Token]syntax.Token{
	syntax.PLUS_EQ: syntax.PLUS, syntax.STAR_EQ: syntax.STAR, syntax.PERCENT_EQ: syntax.PERCENT, syntax.PIPE_EQ: syntax.PIPE,
}

// addGuards adds the guards to the globals of a context.
func addGuards(all starlark.StringDict) {
	for op, name := range operators {
		all[name] = builtin(name, func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			if err := runOf(t).grow(op, args[0], args[1]); err != nil {
				return nil, err
			}
			return starlark.Binary(op, args[0], args[1])
		})
	}
	all[fnGrow] = builtin(fnGrow, func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return args[2], runOf(t).grow(operatorNamed(args[0]), args[1], args[2])
	})
	all[fnGrowItem] = builtin(fnGrowItem, growItem)
	all[fnCopy] = builtin(fnCopy, func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return args[0], runOf(t).charge(size(args[0]))
	})
	all[fnAttr] = builtin(fnAttr, attr)
	for name, by := range guardedFunctions {
		all[name] = guarded(starlark.Universe[name], by)
	}
	all["getattr"] = builtin("getattr", getattr)
}

// operatorNamed returns the operator of a guard.
func operatorNamed(v starlark.Value) syntax.Token {
	for op, name := range operators {
		if v == starlark.String(name) {
			return op
		}
	}
	return syntax.ILLEGAL
}

// growItem changes an element of a container by an operator, as container[key] += y does.
func growItem(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	op, container, key, y := operatorNamed(args[0]), args[1], args[2], args[3]
	x, err := itemOf(container, key)
	if err == nil {
		err = runOf(t).grow(op, x, y)
	}
	if err != nil {
		return nil, err
	}
	if change, ok := inPlace(op, x); ok {
		_, err := starlark.Call(t, change, starlark.Tuple{y}, nil)
		return starlark.None, err
	}
	if y, err = starlark.Binary(op, x, y); err != nil {
		return nil, err
	}
	switch c := container.(type) {
	case starlark.HasSetKey:
		err = c.SetKey(key, y)
	case starlark.HasSetIndex:
		var i int
		if i, err = indexIn(c, key); err == nil {
			err = c.SetIndex(i, y)
		}
	default:
		err = fmt.Errorf("%s value does not support item assignment", container.Type())
	}
	return starlark.None, err
}

// inPlace returns the method by which an operator changes a list or a dictionary itself.
func inPlace(op syntax.Token, x starlark.Value) (method starlark.Value, ok bool) {
	switch x := x.(type) {
	case *starlark.List:
		method, _ = x.Attr("extend")
		return method, op == syntax.PLUS
	case *starlark.Dict:
		method, _ = x.Attr("update")
		return method, op == syntax.PIPE
	}
	return nil, false
}

// itemOf returns container[key].
func itemOf(container, key starlark.Value) (starlark.Value, error) {
	switch c := container.(type) {
	case starlark.Mapping:
		v, ok, err := c.Get(key)
		if err == nil && !ok {
			err = fmt.Errorf("key %v not in %s", key, c.Type())
		}
		return v, err
	case starlark.Indexable:
		i, err := indexIn(c, key)
		if err != nil {
			return nil, err
		}
		return c.Index(i), nil
	}
	return nil, fmt.Errorf("unhandled index operation %s[%s]", container.Type(), key.Type())
}

// indexIn returns the index that a key selects; a negative one counts from the end.
func indexIn(c starlark.Indexable, key starlark.Value) (int, error) {
	i, err := starlark.AsInt32(key)
	if err != nil {
		return 0, err
	}
	if i < 0 {
		i += c.Len()
	}
	if i < 0 || i >= c.Len() {
		return 0, fmt.Errorf("%s index %v out of range", c.Type(), key)
	}
	return i, nil
}

// grow charges for the result of an operator.
func (r *run) grow(op syntax.Token, x, y starlark.Value) error {
	n := size(x) + size(y)
	format, text := starlark.AsString(x)
	if op == syntax.STAR {
		n = product(x, y)
	} else if op == syntax.PERCENT && text {
		n = int64(len(format)) + int64(strings.Count(format, "%"))*textSize(y, r.memory, 0)
	} else if op == syntax.PIPE {
		n *= 4 // hash tables
	}
	return r.charge(n)
}

// product returns the memory of x * y; negative if that is more than any machine has.
func product(x, y starlark.Value) int64 {
	times, ok := y.(starlark.Int)
	what := x
	if !ok {
		times, ok = x.(starlark.Int)
		what = y
	}
	if _, number := what.(starlark.Int); number && size(x)+size(y) > maxNumber {
		return -1
	} else if number || !ok {
		return size(x) + size(y)
	}
	n, ok := times.Int64()
	switch each := size(what); {
	case !ok:
		return -1
	case n <= 0 || each == 0:
		return 0
	case n > maxMemory/each:
		return -1
	default:
		return n * each
	}
}

// cost is how much a call of a function takes.
type cost int

const (
	ofContent cost = iota // as much as its arguments and receiver, several times
	ofText                // as much as the text of its arguments
	ofJoin                // the text of its arguments, with the receiver between them
	ofReplace             // the receiver with each character replaced by the last argument
	ofNumber              // nothing, unless a text has more digits than a number
	ofFormat              // the receiver with each brace replaced by the text of the arguments
)

// copies is how many times the memory of its arguments a function takes: a string that is split is many strings.
const copies = 4

// guardedFunctions are the functions of the language whose result may be large.
var guardedFunctions = map[string]cost{
	"list": ofContent, "tuple": ofContent, "set": ofContent, "dict": ofContent, "sorted": ofContent, "reversed": ofContent,
	"max": ofContent, "min": ofContent, "all": ofContent, "any": ofContent, "enumerate": ofContent, "zip": ofContent, "bytes": ofContent, "int": ofNumber, "str": ofText, "repr": ofText, "fail": ofText,
}

// guardedMethods are the methods whose result may be large.
var guardedMethods = map[string]cost{
	"capitalize": ofContent, "lower": ofContent, "upper": ofContent, "title": ofContent, "split": ofContent, "rsplit": ofContent,
	"splitlines": ofContent, "extend": ofContent, "update": ofContent, "items": ofContent, "keys": ofContent, "values": ofContent,
	"union": ofContent, "difference": ofContent, "intersection": ofContent, "symmetric_difference": ofContent,
	"join": ofJoin, "replace": ofReplace, "format": ofFormat,
}

// guarded returns a function that charges for its result first.
func guarded(f starlark.Value, by cost) *starlark.Builtin {
	next, _ := f.(*starlark.Builtin)
	return builtin(next.Name(), func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := runOf(t).charge(runOf(t).costOf(by, next.Receiver(), args, kwargs)); err != nil {
			return nil, err
		}
		return starlark.Call(t, next, args, kwargs)
	})
}

// costOf returns what a call takes.
func (r *run) costOf(by cost, receiver starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) int64 {
	all := slices.Clone(args)
	for _, kv := range kwargs {
		all = append(all, kv[1])
	}
	var content, own int64
	if receiver != nil {
		own = size(receiver)
	}
	for _, v := range all {
		content += size(v)
	}
	text, _ := starlark.AsString(receiver)
	switch by {
	case ofText:
		return textSize(all, r.memory, 0)
	case ofJoin:
		return textSize(all, r.memory, 0) + own*(content/item+1)
	case ofReplace:
		if len(all) == 0 {
			return 0
		}
		return own + (own+1)*size(all[len(all)-1])
	case ofNumber:
		if content > 2*maxNumber {
			return -1
		}
		return content
	case ofFormat:
		return own + int64(strings.Count(text, "{"))*textSize(all, r.memory, 0)
	default:
		return copies * (own + content)
	}
}

// attr returns X.NAME, guarded.
func attr(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	name, _ := starlark.AsString(args[1])
	if x, ok := args[0].(starlark.HasAttrs); ok {
		if v, err := x.Attr(name); v != nil || err != nil {
			return guardedMethod(name, v), err
		}
	}
	return nil, fmt.Errorf("%s has no .%s field or method", args[0].Type(), name)
}

func guardedMethod(name string, v starlark.Value) starlark.Value {
	by, ok := guardedMethods[name]
	if b, method := v.(*starlark.Builtin); ok && method && b.Receiver() != nil {
		return guarded(b, by)
	}
	return v
}

// getattr is the function of the language, with guarded methods.
func getattr(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v, err := starlark.Call(t, starlark.Universe["getattr"], args, kwargs)
	if err != nil || len(args) < 2 {
		return v, err
	}
	name, _ := starlark.AsString(args[1])
	return guardedMethod(name, v), nil
}
