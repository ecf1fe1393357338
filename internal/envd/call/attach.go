package call

import (
	"net/url"
	"strings"
)

// Parameter is one parameter of a query.
type Parameter struct{ Name, Value string }

// CommandParameters returns the parameters that run a command: cmd is its first word, each arg one
// of the others.
func CommandParameters(words []string) []Parameter {
	all := make([]Parameter, len(words))
	for i, w := range words {
		all[i] = Parameter{"arg", w}
	}
	if len(all) > 0 {
		all[0].Name = "cmd"
	}
	return all
}

// EncodeParameters returns a query. A space becomes %20, which every decoder of queries reads.
func EncodeParameters(all []Parameter) string {
	parts := make([]string, len(all))
	for i, p := range all {
		parts[i] = escape(p.Name) + "=" + escape(p.Value)
	}
	return strings.Join(parts, "&")
}

func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// UpgradeFields returns the names and values of the header fields that ask for a WebSocket.
func UpgradeFields(key string) [][2]string {
	return [][2]string{
		{"Connection", "Upgrade"}, {"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}, {"Sec-WebSocket-Key", key},
	}
}
