// Package value compares JSON values of a script with decoded ones, and names the first difference.
//
// It knows nothing of exchanges: the bytes and the values of variables come from the caller.
package value
