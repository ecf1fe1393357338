// Package schemagen makes JSON Schemas from Go types and their comments, so that a
// published format and the type behind it cannot part.
//
// What lives here: the walk over types and over the source that documents them. What
// may not: any format; and it is imported by tests alone, which write the schemas
// (-update) and hold them against the types.
package schemagen
