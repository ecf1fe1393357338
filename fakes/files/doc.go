// Package files serves the files of a sandbox: the RPC service
// filesystem.Filesystem, and the HTTP routes /files (download and upload, with
// signed URLs) and /files/compose.
//
// It has the semantics of the E2B daemon without its bugs: a mistake of the
// client is never an internal error, an upload replaces a file at once or not at
// all, a failed call leaves no directories behind, and a name that is not UTF-8
// does not fail a listing.
//
// It works on a [tree.Tree] and knows no gateway, no process and no fault; what
// may differ from the reference is in [Policy].
package files
