package soak

import (
	"strings"
	"time"

	"assay/internal/load"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// class is one kind of work.
type class struct {
	name  string
	needs []string // features
	share float64
	// of makes the class of streams; nil is work that is no stream.
	of func(o *Options) scenarios.WorkloadClass
}

// The names of the work that is no stream.
const (
	workDeadline = "deadline"
	workAttach   = "attach"
	workFiles    = "files"
)

// heldFor is how long a held stream is held.
const heldFor = 10 * time.Second

// classes are the kinds of work. The shares of streams are those of the rate; the held streams come on top.
func classes() []class {
	text := strings.Repeat("a line of input that comes back\n", 16)
	return []class{
		{name: "short", share: 0.55, of: func(*Options) scenarios.WorkloadClass { return scenarios.WorkloadClass{Lines: 20} }},
		{name: "bulk", share: 0.1, of: func(*Options) scenarios.WorkloadClass { return scenarios.WorkloadClass{Lines: 2000} }},
		{name: "input", share: 0.15, needs: []string{"process.input", "process.close-stdin"}, of: func(*Options) scenarios.WorkloadClass {
			return scenarios.WorkloadClass{Command: "cat", Stdin: &text, Expect: "same"}
		}},
		{name: "kill", share: 0.1, needs: []string{"process.signal"}, of: func(o *Options) scenarios.WorkloadClass {
			return scenarios.WorkloadClass{KillShare: 1, Within: min(2*time.Second, o.Window/10)}
		}},
		{name: "hang-up", share: 0.1, of: func(o *Options) scenarios.WorkloadClass {
			return scenarios.WorkloadClass{Lines: 2000, DisconnectShare: 1, Within: min(20*time.Millisecond, o.Window/10)}
		}},
		{name: "socket", share: 0.1, needs: []string{"stdio.ws"}, of: func(*Options) scenarios.WorkloadClass {
			return scenarios.WorkloadClass{Lines: 20, Protocol: load.ProtocolWS}
		}},
		{name: "held", needs: []string{"process.signal"}, of: func(o *Options) scenarios.WorkloadClass {
			return scenarios.WorkloadClass{Hold: o.holds()}
		}},
		{name: workDeadline, needs: []string{"process.start"}},
		{name: workAttach, needs: []string{"process.connect", "process.input"}},
		{name: workFiles, needs: []string{"files"}},
	}
}

// holds returns how long a held stream is held.
func (o *Options) holds() time.Duration { return min(heldFor, o.Window/4) }

// mix is the work of a soak.
type mix struct {
	streams []scenarios.WorkloadClass
	rate    float64 // of all streams
	work    []string
	classes []bundle.SoakClass
}

// mixOf returns the work that a target with these features gets. A class whose feature is absent, or not known
// to be there, is left out, and said to be absent. A socket needs HTTP/1.1.
func mixOf(o *Options, features map[string]bundle.Feature) mix {
	m := mix{rate: o.Rate}
	if o.Held > 0 {
		m.rate += float64(o.Held) / o.holds().Seconds()
	}
	for _, c := range classes() {
		said := bundle.SoakClass{Name: c.name, Share: c.share, Needs: strings.Join(c.needs, ", ")}
		for _, f := range c.needs {
			said.Absent = said.Absent || features[f].State != bundle.FeaturePresent
		}
		said.Absent = said.Absent || c.name == "socket" && o.Load.HTTP != load.HTTP11
		if c.name == "held" {
			said.Share = float64(o.Held) / o.holds().Seconds() / o.Rate
			if o.Held == 0 {
				continue
			}
		}
		m.classes = append(m.classes, said)
		switch {
		case said.Absent && c.name == "held":
			m.rate = o.Rate
		case said.Absent:
		case c.of == nil:
			m.work = append(m.work, c.name)
		default:
			w := c.of(o)
			w.Name, w.Share = c.name, said.Share
			m.streams = append(m.streams, w)
		}
	}
	return m
}
