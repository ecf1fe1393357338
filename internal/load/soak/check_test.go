package soak

import (
	"math"
	"strings"
	"testing"
	"time"
)

// A setting that cannot be is refused before anything happens, by the name of its flag.
func TestTheOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set  func(o *Options)
		want string // "" is no error
	}{
		"the defaults":              {func(*Options) {}, ""},
		"a low rate":                {func(o *Options) { o.Rate = 0.001 }, ""},
		"a rate of NaN":             {func(o *Options) { o.Rate = math.NaN() }, "--rate NaN: want 0.001 to 1000 streams a second"},
		"a rate of infinity":        {func(o *Options) { o.Rate = math.Inf(1) }, "--rate +Inf: want"},
		"a denormal rate":           {func(o *Options) { o.Rate = 1e-320 }, "--rate 1e-320: want"},
		"a confidence of NaN":       {func(o *Options) { o.Confidence = math.NaN() }, "--confidence NaN: want 0.5 to 0.9999"},
		"a negative held":           {func(o *Options) { o.Held = -1 }, "--held -1: want 0 to 10000"},
		"another version of HTTP":   {func(o *Options) { o.Load.HTTP = "3" }, `--http "3": want 1.1, h2c, h2-tls`},
		"a version of HTTP":         {func(o *Options) { o.Load.HTTP = "h2c" }, ""},
		"HTTP/2 of TLS without TLS": {func(o *Options) { o.Load.HTTP, o.Load.Target.URL = "h2-tls", "http://127.0.0.1" }, "--http h2-tls does not fit the URL"},
		"HTTP/2 without TLS on TLS": {func(o *Options) { o.Load.HTTP, o.Load.Target.URL = "h2c", "https://127.0.0.1" }, "--http h2c does not fit the URL"},
		"a short window":            {func(o *Options) { o.Window = time.Second }, "--window 1s: want at least 2s"},
		"a window of centuries":     {func(o *Options) { o.Window = math.MaxInt64 }, "--window 2562047h"},
		"a duration of centuries":   {func(o *Options) { o.Duration = math.MaxInt64 }, "--duration 2562047h"},
		"too many windows":          {func(o *Options) { o.Duration, o.Window = 24*time.Hour, 2*time.Second }, "--duration 24h0m0s has more than 10000 windows"},
		"a negative warm-up":        {func(o *Options) { o.Warmup = -1 }, "--warmup -1ns: want 0 or more"},
		"a long warm-up":            {func(o *Options) { o.Warmup = 9 * time.Hour }, "--warmup 9h0m0s leaves nothing to judge"},
		"an unknown fault":          {func(o *Options) { o.Inject = []string{"all", "none"} }, `--inject all,none: unknown fault "none": want burst`},
		"every fault twice":         {func(o *Options) { o.Inject = []string{"all", "all"} }, ""},
		"a fault twice":             {func(o *Options) { o.Inject = []string{"cut", "all", "cut"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o Options
			tt.set(&o)
			err := o.Validate()
			if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
