package reports

import (
	"bytes"
	"strings"
	"testing"

	"assay/internal/bundle"
)

func TestMarkdownOfARunThatPassedAndOfOneThatFailed(t *testing.T) {
	for name, r := range map[string]*bundle.Report{"passing": passing(), "failing": failing(), "caused": caused()} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Conform().Render(&b, FormatMarkdown, r, Style{}); err != nil {
				t.Fatal(err)
			}
			golden(t, "markdown-"+name+".md", b.Bytes())
		})
	}
}

// Text from a target cannot become a heading, a link, HTML or a control sequence.
func TestMarkdownIsNotWrittenByTheTarget(t *testing.T) {
	r := failing()
	for i := range r.Scenarios {
		for n := range r.Scenarios[i].Rules {
			r.Scenarios[i].Rules[n].Message = "\n# owned\n[x](javascript:1) <script>alert(1)</script> \x1b[2J |"
		}
	}
	var b bytes.Buffer
	if err := Conform().Render(&b, FormatMarkdown, r, Style{}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\n# owned", "<script", "\x1b", "[x](", " |\n- "} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("%q came through", bad)
		}
	}
}
