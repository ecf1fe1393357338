// Package render turns a step of a script into the request that it makes: which call, in which form, with which header fields and
// bytes. It also renders the requests that the engine makes by itself, and the bytes of raw writes.
//
// It is pure but for the clock that a signature needs: the variables of a step are resolved before, and connections,
// waits and records belong to the engine. Everything that a script leaves open is well-formed, and everything that it says is
// sent as it is, however wrong.
package render
