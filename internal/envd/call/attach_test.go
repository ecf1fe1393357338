package call_test

import (
	"testing"

	"assay/internal/envd/call"
)

func TestParametersOfAHandshakeAreEscaped(t *testing.T) {
	words := []string{"/bin/sh", "-c", "echo a+b & exit 3"}
	got := call.EncodeParameters(append(call.CommandParameters(words), call.Parameter{Name: "pty", Value: "1"}))
	if want := "cmd=%2Fbin%2Fsh&arg=-c&arg=echo%20a%2Bb%20%26%20exit%203&pty=1"; got != want {
		t.Errorf("query %s, want %s", got, want)
	}
	if got := call.EncodeParameters(call.CommandParameters(nil)); got != "" {
		t.Errorf("query %q of no command", got)
	}
}
