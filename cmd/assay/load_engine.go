package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"

	"assay/internal/load"
	"assay/internal/load/fast"
	"assay/internal/load/portable"
)

// engineFlags choose the engine of a load run.
type engineFlags struct {
	name  string
	loops loopCount
}

func (f *engineFlags) register(fs flags) {
	fs.word(&f.name, "engine", engineAuto, "driver engine: fast (Linux), portable, or auto (fast where possible)", "auto, fast or portable", engineAuto, "fast", "portable")
	f.loops.register(fs)
}

const engineAuto = "auto"

// choose returns the engine of --engine.
func (f *engineFlags) choose() (load.Engine, error) {
	switch can := fast.Available(); {
	case f.name == "fast" && !can:
		return nil, errors.New("--engine fast needs Linux on amd64 or arm64: use --engine portable or auto")
	case f.name != "portable" && can:
		return fast.Engine{Loops: int(f.loops)}, nil
	case f.loops > 0:
		return nil, errors.New("--loops is for the event loops of the fast engine: leave it out with the portable one")
	}
	return portable.Engine{}, nil
}

// worker returns the command line of a worker process with the same engine, nil if this
// program does not know its path.
func (f *engineFlags) worker() []string {
	line := workerLine()
	if line != nil && f.loops > 0 {
		line = append(line, "--loops", f.loops.String())
	}
	return line
}

// loopCount is the value of --loops; 0 stands for the engine's choice.
type loopCount int

// mostLoops is more than any machine has use for.
const mostLoops = 256

func (n *loopCount) register(fs flags) {
	fs.Var(n, "loops", "event loops of the fast engine, 1 to 256, in each process (default: by the number of streams, at most one for each core)")
}

// Set parses a number from 1 to mostLoops.
func (n *loopCount) Set(text string) error {
	v, err := strconv.Atoi(text)
	if err != nil || v < 1 || v > mostLoops {
		return fmt.Errorf("want a number from 1 to %d", mostLoops)
	}
	*n = loopCount(v)
	return nil
}

// String returns the number, "" for none.
func (n *loopCount) String() string {
	if *n == 0 {
		return ""
	}
	return strconv.Itoa(int(*n))
}

// Type returns the word for a value in the help.
func (*loopCount) Type() string { return "number" }

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
