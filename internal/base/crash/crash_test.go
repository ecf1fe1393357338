package crash_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/base/crash"
)

func TestAPanicIsHandedOverWithItsStack(t *testing.T) {
	taken := make(chan string)
	crash.Handle(func(value any, stack []byte) {
		taken <- value.(string) + "\n" + string(stack)
		select {} // as if it ended the program
	})
	crash.Go(func() { panic("out of order") })
	if got := <-taken; !strings.HasPrefix(got, "out of order\n") || !strings.Contains(got, "TestAPanicIsHandedOver") {
		t.Errorf("got %s", got)
	}
}

// Every goroutine of the program is started here, so that none can end it with a trace.
func TestOnlyThisPackageStartsGoroutines(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "bench" || name == "tools" || name == "examples" || name == "node_modules" || name == "crash") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: use crash.Go", set.Position(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "sync" && n.Sel.Name == "WaitGroup" {
					t.Errorf("%s: use crash.Group", set.Position(n.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil || files < 500 {
		t.Errorf("%d files: %v", files, err)
	}
}
