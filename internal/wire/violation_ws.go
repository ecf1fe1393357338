package wire

// The kinds of WebSocket frames and messages (RFC 6455). A violation of a frame's head,
// which includes its length, has the offset of the frame.
const (
	WSServerMasked      Kind = "ws.server-masked"              // a server masks a frame (section 5.1)
	WSClientUnmasked    Kind = "ws.client-unmasked"            // a client does not mask a frame (section 5.1)
	WSReservedBits      Kind = "ws.reserved-bits"              // a bit that no extension gave a meaning (section 5.2)
	WSReservedOpcode    Kind = "ws.reserved-opcode"            // 0x3 to 0x7 and 0xB to 0xF (section 5.2)
	WSControlFragmented Kind = "ws.control-fragmented"         // a control frame without FIN (section 5.5)
	WSControlLength     Kind = "ws.control-length"             // a control frame of more than 125 bytes (section 5.5)
	WSLengthForm        Kind = "ws.length-not-minimal"         // a length in more bytes than needed (section 5.2)
	WSLengthHighBit     Kind = "ws.length-high-bit"            // a 64-bit length of 2^63 or more (section 5.2)
	WSOrphan            Kind = "ws.continuation-without-start" // nothing to continue (section 5.4)
	WSInterrupted       Kind = "ws.message-interrupted"        // a new message inside a fragmented one (section 5.4)
	WSTextUTF8          Kind = "ws.text-utf-8"                 // a text message is not UTF-8 (section 8.1)
	WSCloseLength       Kind = "ws.close-length"               // a Close payload of one byte (section 5.5.1)
	WSCloseCode         Kind = "ws.close-code"                 // a status code that no frame may carry (section 7.4)
	WSCloseUTF8         Kind = "ws.close-utf-8"                // the reason is not UTF-8 (section 5.5.1)
	WSDataAfterClose    Kind = "ws.data-after-close"           // a data frame after Close (section 5.5.1)
	WSTruncatedHead     Kind = "ws.truncated-head"             // the connection ended inside a frame's head
	WSTruncatedPayload  Kind = "ws.truncated-payload"          // the connection ended inside a payload
	WSUnfinished        Kind = "ws.message-unfinished"         // it ended between two fragments, without Close
	WSMessageOverLimit  Kind = "ws.message-over-limit"         // a message is longer than the decoder's limit
)

// The kinds of the handshake (RFC 6455, sections 4.1 and 4.2.2). They have the offset of the
// response's status line.
const (
	WSUpgradeStatus     Kind = "ws.upgrade-status"     // not a 101 response of HTTP/1.1; a refusal is legal HTTP
	WSUpgradeField      Kind = "ws.upgrade-field"      // Upgrade is absent or not "websocket"
	WSUpgradeConnection Kind = "ws.upgrade-connection" // Connection has no token "Upgrade"
	WSUpgradeAccept     Kind = "ws.upgrade-accept"     // Sec-WebSocket-Accept is absent, repeated or wrong
	WSUpgradeExtension  Kind = "ws.upgrade-extension"  // an extension that the request did not offer
	WSUpgradeProtocol   Kind = "ws.upgrade-protocol"   // a subprotocol that the request did not offer, or several
)

// The kinds of stdio over WebSocket: the messages of a server. Offsets are relative to the
// message.
const (
	StdioEmpty    Kind = "stdio.empty-message" // a binary message without a stream
	StdioStream   Kind = "stdio.stream"        // neither stdout nor stderr
	StdioJSON     Kind = "stdio.json"          // not one JSON object, or a duplicate name
	StdioType     Kind = "stdio.type"          // absent, not a string, or unknown
	StdioExitCode Kind = "stdio.exit-code"     // absent, or not an integer
	StdioMember   Kind = "stdio.member"        // another member of a known message is absent, or has the wrong type
)
