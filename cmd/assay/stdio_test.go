package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"assay/internal/base/termsafe"
)

func TestTheGuardCleansEveryWriteOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	g := new(guard)
	w := g.writer(f)
	for _, text := range []string{"early s3cr3t-token, ", "late s3cr3t-token, in base64 czNjcjN0LXRva2Vu"} {
		if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("wrote %d bytes of %d: %v", n, len(text), err)
		}
		g.hide([]string{"s3cr3t-token"})
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if want := "early s3cr3t-token, late ************, in base64 KioqKioqKioqKioq"; err != nil || !bytes.Equal(got, []byte(want)) {
		t.Errorf("the file has %q (%v), want %q", got, err, want)
	}
}

func TestTheGuardHidesNoWordsOfReports(t *testing.T) {
	all := []string{"secret", "conformant", "x-y", "1234567", "hunter2-", "CamelCase", "correct-horse-battery"}
	if got, want := unmistakable(all), []string{"hunter2-", "CamelCase", "correct-horse-battery"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAFarewellNamesTheSandboxesThatAreLeft(t *testing.T) {
	var stderr bytes.Buffer
	io := stdio{err: termsafe.Writer{To: &stderr}, farewell: new(farewell)}
	io.farewell.say(io) // nothing is left yet
	left := []string{"one", "two"}
	io.farewell.set(func() []string { return left })
	io.farewell.say(io)
	left = nil
	io.farewell.say(io)
	if got, want := stderr.String(), "assay: not deleted: one, two\n"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
