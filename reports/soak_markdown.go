package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/bundle"
)

// soakMarkdown renders a soak for a wiki or a morning's message: the verdict and its reasons, what changed when,
// then tables of the series and of the windows that are not pass.
func soakMarkdown(w io.Writer, r *bundle.SoakReport) error {
	var b strings.Builder
	printf := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	printf("# Soak: %s\n\n%s.\n\n", strings.ToUpper(string(r.Verdict)), escaped(soakHeadline(r)))
	if r.Interrupted {
		printf("The soak ended early. `assay soak --resume` continues it.\n\n")
	}
	for _, reason := range r.Reasons {
		printf("- %s\n", escaped(line(reason)))
	}
	if len(r.Reasons) > 0 {
		printf("\n")
	}
	if len(r.Events) > 0 {
		printf("## What changed\n\n| at | what | |\n|---|---|---|\n")
		for _, e := range r.Events[:min(len(r.Events), mostRows)] {
			printf("| %s | %s | %s |\n", soakClock(e.AtMS), escaped(e.Kind), escaped(line(e.Message)))
		}
		printf("\n")
	}
	if len(r.Series) > 0 {
		printf("## Leaks and drifts\n\n| series | verdict | windows | |\n|---|---|---:|---|\n")
		for _, s := range r.Series {
			printf("| %s | %s | %d | %s |\n", escaped(s.Name), s.Verdict, s.N, escaped(line(s.Message)))
		}
		printf("\n")
	}
	printf("## Windows\n\n%s, %d streams: %s.\n\n", plural(len(r.Windows), "window"), r.Totals.Streams, escaped(outcomesInWords(r.Totals.Outcomes)))
	bad := slices.DeleteFunc(slices.Clone(r.Windows), func(w bundle.SoakWindow) bool { return w.Verdict == bundle.LoadPass })
	if len(bad) > 0 {
		printf("| window | until | streams | failed | verdict | |\n|---:|---|---:|---:|---|---|\n")
		for _, w := range bad[:min(len(bad), mostRows)] {
			printf("| %d | %s | %d | %d | %s | %s |\n", w.Index, soakClock(w.ToMS), w.Streams.Completed, w.Streams.Outcomes.Failed(), w.Verdict, escaped(line(w.Message)))
		}
		printf("\n")
	}
	printf("%s %s.\n", escaped(r.Tool.Name), escaped(r.Tool.Version))
	return writePage(w, b.String())
}
