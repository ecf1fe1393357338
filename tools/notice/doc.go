// Command notice writes NOTICE: the licences of the modules that are linked into the
// program, of files of others that it embeds, and of Go's standard library.
//
// It decides which licences may occur: a module whose licence is not recognised, or not
// on the list, is an error. Package licensecheck recognises the texts; none is matched
// here. It has its own go.mod, so that the program's module does not require it.
package main
