package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// release is what the test reads of .goreleaser.yaml.
type release struct {
	Builds []struct {
		Main, Binary        string
		Env, Flags, Ldflags []string
		Goos, Goarch        []string
		ModTimestamp        string `yaml:"mod_timestamp"`
	}
	Archives []struct{ Files []string }
	Dockers  []struct{ Goarch, Dockerfile string }
}

// The release builds what is there, for every system that make cross vets, and sets a variable that exists.
func TestTheReleaseIsOfWhatIsThere(t *testing.T) {
	root := "../.."
	text, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var r release
	if err := yaml.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Builds) != 1 || len(r.Dockers) != 2 || len(r.Archives) != 1 {
		t.Fatalf("%d builds, %d containers, %d archives", len(r.Builds), len(r.Dockers), len(r.Archives))
	}
	b := r.Builds[0]
	for _, name := range append([]string{b.Main, r.Dockers[0].Dockerfile, r.Dockers[1].Dockerfile}, r.Archives[0].Files...) {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, systems, _ := strings.Cut(string(makefile), "\nSYSTEMS := ")
	systems, _, _ = strings.Cut(systems, "\n")
	for _, system := range append(strings.Fields(systems), "linux/amd64", "linux/arm64") {
		goos, goarch, _ := strings.Cut(system, "/")
		if !slices.Contains(b.Goos, goos) || !slices.Contains(b.Goarch, goarch) {
			t.Errorf("no build for %s", system)
		}
	}
	for _, goos := range b.Goos {
		if goos != "linux" && !strings.Contains(systems, goos+"/") {
			t.Errorf("make cross does not vet %s", goos)
		}
	}
	if !slices.Contains(b.Env, "CGO_ENABLED=0") || b.ModTimestamp == "" {
		t.Error("the build is not the same everywhere")
	}
	for _, flags := range b.Ldflags {
		_, variable, ok := strings.Cut(flags, "-X main.")
		variable, _, _ = strings.Cut(variable, "=")
		if !ok || !isVariable(t, variable) {
			t.Errorf("%q sets no variable of the program", flags)
		}
	}
	docker, err := os.ReadFile(filepath.Join(root, r.Dockers[0].Dockerfile))
	if err != nil {
		t.Fatal(err)
	}
	last := string(docker)[strings.LastIndex(string(docker), "\nFROM "):]
	for _, want := range []string{"\nFROM scratch\n", "\nCOPY " + b.Binary + " ", "\nUSER 65532:65532\n", "/etc/ssl/certs/ca-certificates.crt", "\nENTRYPOINT [\"/" + b.Binary + "\"]\n"} {
		if !strings.Contains(last, want) {
			t.Errorf("%q is not in the last stage:\n%s", want, last)
		}
	}
}

// isVariable reports whether the program has a variable of this name at the top of a file.
func isVariable(t *testing.T, name string) bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "root.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
		g, ok := d.(*ast.GenDecl)
		return ok && g.Tok == token.VAR && slices.ContainsFunc(g.Specs, func(s ast.Spec) bool {
			v, ok := s.(*ast.ValueSpec)
			return ok && v.Names[0].Name == name
		})
	})
}
