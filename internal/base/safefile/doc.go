// Package safefile reads files that others may have written: a configuration, a script or a
// profile in a repository that was checked out, a folder that was downloaded. It opens
// regular files only, never waits for a writer, reads no more than a limit, and follows no
// link out of the folder of the file.
//
// What a file contains is the business of its parsers; files of our own making need no care.
package safefile
