package load

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files in testdata/reports anew")

func TestTheTextOfAReport(t *testing.T) {
	for _, width := range []int{60, 80, 200} {
		t.Run(strconv.Itoa(width), func(t *testing.T) {
			var b bytes.Buffer
			if err := sampleReport().WriteText(&b, Style{Width: width}); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("..", "..", "testdata", "reports", "load-"+strconv.Itoa(width)+".txt")
			if *update {
				if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v (go test ./internal/load -run TheText -update writes it)", err)
			}
			if d := cmp.Diff(string(want), b.String()); d != "" {
				t.Errorf("%s: -want +got (go test ./internal/load -run TheText -update accepts it):\n%s", path, d)
			}
		})
	}
}
