package main

import (
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"
)

// configPlace is the place that every error of a configuration file begins with.
var configPlace = regexp.MustCompile(`^(?:--config: )?assay\.yaml:(\d+): .`)

// FuzzConfig: every error of an assay.yaml has a line of it. An accepted file sets each of its flags that the command
// has; a file that nobody named sets only what is safe. The values can be written to a file and read again.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{
		"profile: e2b\njobs: 3\nconform:\n  strict: true\n  select: [area:process-input, '!axis:proto']\n", "threshold: [a, 'b,c']\nload: {rate: 1e3, duration: 1m}\n",
		"jobs: x\nmemory: 1G\n", "plan: /x\n", "out: x\n", "known: x/../../y\n", "canned: a\n", "out: x\nexec: rm\ncanned: ../x\nknown: x/../../y\nplan: /x\n", "scenarios: [/etc]\nprofile: {a: b}\nknown: &a x\nplan: *a\n",
		"jobs: 1\n---\nout: x\n", "jobs: 1\n---", "---", "out:", "serve: ~\nlist: 3\n", "jobs: 1\njobs: 2\n", "? [a]\n: b\n", "a: [\n", "<<: {jobs: 1}\n", "- a\n", "time-scale: .nan\nseed: 0x10\n", "", "\x00", "a:\tb\n", "verbose: \"\\u0085\"\rjobs: 1\r",
	} {
		for _, command := range []uint8{1, 6, 11} { // conform and others
			f.Add([]byte(text), command, true)
			f.Add([]byte(text), command, false)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, command uint8, named bool) {
		c, file, err := configured(text, command, named)
		if err != nil {
			m := configPlace.FindStringSubmatch(err.Error())
			if m == nil {
				t.Fatalf("an error without a place: %v", err)
			}
			breaks := len(regexp.MustCompile("\r\n?|\n|\u0085|\u2028|\u2029").FindAll(text, -1))
			if n, _ := strconv.Atoi(m[1]); n < 1 || n > breaks+1 {
				t.Fatalf("an error outside the text: %v", err)
			}
			return
		}
		set, lists := map[string]any{}, false
		c.Flags().Visit(func(f *pflag.Flag) {
			list, many := f.Value.(pflag.SliceValue)
			set[f.Name], lists = f.Value.String(), lists || f.Value.Type() == "stringSlice"
			if many {
				set[f.Name] = list.GetSlice()
			}
			local := slices.Contains(safeFiles, f.Name) && filepath.IsLocal(f.Value.String())
			if !named && !local && !slices.Contains(safeFlags, f.Name) {
				t.Fatalf("a file that nobody named sets --%s to %q", f.Name, f.Value)
			}
		})
		for name := range file.values {
			if _, ok := set[name]; !ok && c.Flags().Lookup(name) != nil {
				t.Fatalf("the file does not set --%s", name)
			}
		}
		if lists {
			return // their values would have to be quoted
		}
		written, err := yaml.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := configured(written, command, true)
		if err != nil {
			t.Fatalf("%s\nreads as %v", written, err)
		}
		for name, want := range set {
			f := again.Flags().Lookup(name)
			got := any(f.Value.String())
			if list, many := f.Value.(pflag.SliceValue); many {
				got = list.GetSlice()
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("--%s is %q, written and read again %q", name, want, got)
			}
		}
	})
}

// configured returns a command of the program with the flags of an assay.yaml.
func configured(text []byte, command uint8, named bool) (*cobra.Command, configFile, error) {
	all := map[string]*cobra.Command{}
	for _, c := range silentRoot().Commands() {
		all[c.Name()] = c
	}
	names := slices.Sorted(maps.Keys(all))
	c := all[names[int(command)%len(names)]]
	file, err := parseConfig(c, configName, text)
	if err != nil {
		return c, file, err
	}
	file.named = named
	return c, file, fill(c, file)
}
