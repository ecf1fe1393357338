// Package h2 reads and writes the frames of HTTP/2 (RFC 9113) as bytes, and encodes
// header blocks without the dynamic table of HPACK (RFC 7541).
//
// It is pure and has no connection: streams, windows and settings belong to its
// callers. The Framer of golang.org/x/net checks the content of frames, and provides
// HPACK decoding and Huffman coding.
package h2
