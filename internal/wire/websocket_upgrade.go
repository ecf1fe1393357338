package wire

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// WSGUID is appended to the key of a handshake (RFC 6455, section 1.3).
const WSGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// WSKey returns the Sec-WebSocket-Key of 16 random bytes.
func WSKey(random [16]byte) string { return base64.StdEncoding.EncodeToString(random[:]) }

// WSAccept returns the Sec-WebSocket-Accept that answers a key. A server takes the
// key as it was sent, so it is not decoded.
func WSAccept(key string) string {
	sum := sha1.Sum([]byte(key + WSGUID))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// WSOffer is what a client asked for in its handshake.
type WSOffer struct {
	Key        string   // Sec-WebSocket-Key
	Protocols  []string // Sec-WebSocket-Protocol
	Extensions []string // the names in Sec-WebSocket-Extensions
}

// CheckWSUpgrade reports what is wrong with the head of a response to an opening handshake
// (RFC 6455, section 4.1). A response other than 101 has only the violation WSUpgradeStatus.
func CheckWSUpgrade(h Head, offer WSOffer) []Violation {
	c := upgradeCheck{head: &h}
	if h.Status != 101 {
		c.violate(WSUpgradeStatus, "the status is %d, not 101", h.Status)
		return c.violations
	}
	if h.Proto != "HTTP/1.1" {
		c.violate(WSUpgradeStatus, "the response is %s, not HTTP/1.1", h.Proto)
	}
	if v, ok := combined(h.Fields, "Upgrade"); !ok {
		c.violate(WSUpgradeField, "there is no Upgrade field")
	} else if !strings.EqualFold(v, "websocket") {
		c.violate(WSUpgradeField, `Upgrade is %.64q, not "websocket"`, v)
	}
	if v, ok := combined(h.Fields, "Connection"); !ok {
		c.violate(WSUpgradeConnection, "there is no Connection field")
	} else if !slices.ContainsFunc(listOf(v), func(token string) bool { return strings.EqualFold(token, "upgrade") }) {
		c.violate(WSUpgradeConnection, `Connection is %.64q and has no token "Upgrade"`, v)
	}
	c.accept(WSAccept(offer.Key))
	c.extensions(offer.Extensions)
	c.protocol(offer.Protocols)
	return c.violations
}

type upgradeCheck struct {
	head       *Head
	violations []Violation
}

func (c *upgradeCheck) violate(k Kind, format string, args ...any) {
	c.violations = append(c.violations, Violation{Kind: k, Off: c.head.Off, Detail: fmt.Sprintf(format, args...)})
}

// values returns the values of all fields of that name.
func (c *upgradeCheck) values(name string) []string {
	var out []string
	for _, f := range c.head.Fields {
		if strings.EqualFold(f.Name, name) {
			out = append(out, f.Value)
		}
	}
	return out
}

func (c *upgradeCheck) accept(want string) {
	switch got := c.values("Sec-WebSocket-Accept"); {
	case len(got) == 0:
		c.violate(WSUpgradeAccept, "there is no Sec-WebSocket-Accept field")
	case len(got) > 1:
		c.violate(WSUpgradeAccept, "Sec-WebSocket-Accept is given %d times", len(got))
	case got[0] != want:
		c.violate(WSUpgradeAccept, "Sec-WebSocket-Accept is %.64q; the key wants %q", got[0], want)
	}
}

func (c *upgradeCheck) extensions(offered []string) {
	v, ok := combined(c.head.Fields, "Sec-WebSocket-Extensions")
	if !ok {
		return
	}
	named := listOf(v)
	if len(named) == 0 {
		c.violate(WSUpgradeExtension, "Sec-WebSocket-Extensions names no extension")
	}
	for _, e := range named {
		name, _, _ := strings.Cut(e, ";")
		if name = strings.Trim(name, " \t"); !slices.Contains(offered, name) {
			c.violate(WSUpgradeExtension, "the extension %.64q was not offered", name)
		}
	}
}

func (c *upgradeCheck) protocol(offered []string) {
	switch got := c.values("Sec-WebSocket-Protocol"); {
	case len(got) > 1:
		c.violate(WSUpgradeProtocol, "Sec-WebSocket-Protocol is given %d times", len(got))
	case len(got) == 1 && !slices.Contains(offered, got[0]):
		c.violate(WSUpgradeProtocol, "the subprotocol %.64q was not offered", got[0])
	}
}

// listOf returns the nonempty elements of a comma-separated list.
func listOf(value string) []string {
	var out []string
	for e := range strings.SplitSeq(value, ",") {
		if e = strings.Trim(e, " \t"); e != "" {
			out = append(out, e)
		}
	}
	return out
}
