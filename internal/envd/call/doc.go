// Package call describes a call of an envd procedure: which procedures exist, what
// their requests say, and how a request looks on the wire in each form.
//
// What lives here: the method table, the names of protocols and codecs, content types
// and protocol headers, the process requests and their encoding. What does not:
// connections, targets and the decoding of answers. The package is pure.
package call
