// Package value compares JSON values of a script with decoded ones and describes the first
// difference.
//
// It does not know exchanges: the caller supplies the bytes and the values of variables.
package value
