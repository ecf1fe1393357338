package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"assay/internal/base/secret"
	"assay/internal/record/bundle"
	"assay/internal/record/ledger"
)

// agreeWithin is how long the counters may take after a run to agree with the driver's
// ledger, and agreeEvery how often they are read. After stableReads equal readings with
// nothing active, they are stable: they will not change any more.
const (
	agreeWithin = 5 * time.Second
	agreeEvery  = 100 * time.Millisecond
	stableReads = 10
)

// maxViolations bounds the list in the report.
const maxViolations = 50

// notCompared begins the note of a run whose counters were not compared. The reports
// repeat it beside the verdict.
const notCompared = "counters not compared: "

// counterWatch compares the gateway's counters with the run: before, during and after it.
type counterWatch struct {
	scraper *scraper
	scale   float64
	before  ledger.Counters
	last    ledger.Counters
	usable  bool

	redactor *secret.Redactor

	mu      sync.Mutex // record reads the result during the run
	info    bundle.LoadMetrics
	more    int    // violations that are not listed
	failed  int    // scrapes that failed
	failure string // of the first of them
}

// beginTries bounds the scrapes before the run. One is enough unless processes of others
// start or end while the gateway reads its counters.
const beginTries = 5

// begin reads the counters before the run. A gateway need not have any: then nothing is
// compared, and the report says why.
func (w *counterWatch) begin(ctx context.Context) {
	c, err := w.scraper.scrape(ctx, "before")
	for n := 1; err == nil && n < beginTries && ledger.Partition(c, 0) != ""; n++ {
		c, err = w.scraper.scrape(ctx, "before")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.info.Note = notCompared + err.Error()
		return
	}
	w.before, w.last, w.usable = c, c, true
	w.info.Scraped++
	w.info.Before = valuesOf(c)
}

// doubt says that the counters cannot be compared with the ledger of the run.
func (w *counterWatch) doubt(reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.usable, w.info.Note = false, notCompared+reason
}

// during reads the counters once while streams run. now returns the driver's counts. When
// it is nil, the processes in flight are unknown, and only counters that decrease are found.
func (w *counterWatch) during(ctx context.Context, name string, now func() Counts) {
	if !w.usable {
		return
	}
	var begun, ended Counts
	if now != nil {
		begun = now()
	}
	c, err := w.scraper.scrape(ctx, name)
	var slow *noAnswerError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return
	case errors.As(err, &slow): // a busy gateway, or a busy machine, and no wrong counter
		w.count(&w.info.Missed)
		return
	default:
		w.fail(name, err)
		return
	}
	w.count(&w.info.Scraped)
	flying := math.MaxInt32
	if now != nil {
		ended = now()
		flying = inFlight(begun, ended)
	}
	for _, v := range auditDuring(w.last, c, flying) {
		w.violate(name + ": " + v)
	}
	w.last = c
}

// after reads the counters until they agree with the ledger or are stable, for at most
// agreeWithin, but at least stableReads times: if this machine stood still meanwhile, so
// did the gateway.
func (w *counterWatch) after(ctx context.Context, own bundle.LoadLedger) {
	if !w.usable {
		return
	}
	end := time.Now().Add(time.Duration(float64(agreeWithin) * w.scale))
	tick := time.NewTicker(agreeEvery)
	defer tick.Stop()
	var last, explained reading
	var failure error
	for n, equal := 1, 0; ; n++ {
		c, err := w.scraper.scrape(ctx, "after")
		if err == nil {
			w.count(&w.info.Scraped)
			now := w.reading(c, own)
			equal++
			if last.values == nil || *now.values != *last.values {
				equal = 0
			}
			if last = now; now.foreign != "" {
				explained = now
			}
		} else {
			failure = err
		}
		stable := equal >= stableReads && (c.Active == w.before.Active || last.foreign != "")
		over := time.Now().After(end) && (err != nil || n > stableReads)
		switch {
		case err == nil && (stable || len(last.violations) == 0):
			w.conclude(last)
			return
		case !over && next(ctx, tick):
		case last.values == nil:
			w.fail("after", failure)
			return
		case explained.values != nil && equal < stableReads:
			// Processes of others come and go: this reading is from between two of them.
			w.conclude(explained)
			return
		default:
			w.conclude(last)
			return
		}
	}
}

// reading is the counters at one time after the run, held against the ledger.
type reading struct {
	values     *bundle.LoadCounters // nil: none yet
	violations []string
	foreign    string
}

func (w *counterWatch) reading(c ledger.Counters, own bundle.LoadLedger) reading {
	violations, foreign := audit(w.before, c, own)
	return reading{valuesOf(c), violations, foreign}
}

// conclude takes the reading that counts.
func (w *counterWatch) conclude(r reading) {
	for _, v := range r.violations {
		w.violate(v)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.info.After, w.info.Note = r.values, r.foreign
}

// count adds one to a count of the report.
func (w *counterWatch) count(n *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*n++
}

// next waits for a tick; it returns false when ctx is done.
func next(ctx context.Context, tick *time.Ticker) bool {
	select {
	case <-tick.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// fail counts a scrape that failed although the first one succeeded.
func (w *counterWatch) fail(name string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed++; w.failed == 1 {
		w.failure = fmt.Sprintf("%s: the scrape failed: %s", name, Reason(err))
	}
}

func (w *counterWatch) violate(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.Contains(w.info.Violations, text) {
		return
	}
	if len(w.info.Violations) == maxViolations {
		w.more++
		return
	}
	w.info.Violations = append(w.info.Violations, text)
}

// result returns the section of the report on the counters.
func (w *counterWatch) result() bundle.LoadMetrics {
	w.mu.Lock()
	defer w.mu.Unlock()
	info := w.info
	if w.more > 0 {
		info.Violations = append(slices.Clone(info.Violations), fmt.Sprintf("and %d more", w.more))
	}
	if w.failed > 0 {
		info.Violations = append(slices.Clone(info.Violations), w.failure)
	}
	if w.failed > 1 {
		info.Violations[len(info.Violations)-1] += fmt.Sprintf(" (and %d later ones)", w.failed-1)
	}
	info.Note = w.redactor.Text(info.Note)
	clean := make([]string, len(info.Violations))
	for i, text := range info.Violations {
		clean[i] = w.redactor.Text(text)
	}
	info.Violations = clean
	return info
}
