package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"assay/internal/load"
	"assay/internal/load/fast"
	"assay/internal/load/portable"
)

// choose returns the engine of --engine.
func (f *loadFlags) choose() (load.Engine, error) {
	switch can := fast.Available(); {
	case f.engine != "auto" && f.engine != "fast" && f.engine != "portable":
		return nil, fmt.Errorf("--engine %q: want auto, fast or portable", f.engine)
	case f.engine == "fast" && !can:
		return nil, errors.New("--engine fast needs Linux on amd64 or arm64: use --engine portable or auto")
	case f.engine != "portable" && can:
		return fast.Engine{}, nil
	}
	return portable.Engine{}, nil
}

// leanHeap is the GOGC value of the driver, in per cent. Streams produce almost no garbage,
// and the histograms of each second little: collecting three times as often as by default
// costs 10 ms of CPU time per second and halves the memory of the driver.
const leanHeap = 30

// stayLean keeps the memory of the driver small, unless GOGC is set.
func stayLean() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(leanHeap)
	}
}
