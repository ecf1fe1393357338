package fleet

import (
	"strconv"
	"strings"
	"testing"
)

// What a server sends passes, and what no server sends is refused, in whatever pieces it comes.
func TestTheProtocolOfABusIsGuarded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want string // "" is no error
	}{
		"nothing":                             {"", ""},
		"lines":                               {"+OK\r\nPONG\r\nPING\r\n-ERR 'Stale Connection'\r\nINFO {\"max_payload\":8388608}\r\n", ""},
		"messages":                            {"MSG a.b 1 5\r\nhello\r\nMSG a 22 reply 0\r\n\r\nPING\r\n", ""},
		"a message with headers":              {"HMSG a 1 reply 12 17\r\nNATS/1.0\r\n\r\nhello\r\nPING\r\n", ""},
		"a message that looks like another":   {"msg\ta\t1 \t24 \t\r\nMSG x 1 999999999999\r\n\r\n\r\n\r\n", ""},
		"the largest message":                 {"MSG a 1 " + strconv.Itoa(longestMessage) + "\r\n", ""},
		"the longest line":                    {"INFO " + strings.Repeat("x", longestLine-5) + "\r\n", ""},
		"a message that is too large":         {"MSG x 1 999999999999\r\n", "a message of more than"},
		"a size that overflows":               {"MSG x 1 18446744073709551621\r\n", "a message of more than"},
		"a size with many digits":             {"HMSG x 1 5 " + strings.Repeat("9", 1000) + "\r\n", "a message of more than"},
		"one that is too large behind others": {"PING\r\nMSG a 1 5\r\nhello\r\nHMSG x 1 12 67108865\r\n", "a message of more than"},
		"a message without a size":            {"MSG x 1 5x\r\n", "without a size"},
		"a negative size":                     {"MSG x 1 -5\r\n", "without a size"},
		"a message with nothing":              {"M\r\n", "without a size"},
		"a line that is too long":             {"INFO " + strings.Repeat("x", longestLine-4), "a line of more than"},
		"a line without CR":                   {"PING\n", "does not end in CR LF"},
		"a CR in a size":                      {"MSG x 1 10\r5\r\n", "does not end in CR LF"},
		"more than the message":               {"MSG x 1 2\r\nhello\r\n", "more of a message"},
		"no CR LF behind the message":         {"MSG x 1 5\r\nhello\nMSG x 1 9", "does not end in CR LF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 7, len(tt.text) + 1} {
				var s scanner
				var err error
				for rest := tt.text; rest != "" && err == nil; {
					n := min(size, len(rest))
					err, rest = s.scan([]byte(rest[:n])), rest[n:]
				}
				if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("in pieces of %d bytes: %v, want %q", size, err, tt.want)
				}
			}
		})
	}
}

// The pieces in which bytes come make no difference.
func FuzzTheProtocolOfABus(f *testing.F) {
	f.Add([]byte("MSG a 1 5\r\nhello\r\nPING\r\n"), 3)
	f.Add([]byte("HMSG a 1 r 12 17\r\nNATS/1.0\r\n\r\nhello\r\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		var whole, pieces scanner
		want := whole.scan(text)
		var got error
		for rest := text; len(rest) > 0 && got == nil; {
			n := min(max(size, 1), len(rest))
			got, rest = pieces.scan(rest[:n]), rest[n:]
		}
		if (got == nil) != (want == nil) || got == nil && (whole.rest != pieces.rest || whole.behind != pieces.behind || string(whole.line) != string(pieces.line)) {
			t.Errorf("in pieces of %d bytes: %v and %+v, whole: %v and %+v", size, got, pieces, want, whole)
		}
	})
}
