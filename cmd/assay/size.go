package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// sizeValue is a flag value in bytes: "100MB", "1.5 GB", "4096". The units are
// powers of 1,024.
type sizeValue int64

var _ pflag.Value = (*sizeValue)(nil)

// sizeUnits lists the units, the longest suffix first.
var sizeUnits = []struct {
	suffix string
	bytes  float64
}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}, {"B", 1}, {"", 1}}

// Set parses a size.
func (s *sizeValue) Set(text string) error {
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(strings.ToUpper(strings.TrimSpace(text)), u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if n *= u.bytes; err != nil || n < 0 || math.IsNaN(n) || n >= math.MaxInt64 {
			break
		}
		*s = sizeValue(n)
		return nil
	}
	return fmt.Errorf("want a size, for example 100MB")
}

// String returns the size in the largest unit that divides it.
func (s *sizeValue) String() string {
	for _, u := range sizeUnits {
		if n := float64(*s) / u.bytes; *s > 0 && n == math.Trunc(n) {
			return strconv.FormatFloat(n, 'f', -1, 64) + u.suffix
		}
	}
	return "0B"
}

// Type returns the name of the value in help texts.
func (s *sizeValue) Type() string { return "size" }
