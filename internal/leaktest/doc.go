// Package leaktest finds goroutines that tests leave behind.
//
// What lives here: the search, which gives goroutines that wind down the time that a
// machine may stand still; goleak itself looks for half a second. What may not:
// anything of the house; and it is imported by tests alone.
package leaktest
