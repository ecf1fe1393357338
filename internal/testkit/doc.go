// Package testkit is what tests of several packages need.
//
// What lives here: how tests wait, the comparison with golden files, the search for goroutines that tests leave behind, which gives them
// the time that a machine may stand still (goleak itself looks for half a second),
// ports on which nobody listens, the encodings in which a gateway may echo a secret, and the installation of packages
// from npm. What may not: anything of the house; and it is imported by tests alone.
package testkit
