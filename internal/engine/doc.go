// Package engine runs scenario scripts against a target and records the observations:
// the worker pool, exclusivity, the steps of the script language, races, deadlines,
// clean-up and metric scrapes. The result is one bundle.Observation per instance.
//
// A step states the request; the axes state its form on the wire: protocol, codec,
// version of HTTP, compression. Its variables are resolved first, and package render then makes the request of it: bytes
// on HTTP/1.1, fields and DATA frames on HTTP/2. Each exchange has a connection of its own unless the script names
// another.
//
// The engine never decides whether an answer is right. It asks the judge two questions, to know when
// to stop: which interleaving an iteration of a race showed, and whether a poll saw what the clauses
// expect. Its options have the questions whether an observation is worth a second look, which the caller answers. Package
// internal/target/transport sends and decodes bytes; internal/target describes the target.
// Nothing here knows the fakes.
package engine
