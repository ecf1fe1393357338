package page

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// schemes returns the colours of the style sheet: the light scheme, the dark one, and
// those of print.
func schemes(t *testing.T) map[string]map[string]string {
	t.Helper()
	light, rest, _ := strings.Cut(style, "@media (prefers-color-scheme: dark)")
	dark, _, _ := strings.Cut(rest, "\n}\n")
	_, printed, _ := strings.Cut(style, "@media print")
	all := map[string]map[string]string{}
	for name, text := range map[string]string{"light": light, "dark": dark, "print": printed} {
		all[name] = map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(text, -1) {
			all[name][m[1]] = m[2]
		}
	}
	return all
}

// luminance is the relative luminance of WCAG 2.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	v, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	if err != nil {
		t.Fatalf("colour %q: %v", colour, err)
	}
	channel := func(c uint64) float64 {
		s := float64(c&0xff) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(v>>16) + 0.7152*channel(v>>8) + 0.0722*channel(v)
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// All text has a contrast of at least 4.5 with what is behind it, and lines of at least 3.
func TestTheContrastOfEveryScheme(t *testing.T) {
	for scheme, c := range schemes(t) {
		check := func(front, behind string, least float64) {
			if c[front] == "" || c[behind] == "" {
				t.Errorf("%s: no colour %s or %s", scheme, front, behind)
				return
			}
			if got := contrast(t, c[front], c[behind]); got < least {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f", scheme, front, behind, got, least)
			}
		}
		tones := []string{"good", "bad", "warn", "info", "mute"}
		for _, behind := range []string{"paper", "panel", "good-tint", "bad-tint", "warn-tint", "info-tint", "mute-tint"} {
			for _, front := range []string{"ink", "soft", "accent"} {
				check(front, behind, 4.5)
			}
		}
		for _, tone := range tones {
			check(tone, tone+"-tint", 4.5)
			for _, behind := range []string{"paper", "panel", "info-tint"} {
				check(tone, behind, 4.5)
			}
		}
		for i := range lineStyles {
			check("l"+strconv.Itoa(i), "paper", 3)
		}
		if scheme != "print" {
			check("mark-ink", "mark", 4.5)
			check("focus", "paper", 3)
		}
	}
}
