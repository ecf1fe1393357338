package push

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"
)

// The dashboard queries only series that are sent, and each of them.
func TestTheDashboardQueriesWhatIsSent(t *testing.T) {
	text, err := os.ReadFile("../../../../deploy/grafana/assay.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title  string
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil || board.Title != "Assay" || len(board.Panels) == 0 {
		t.Fatalf("%+v, %v", board, err)
	}
	queried := map[string]bool{}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`assay_\w+`).FindAllString(target.Expr, -1) {
				queried[name] = true
				if !slices.Contains(Names(), name) {
					t.Errorf("%s queries %s, which is not sent", p.Title, name)
				}
			}
		}
	}
	for _, name := range Names() {
		if !queried[name] {
			t.Errorf("no panel has %s", name)
		}
	}
}
