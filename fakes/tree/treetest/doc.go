// Package treetest checks an implementation of [tree.Tree]: one table of tests
// that every implementation must pass, so that a gateway can use any of them.
//
// A tree is given as a [Box]: the tree, a directory in it, and the shell of the
// same sandbox. Only tests import this package.
package treetest
