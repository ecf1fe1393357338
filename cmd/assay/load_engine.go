package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"assay/internal/load"
	"assay/internal/load/fast"
)

// choose is the engine for a URL; that of the embedded gateway, which is not known yet, is http.
func (f *loadFlags) choose(url string) (load.Engine, error) {
	scheme, _, found := strings.Cut(strings.ToLower(url), "://")
	if !found {
		scheme = "http"
	}
	switch can := fast.Available(scheme); {
	case f.engine != "auto" && f.engine != "fast" && f.engine != "portable":
		return nil, fmt.Errorf("--engine %q: want auto, fast or portable", f.engine)
	case f.engine == "fast" && !can:
		return nil, errors.New("--engine fast needs an http URL, and Linux on amd64 or arm64: use --engine portable, or leave it to auto")
	case f.engine != "portable" && can:
		return fast.Engine{}, nil
	}
	return load.Portable{}, nil
}

// leanHeap is how much the heap may grow beyond what is in use, in per cent. Streams
// make next to no garbage, and the histograms of every second little: collecting it three times as
// often as Go does by itself costs 10 ms of CPU time a second, and halves the memory of
// the driver.
const leanHeap = 30

// stayLean keeps the memory of a driver small, unless GOGC asks for something else.
func stayLean() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(leanHeap)
	}
}
