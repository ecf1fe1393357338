package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// mit is a licence that is allowed, isc another, and gpl starts one that is not.
const (
	mit = `Copyright (c) 2026 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software
is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES
OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE
LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR
IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`
	isc = `Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted,
provided that the above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED
WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT, INDIRECT, OR
CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT,
NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
`
	gpl = `This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public License
as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version.
`
)

func TestLicencesAreRecognisedAndOnlyAllowedOnesPass(t *testing.T) {
	more := "\nThe Software may not be used to test a gateway that its owner has not paid for, nor on a Sunday, nor by anybody whose name " +
		"starts with a vowel, and whoever does so all the same owes the author half of what the gateway earns in the year that follows.\n"
	tests := []struct {
		name       string
		files      map[string]string
		want, fail string
	}{
		{"one licence", map[string]string{"LICENSE": mit}, "MIT", ""},
		{"two licences are both named", map[string]string{"LICENSE-MIT": mit, "COPYING": isc}, "ISC AND MIT", ""},
		{"a licence beside copied code counts", map[string]string{"LICENSE": mit, "internal/copied/LICENCE.txt": isc}, "ISC AND MIT", ""},
		{"the same licence twice is named once", map[string]string{"LICENSE": mit, "a/LICENSE": mit}, "MIT", ""},
		{"a NOTICE is no licence", map[string]string{"LICENSE": mit, "NOTICE": gpl}, "MIT", ""},
		{"a licence that is not on the list fails", map[string]string{"LICENSE": gpl}, "", "LICENSE: licence GPL-3.0-or-later is not allowed"},
		{"an unknown text fails", map[string]string{"LICENSE": more}, "", "unknown licence (0 %"},
		{"a known text with another condition fails", map[string]string{"LICENSE": mit + more}, "", "unknown licence"},
		{"the address of a licence is no licence", map[string]string{"LICENSE": "https://opensource.org/licenses/MIT"}, "", "unknown licence"},
		{"a text that refers to a licence that is not on the list fails", map[string]string{"LICENSE": mit + "Parts: https://www.gnu.org/licenses/agpl.txt\n"}, "", "licence AGPL-3.0"},
		{"no licence fails", map[string]string{"PATENTS": mit}, "", "no licence file"},
		{"one bad licence of two fails", map[string]string{"LICENSE": mit, "a/LICENSE": gpl}, "", "a/LICENSE: licence GPL"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := (&part{name: "example.com/m v1.2.3", legal: test.files}).spdx()
			if test.fail != "" {
				if err == nil || !strings.Contains(err.Error(), test.fail) || !strings.Contains(err.Error(), "example.com/m v1.2.3: ") || !strings.Contains(err.Error(), mend) {
					t.Fatalf("error %v, want one that says %q, the module and the mend", err, test.fail)
				}
				return
			}
			if err != nil || got != test.want {
				t.Fatalf("%q, %v, want %q", got, err, test.want)
			}
		})
	}
}

// program writes a program that links the modules in the folders good and bad, which have
// the licences given, and embeds the folder chart, which has one of its own. Package good/copied has one of its own; package good/idle, which is
// not linked, has one that is not allowed.
func program(t *testing.T, good, bad string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module program\n\ngo 1.26.0\n\nrequire (\n\texample.com/good v1.0.0\n\texample.com/bad v1.0.0\n)\n\n" +
			"replace example.com/good => ./good\n\nreplace example.com/bad => ./bad\n",
		"cmd/chart/LICENSE":          isc,
		"cmd/chart/chart.js":         "",
		"cmd/ours/page.css":          "",
		"cmd/main.go":                "package main\n\nimport (\n\t_ \"embed\"\n\n\t_ \"example.com/bad\"\n\t_ \"example.com/good/copied\"\n)\n\n//go:embed chart/chart.js\nvar chart string\n\n//go:embed ours/page.css\nvar ours string\n\nfunc main() {}\n",
		"good/go.mod":                "module example.com/good\n\ngo 1.26.0\n",
		"good/LICENSE":               good,
		"good/NOTICE":                "Made by Somebody.",
		"good/copied/copied.go":      "package copied\n",
		"good/copied/COPYING":        isc,
		"good/idle/idle.go":          "package idle\n",
		"good/idle/LICENSE":          gpl,
		"bad/go.mod":                 "module example.com/bad\n\ngo 1.26.0\n",
		"bad/bad.go":                 "package bad\n",
		"bad/LICENSE":                bad,
		"good/copied/licence.go":     "package copied\n",
		"good/copied/notices/readme": "",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestNoticeHoldsTheLegalTextsOfWhatIsLinked(t *testing.T) {
	dir := program(t, mit, strings.ReplaceAll(mit, "\n", "\r\n"))
	if err := run(t.Context(), options{dir: dir, pkg: "./cmd"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "NOTICE"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Go standard library and runtime ", "example.com/bad v1.0.0 => ./bad ", " ISC AND MIT\n",
		"\nexample.com/bad v1.0.0 => ./bad: LICENSE\nexample.com/good v1.0.0 => ./good: LICENSE\n",
		"\nexample.com/good v1.0.0 => ./good: copied/COPYING\nprogram/cmd/chart: LICENSE\n", "\nMade by Somebody.\n", "\nCopyright 2009 The Go Authors.\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("NOTICE lacks %q:\n%s", want, text)
		}
	}
	if n := strings.Count(string(text), "Permission is hereby granted"); n != 1 {
		t.Errorf("the text that two modules share is there %d times, want 1", n)
	}
	if strings.Contains(string(text), "GNU") || strings.Contains(string(text), "cmd/ours") || strings.Contains(string(text), runtime.Version()) {
		t.Error("NOTICE holds the licence of a package that is not linked, the program's own files, or the Go release of this machine")
	}
}

func TestAnUnknownLicenceWritesNoNotice(t *testing.T) {
	dir := program(t, mit, "All rights reserved.")
	err := run(t.Context(), options{dir: dir, pkg: "./cmd"})
	if err == nil || !strings.Contains(err.Error(), "example.com/bad v1.0.0 => ./bad: LICENSE: unknown licence") {
		t.Errorf("error %v, want the module with the unknown licence", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "NOTICE")); err == nil {
		t.Error("NOTICE was written")
	}
}

func TestCheckTellsHowToMendAnOldNotice(t *testing.T) {
	dir := program(t, mit, mit)
	check := options{dir: dir, pkg: "./cmd", check: true}
	if err := run(t.Context(), check); err == nil || !strings.Contains(err.Error(), "run `make notice` and commit") {
		t.Errorf("error %v without a NOTICE, want what to run", err)
	}
	if err := run(t.Context(), options{dir: dir, pkg: "./cmd"}); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), check); err != nil {
		t.Errorf("the NOTICE just written: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad", "LICENSE"), []byte(isc), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), check); err == nil || !strings.Contains(err.Error(), "run `make notice` and commit") {
		t.Errorf("error %v after a licence changed, want what to run", err)
	}
}
