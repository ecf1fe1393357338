package scenarios

import (
	"os/exec"
	"strings"
	"testing"
)

// Anybody can compute the digest of a checkout with standard tools.
func TestTheDigestIsThatOfTheFiles(t *testing.T) {
	if _, err := exec.LookPath("sha256sum"); err != nil {
		t.Skip("sha256sum is not installed")
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `LC_ALL=C; export LC_ALL; ls rules.yaml */*.yaml | sort | xargs sha256sum | sha256sum`).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := "sha256:" + strings.Fields(string(out))[0]
	if got, err := Digest(); err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
