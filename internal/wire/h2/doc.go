// Package h2 reads and writes the frames of HTTP/2 (RFC 9113) as bytes, and encodes
// header blocks that leave the dynamic table of HPACK (RFC 7541) alone.
//
// It is pure and knows no connection: streams, windows and settings belong to its
// callers. What is inside of a frame is checked by the Framer of golang.org/x/net,
// which also brings HPACK decoding and Huffman coding.
package h2
