package selftest

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// envTurn is the turn of the self-test, for a failure of another turn to be seen again.
const envTurn = "ASSAY_TEST_TURN"

// TurnOf returns the turn of a test: ASSAY_TEST_TURN, or the number of commits, so that eight commits run each pair
// of a variant. Without the history it is the day.
func TurnOf(t *testing.T) uint {
	t.Helper()
	text := os.Getenv(envTurn)
	if text == "" {
		text = commits(t)
	}
	if text == "" {
		text = strconv.Itoa(int(day()))
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("%s=%q: want a number from 0", envTurn, text)
	}
	t.Logf("%s=%d repeats this turn", envTurn, n)
	return uint(n)
}

// commits returns the number of commits, or "" without git and its whole history.
func commits(t *testing.T) string {
	t.Helper()
	shallow, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--is-shallow-repository").Output()
	if err != nil || strings.TrimSpace(string(shallow)) != "false" {
		return ""
	}
	n, err := exec.CommandContext(t.Context(), "git", "rev-list", "--count", "HEAD").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(n))
}

// day returns the number of days since 1970.
func day() uint { return uint(time.Now().Unix() / (24 * 60 * 60)) } //nolint:gosec // not before 1970
