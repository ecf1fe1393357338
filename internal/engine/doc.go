// Package engine runs scenario scripts against a target and records what was
// seen: the worker pool, exclusivity, the steps of the script language, races,
// deadlines, clean-up and metric scrapes. The result is one
// bundle.Observation per instance.
//
// A step says what is asked for; the axes say in which form it goes over the wire:
// protocol, codec, version of HTTP, compression. On HTTP/1.1 a request is bytes, on
// HTTP/2 fields and DATA frames, and each exchange has a connection of its
// own unless the script names another.
//
// It never decides whether an answer was right. The one question that it asks
// the judge is which interleaving an iteration of a race was, to know when
// to stop. Bytes are sent and decoded by internal/transport; what a target is, by
// internal/target. Nothing here knows the fakes.
package engine
