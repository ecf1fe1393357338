// Package call describes calls of envd procedures: the procedures, their requests, and
// the form of a request on the wire.
//
// Here live the method table, the names of protocols and codecs, content types and
// protocol headers, the process requests and their encoding. Connections, targets and
// the decoding of responses do not belong here. The package is pure.
package call
