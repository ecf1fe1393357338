package wire

import (
	"slices"
	"strings"
	"testing"
)

// The key and its answer are the example of RFC 6455, section 1.3.
const (
	wsExampleKey    = "dGhlIHNhbXBsZSBub25jZQ=="
	wsExampleAccept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
	wsExampleHead   = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + wsExampleAccept + "\r\n"
)

func TestTheAcceptOfAKeyIsThatOfTheRFC(t *testing.T) {
	if got := WSKey([16]byte([]byte("the sample nonce"))); got != wsExampleKey {
		t.Errorf("the key is %q", got)
	}
	if got := WSAccept(wsExampleKey); got != wsExampleAccept {
		t.Errorf("the answer is %q", got)
	}
}

func TestUpgradeViolations(t *testing.T) {
	offer := WSOffer{Key: wsExampleKey, Protocols: []string{"chat", "stdio"}, Extensions: []string{"permessage-deflate"}}
	replace := func(old, replacement string) string { return strings.Replace(wsExampleHead, old, replacement, 1) }
	tests := map[string]struct {
		head string
		want []Kind
	}{
		"the example of the RFC":       {wsExampleHead + "Sec-WebSocket-Protocol: chat\r\n", nil},
		"other case and more tokens":   {replace("websocket", "WebSocket") + "Connection: x, keep-alive,UPGRADE\r\n", nil},
		"an offered extension":         {wsExampleHead + "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover\r\n", nil},
		"another status":               {"HTTP/1.1 403 Forbidden\r\n", []Kind{WSUpgradeStatus}},
		"HTTP/1.0":                     {replace("1.1", "1.0"), []Kind{WSUpgradeStatus}},
		"no Upgrade":                   {replace("Upgrade: websocket\r\n", ""), []Kind{WSUpgradeField}},
		"another protocol":             {replace("websocket", "h2c"), []Kind{WSUpgradeField}},
		"no Connection":                {replace("Connection: Upgrade\r\n", ""), []Kind{WSUpgradeConnection}},
		"Connection without the token": {replace("Connection: Upgrade", "Connection: keep-alive, upgrades"), []Kind{WSUpgradeConnection}},
		"the accept of another key":    {replace("s3pP", "S3pP"), []Kind{WSUpgradeAccept}},
		"no accept":                    {replace("Accept", "Except"), []Kind{WSUpgradeAccept}},
		"the accept twice":             {wsExampleHead + "sec-websocket-accept: " + wsExampleAccept + "\r\n", []Kind{WSUpgradeAccept}},
		"an extension not offered":     {wsExampleHead + "Sec-WebSocket-Extensions: permessage-deflate, x-bzip; a=1\r\n", []Kind{WSUpgradeExtension}},
		"an empty list of extensions":  {wsExampleHead + "Sec-WebSocket-Extensions: \r\n", []Kind{WSUpgradeExtension}},
		"a subprotocol not offered":    {wsExampleHead + "Sec-WebSocket-Protocol: Chat\r\n", []Kind{WSUpgradeProtocol}},
		"two subprotocols":             {wsExampleHead + "Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Protocol: stdio\r\n", []Kind{WSUpgradeProtocol}},
		"nothing but the status":       {"HTTP/1.1 101 x\r\n", []Kind{WSUpgradeField, WSUpgradeConnection, WSUpgradeAccept}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []Kind
			d := ResponseDecoder{OnHead: func(h Head) {
				for _, v := range CheckWSUpgrade(h, offer) {
					if v.Off != h.Off || v.Detail == "" {
						t.Errorf("%+v, with the head at %d", v, h.Off)
					}
					got = append(got, v.Kind)
				}
			}}
			d.Feed([]byte(tt.head + "\r\n"))
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAfterA101TheBytesBelongToTheOtherProtocol(t *testing.T) {
	first := "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno"
	interim := "HTTP/1.1 103 Early Hints\r\n\r\n"
	head := wsExampleHead + "\r\n"
	input := first + interim + head + "\x81\x05HTTP/\r\n\r\n"
	assertSplitInvariant(t, []byte(input), func(chunks [][]byte) []string {
		var tr trace
		d := ResponseDecoder{
			Upgrade:     func() bool { return true },
			OnHead:      func(h Head) { tr.add("head %d", h.Status) },
			OnEnd:       func([]Field) { tr.add("end") },
			OnSwitched:  tr.body,
			OnViolation: tr.violation,
		}
		feeder(chunks, d.Feed, func() {})
		off, ok := d.Switched()
		if !ok || off != int64(len(first+interim+head)) || d.Idle() || d.Lost() {
			t.Errorf("switched %t at %d, idle %t, lost %t", ok, off, d.Idle(), d.Lost())
		}
		d.Close()
		want := []string{"head 401", "end", "head 103", "head 101", `body "\x81\x05HTTP/\r\n\r\n"`}
		if !slices.Equal(tr.lines, want) {
			t.Errorf("got %q, want %q", tr.lines, want)
		}
		return tr.lines
	})
}

func TestA101ThatNobodyAskedForIsInterim(t *testing.T) {
	for name, upgrade := range map[string]func() bool{"no function": nil, "not asked for": func() bool { return false }} {
		t.Run(name, func(t *testing.T) {
			var got []int
			d := ResponseDecoder{
				Upgrade: upgrade,
				OnHead:  func(h Head) { got = append(got, h.Status) },
			}
			d.Feed([]byte("HTTP/1.1 101 x\r\n\r\nHTTP/1.1 204 x\r\n\r\n"))
			if _, ok := d.Switched(); ok || !slices.Equal(got, []int{101, 204}) {
				t.Errorf("heads %v, switched %t", got, ok)
			}
		})
	}
}
