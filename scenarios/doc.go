// Package scenarios is the catalogue: the scripts that exercise a gateway, the
// rules they prove, the profiles that weigh them, and the language they are
// written in.
//
// Here live the types of a script, its parser with the published JSON Schemas,
// the checks that need no gateway, and the selection of what is to run. What a
// step does is the engine's business, what an expectation means the judge's:
// nothing here opens a connection or looks at an observation.
package scenarios
