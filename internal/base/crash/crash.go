package crash

import (
	"runtime/debug"
	"sync/atomic"
)

// handler takes panics; nil without a program that takes them.
var handler atomic.Pointer[func(value any, stack []byte)]

// Handle sets the function that takes the value and the stack of a panic. It must not
// return. Package main sets it once, before any goroutine starts.
func Handle(take func(value any, stack []byte)) { handler.Store(&take) }

// Catch hands a panic of the calling goroutine to the program. Go and Group defer it, and so does a
// function that a timer or a library calls, because a panic that nobody recovers ends the program with
// exit code 2 and the trace of all goroutines. Without Handle, as in tests, the panic continues.
func Catch() {
	p := recover()
	if p == nil {
		return
	}
	if take := handler.Load(); take != nil {
		(*take)(p, debug.Stack())
	}
	panic(p) //nolint:forbidigo // nobody takes it
}
