// Package crash ends the program in an orderly way after a panic in any goroutine.
//
// What lives here: the start of goroutines, and the hand-over of a panic to the program. What may not: anything else of
// the house; every floor may import this package.
package crash
