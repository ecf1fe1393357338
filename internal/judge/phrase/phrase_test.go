package phrase_test

import (
	"fmt"
	"strings"
	"time"

	"assay/internal/judge/phrase"
)

func Example() {
	fmt.Println(phrase.Legal([]string{"ok", "not_found", "aborted"}, phrase.AsIs))
	fmt.Println(phrase.Span(int64(1234567*time.Microsecond)), phrase.Span(int64(12345678)), phrase.Span(512))
	fmt.Println(phrase.Plural(1, "frame"), phrase.Plural(3, "frame"))
	fmt.Println(phrase.QuoteString(strings.Repeat("é", 31))) // cut between two characters
	fmt.Println(phrase.ClipAt("two\nlines of\ttext", 12))
	// Output:
	// ok, not_found or aborted
	// 1.23s 12.35ms 512ns
	// 1 frame 3 frames
	// "éééééééééééééééééééééééééééééé"…
	// two lines of…
}
