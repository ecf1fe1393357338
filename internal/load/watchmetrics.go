package load

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"assay/internal/bundle"
	"assay/internal/ledger"
)

// settleFor is how long the counters may take after a run to say what the driver
// knows already, settleEvery how often they are read, and settledAfter how many
// equal readings with nothing active mean that they will not change any more.
const (
	settleFor    = 5 * time.Second
	settleEvery  = 100 * time.Millisecond
	settledAfter = 10
)

// maxViolations bounds the list in the report.
const maxViolations = 50

// counterWatch holds the gateway's counters against the run: before, during, after.
type counterWatch struct {
	scraper *scraper
	scale   float64
	info    bundle.LoadMetrics
	before  ledger.Counters
	last    ledger.Counters
	usable  bool
	more    int // violations that are not listed
	failed  int // scrapes that failed, and why the first of them did
	failure string
}

// begin reads the counters before the run. Without them nothing is compared, and
// the report says why: a gateway need not have any.
func (w *counterWatch) begin(ctx context.Context) {
	c, err := w.scraper.scrape(ctx, "before")
	if err != nil {
		w.info.Note = "the counters are not compared: " + err.Error()
		return
	}
	w.before, w.last, w.usable = c, c, true
	w.info.Scraped++
	w.info.Before = valuesOf(c)
}

// during reads them once while streams run. Without activity it is not known what is
// in flight, and only what may never happen is looked for.
func (w *counterWatch) during(ctx context.Context, name string, now func() activity) {
	if !w.usable {
		return
	}
	var begun, ended activity
	if now != nil {
		begun = now()
	}
	c, err := w.scraper.scrape(ctx, name)
	if err != nil {
		if ctx.Err() == nil {
			w.fail(name, err)
		}
		return
	}
	w.info.Scraped++
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

// after reads them until they say what the ledger says, for settleFor, and as often as
// shows that they rest: where this machine stood still meanwhile, so did the gateway.
func (w *counterWatch) after(ctx context.Context, own bundle.LoadLedger) {
	if !w.usable {
		return
	}
	end := time.Now().Add(time.Duration(float64(settleFor) * w.scale))
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	var after ledger.Counters
	var failure error
	read, equal := false, 0
	for n := 1; ; n++ {
		c, err := w.scraper.scrape(ctx, "after")
		if err == nil {
			equal++
			if !read || *valuesOf(c) != *valuesOf(after) {
				equal = 0
			}
			after, read = c, true
			w.info.Scraped++
		} else {
			failure = err
		}
		quiet := equal >= settledAfter && after.Active == w.before.Active
		over := time.Now().After(end) && (err != nil || n > settledAfter)
		if read && (quiet || settled(w.before, after, own)) || over || !next(ctx, tick) {
			break
		}
	}
	if !read {
		w.fail("after", failure)
		return
	}
	w.info.After = valuesOf(after)
	violations, foreign := audit(w.before, after, own)
	for _, v := range violations {
		w.violate(v)
	}
	w.info.Note = foreign
}

// next waits for a tick; false means that the time is over.
func next(ctx context.Context, tick *time.Ticker) bool {
	select {
	case <-tick.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// fail counts a scrape that failed although the first one went well.
func (w *counterWatch) fail(name string, err error) {
	if w.failed++; w.failed == 1 {
		w.failure = fmt.Sprintf("%s: the scrape failed: %s", name, reason(err))
	}
}

func (w *counterWatch) violate(text string) {
	if slices.Contains(w.info.Violations, text) {
		return
	}
	if len(w.info.Violations) == maxViolations {
		w.more++
		return
	}
	w.info.Violations = append(w.info.Violations, text)
}

// result is what the report says of the counters.
func (w *counterWatch) result() bundle.LoadMetrics {
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
	if info.Violations == nil {
		info.Violations = []string{}
	}
	return info
}
