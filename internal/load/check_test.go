package load

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

func TestExpectIsRead(t *testing.T) {
	sum := sha256.Sum256([]byte("x"))
	for text, want := range map[string]Check{
		"same": {Kind: CheckSame}, "none": {Kind: CheckNone}, fmt.Sprintf("sha256:%x", sum): {Kind: CheckDigest, Digest: sum},
	} {
		if got, err := ParseExpect(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "all", "sha256:", "sha256:00", "sha256:" + strings.Repeat("g", 64), "md5:00"} {
		if _, err := ParseExpect(text); err == nil || !strings.Contains(err.Error(), "sha256:") {
			t.Errorf("%q: %v, want an error that says what to write", text, err)
		}
	}
}
