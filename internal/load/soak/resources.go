package soak

import (
	"bytes"
	"context"
	"maps"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay/internal/base/crash"
	"assay/internal/load"
	"assay/internal/load/soak/client"
	"assay/internal/record/bundle"
)

// The keys of resources, besides the metrics of the target under their own names.
const (
	keyEntries    = "list_entries" // processes of ours in List
	keyActive     = "active"       // the gauge of running processes
	keyPIDMemory  = "pid_resident_memory_bytes"
	keyPIDFiles   = "pid_open_fds"
	keyPIDThreads = "pid_threads"
	keyPIDStart   = "pid_start_ticks"
	keyStart      = "process_start_time_seconds"
	keyMemory     = "process_resident_memory_bytes"
	keyFiles      = "process_open_fds"
	keyGoroutines = "go_goroutines"
	keyHeap       = "go_memstats_heap_alloc_bytes"
	keyHeapObject = "go_memstats_heap_objects"
)

// metrics are the series that are read from /metrics, with those that the profile names.
var metrics = []string{keyStart, keyMemory, keyFiles, keyGoroutines, keyHeap, keyHeapObject}

const (
	maxExposition = 16 << 20
	sampleLimit   = 5 * time.Second
	restSamples   = 3
	restBetween   = 300 * time.Millisecond
)

// sampler reads the resources of the target.
type sampler struct {
	client  *client.Client
	active  string // the name of the gauge, "" if the profile has none
	pid     int
	entries func(context.Context) (int, error) // the number of our processes in List; nil if it has none

	mu     sync.Mutex
	minima map[string]float64
}

// sample reads everything once. What cannot be read is left out.
func (s *sampler) sample(ctx context.Context) map[string]float64 {
	ctx, cancel := context.WithTimeout(ctx, sampleLimit)
	defer cancel()
	values := map[string]float64{}
	if body, err := s.client.Do(ctx, http.MethodGet, s.client.URL("metrics", ""), nil, maxExposition); err == nil {
		maps.Copy(values, s.read(body))
	}
	if s.pid > 0 {
		maps.Copy(values, ofProcess(s.pid))
	}
	return values
}

// mostValue is the largest value of a resource that is believed. The statistics of larger ones may overflow, and JSON has
// neither infinities nor NaN.
const mostValue = 1 << 60

// believed reports whether a value can be one of a resource.
func believed(v float64) bool { return math.Abs(v) <= mostValue }

// read returns the values of the known metrics. One that is not believed is left out.
func (s *sampler) read(body []byte) map[string]float64 {
	values := load.Figures(body, func(name string) bool { return name == s.active || slices.Contains(metrics, name) })
	if v, ok := values[s.active]; ok {
		delete(values, s.active)
		values[keyActive] = v
	}
	maps.DeleteFunc(values, func(_ string, v float64) bool { return !believed(v) })
	return values
}

// ofProcess returns the resources of a process of this machine; nothing where there is no /proc.
func ofProcess(pid int) map[string]float64 {
	dir := "/proc/" + strconv.Itoa(pid)
	values := map[string]float64{}
	if text, err := os.ReadFile(dir + "/stat"); err == nil {
		// The name of the program is in brackets and may hold spaces.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		for key, at := range map[string]int{keyPIDThreads: 17, keyPIDStart: 19} {
			if at < len(fields) {
				if v, err := strconv.ParseFloat(fields[at], 64); err == nil {
					values[key] = v
				}
			}
		}
	}
	if text, err := os.ReadFile(dir + "/statm"); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			if pages, err := strconv.ParseFloat(fields[1], 64); err == nil {
				values[keyPIDMemory] = pages * float64(os.Getpagesize())
			}
		}
	}
	if files, err := os.ReadDir(dir + "/fd"); err == nil {
		values[keyPIDFiles] = float64(len(files))
	}
	return values
}

// watch samples until ctx ends, and keeps the smallest values.
func (s *sampler) watch(ctx context.Context, every time.Duration) (wait func()) {
	s.mu.Lock()
	s.minima = map[string]float64{}
	s.mu.Unlock()
	done := make(chan struct{})
	crash.Go(func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			s.keep(s.sample(ctx))
		}
	})
	return func() { <-done }
}

// keep lowers the minima.
func (s *sampler) keep(values map[string]float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, v := range values {
		if least, ok := s.minima[key]; !ok || v < least {
			s.minima[key] = v
		}
	}
}

// rest returns the smallest values of a target at rest, and the smallest ones of the window.
func (s *sampler) rest(ctx context.Context) (resting, minima map[string]float64) {
	resting = map[string]float64{}
	for n := range restSamples {
		if n > 0 {
			load.Sleep(ctx, restBetween)
		}
		values := s.sample(ctx)
		if s.entries != nil {
			if listed, err := s.entries(ctx); err == nil {
				values[keyEntries] = float64(listed)
			}
		}
		s.keep(values)
		for key, v := range values {
			if least, ok := resting[key]; !ok || v < least {
				resting[key] = v
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return resting, maps.Clone(s.minima)
}

// series says how a resource is judged.
type resource struct {
	key, name, kind, unit string
	resting               bool // judged at rest, else by its minimum in the window
}

// resources are the resources that are judged.
var resources = []resource{
	{keyMemory, "resident memory", "memory", "bytes", false},
	{keyHeap, "heap", "memory", "bytes", false},
	{keyFiles, "open descriptors", "descriptors", "", true},
	{keyGoroutines, "goroutines", "goroutines", "", true},
	{keyPIDMemory, "resident memory of the process", "memory", "bytes", false},
	{keyPIDFiles, "descriptors of the process", "descriptors", "", true},
	{keyPIDThreads, "threads of the process", "goroutines", "", true},
	{keyEntries, "entries of List", "entries", "", true},
	{keyActive, "active processes at rest", "gauge", "", true},
}

// value returns the value of a window; ok is false if there is none.
func (r *resource) value(w *bundle.SoakWindow) (v float64, ok bool) {
	if r.resting {
		v, ok = w.Resources[r.key]
	} else {
		v, ok = w.Minima[r.key]
	}
	return v, ok && believed(v)
}
