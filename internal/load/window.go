package load

import (
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"assay/internal/record/bundle"
)

// Window is what a part of a run counted and measured in a span of time. The windows of all parts add up to the run, in
// any order.
type Window struct {
	Counts Counts
	// Values are the values measured in the window.
	Values []Values `json:",omitempty"`
	// Refused is the message of a gateway that is none, as the first stream shows.
	Refused string `json:",omitempty"`
	// Dropped is the number of measured values that were lost in merging: a defect unless 0.
	Dropped int64 `json:",omitempty"`
	// Steps is by how much the clock of the machine was set.
	Steps []time.Duration `json:",omitempty"`
	// Done is set in the last window of a part. Error, Examples and the costs are only in that one.
	Done     bool                 `json:",omitempty"`
	Error    string               `json:",omitempty"`
	Examples []bundle.LoadExample `json:",omitempty"`
	CPU      float64              `json:",omitempty"` // seconds
	RSS      int64                `json:",omitempty"` // bytes, the peak
}

// Values is one histogram of measured values, of a class and a metric, in the encoding of HdrHistogram, which is base64.
type Values struct {
	Class     int
	Metric    Metric
	Histogram string
}

// Merger is the sink of a run whose streams are opened by worker processes.
type Merger interface {
	Sink
	// Absorb adds a window of a part, by number from 0. It keeps nothing of a window that it returns an error for.
	Absorb(w *Window, part, parts int) error
	// Leave takes the open streams of a part that was lost out of the number of open streams. Nothing is known about
	// their end.
	Leave(open int64)
}

var _ Merger = (*collector)(nil)

// errForeign is the error of a histogram with another range or precision: merging it could lose values.
var errForeign = errors.New("a histogram has another range or precision")

// Absorb adds a window of a part.
func (c *collector) Absorb(w *Window, part, parts int) error {
	all := make([]*hdrhistogram.Histogram, len(w.Values))
	for i, v := range w.Values {
		h, err := hdrhistogram.Decode([]byte(v.Histogram))
		switch {
		case err == nil && (int(v.Metric) >= numMetrics || v.Class < 0 || v.Class >= len(c.plan.Classes)):
			err = fmt.Errorf("there is no measure %d of class %d", v.Metric, v.Class)
		case err == nil && (h.LowestTrackableValue() != lowest || h.HighestTrackableValue() != highest || h.SignificantFigures() != digits):
			err = errForeign
		}
		if err != nil {
			return fmt.Errorf("measured values are not readable: %w", err)
		}
		all[i] = h
	}
	c.add(&w.Counts)
	for i, v := range w.Values {
		c.hist.add(v.Class, v.Metric, all[i])
	}
	c.hist.drop(w.Dropped)
	for _, step := range w.Steps {
		c.ClockStepped(step)
	}
	if w.Refused != "" {
		c.refuse(w.Refused, part, parts)
	}
	if len(w.Examples) > 0 {
		c.exemplify(w.Examples, part, parts)
	}
	return nil
}

// Leave takes the open streams of a lost part out of the number of open streams.
func (c *collector) Leave(open int64) { c.live.Add(-open) }
