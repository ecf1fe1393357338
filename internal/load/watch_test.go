package load

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/internal/record/ledger"
)

// exposition returns a counterWatch of a server whose n-th scrape has the counters values(n):
// started, ok, active. For nil, the response is HTTP 500.
func exposition(t *testing.T, values func(n int) []string) *counterWatch {
	t.Helper()
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := values(int(n.Add(1)))
		if v == nil || r.Header.Get("X-Mine") != "yes" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte("# HELP s x\n# TYPE s counter\ns " + v[0] + "\n# HELP f x\n# TYPE f counter\nf{status=\"ok\"} " + v[1] + "\n# HELP a x\n# TYPE a gauge\na " + v[2] + "\n"))
	}))
	t.Cleanup(server.Close)
	p := &Plan{HTTP: HTTP11, Addr: strings.TrimPrefix(server.URL, "http://")}
	s := newScraper(p, []Request{{Method: "GET", Path: "/metrics"}}, time.Minute)
	s.requests[0].Headers = append(s.requests[0].Headers, bundle.Header{Name: "Host", Value: "x"}, bundle.Header{Name: "X-Mine", Value: "yes"})
	s.names = ledger.Names{Started: "s", Finished: "f", Active: "a"}
	t.Cleanup(s.close)
	return &counterWatch{scraper: s, scale: testScale}
}

// testScale gives the counters more time than any machine needs.
const testScale = 20

func idle() Counts { return Counts{} }

func TestCountersAreReadUntilTheyAgree(t *testing.T) {
	w := exposition(t, func(n int) []string {
		if n < 5 { // the gateway counts late
			return []string{"10", "10", "0"}
		}
		return []string{"13", "13", "0"}
	})
	w.begin(t.Context())
	w.after(t.Context(), bundle.LoadLedger{Started: 3, OK: 3})
	if r := w.result(); len(r.Violations) > 0 || r.Scraped != 5 || r.After.Started != 13 || r.Before.Started != 10 {
		t.Errorf("%+v", r)
	}
}

func TestCountersThatNeverAgreeAreGivenUpWhenTheyRest(t *testing.T) {
	w := exposition(t, func(int) []string { return []string{"10", "10", "0"} })
	w.begin(t.Context())
	begun := time.Now()
	w.after(t.Context(), bundle.LoadLedger{Started: 3, OK: 3})
	if r := w.result(); len(r.Violations) != 2 || !strings.Contains(r.Violations[0], "started moved by 0") {
		t.Errorf("%+v", r)
	}
	if took := time.Since(begun); took > agreeWithin*testScale/2 {
		t.Errorf("it took %v", took)
	}
}

// It is a violation when the gateway no longer serves its counters, even if it had little
// time.
func TestCountersThatAreNotToldAfterTheRun(t *testing.T) {
	ended := make(chan struct{})
	w := exposition(t, func(n int) []string {
		if n > 1 {
			<-ended
		}
		return []string{"10", "10", "0"}
	})
	t.Cleanup(func() { close(ended) }) // before the server is closed, which waits for its handlers
	w.begin(t.Context())
	w.scale, w.scraper.client.Timeout = 0, 10*time.Millisecond
	w.after(t.Context(), bundle.LoadLedger{Started: 3, OK: 3})
	if r := w.result(); len(r.Violations) != 1 || !strings.HasPrefix(r.Violations[0], "after: the scrape failed") {
		t.Errorf("%q", r.Violations)
	}
}

// The watch waits for late counters, even if the time for them passes between two scrapes.
func TestCountersAreReadAgainAfterAStop(t *testing.T) {
	w := exposition(t, func(n int) []string {
		if n < 4 {
			return []string{"10", "10", "0"}
		}
		return []string{"13", "13", "0"}
	})
	w.begin(t.Context())
	w.scale = 0
	w.after(t.Context(), bundle.LoadLedger{Started: 3, OK: 3})
	if r := w.result(); len(r.Violations) > 0 || r.Scraped != 4 {
		t.Errorf("%+v", r)
	}
}

func TestScrapesThatFailLaterAreOneViolation(t *testing.T) {
	w := exposition(t, func(n int) []string {
		if n > 1 {
			return nil
		}
		return []string{"0", "0", "0"}
	})
	w.begin(t.Context())
	w.during(t.Context(), "00001", idle)
	w.during(t.Context(), "00002", idle)
	if r := w.result(); len(r.Violations) != 1 || r.Violations[0] != "00001: the scrape failed: GET /metrics: HTTP 500 (and 1 later ones)" {
		t.Errorf("%q", r.Violations)
	}
}

func TestCountersThatFallDuringTheRunAreSeen(t *testing.T) {
	w := exposition(t, func(n int) []string {
		return [][]string{{"5", "5", "0"}, {"6", "5", "1"}, {"6", "4", "2"}, {"9", "4", "0"}}[n-1]
	})
	w.begin(t.Context())
	for _, name := range []string{"00001", "00002", "00003"} {
		w.during(t.Context(), name, idle)
	}
	r := w.result()
	if len(r.Violations) != 2 || !strings.HasPrefix(r.Violations[0], "00002: ") || !strings.Contains(r.Violations[1], "00003: with 0 in flight") {
		t.Errorf("%q", r.Violations)
	}
}

// While processes of others come and go, a scrape may fall between two counters of the
// gateway. That proves nothing against it, also when it is the last one.
func TestAScrapeAmidForeignTrafficIsNoViolation(t *testing.T) {
	w := exposition(t, func(n int) []string {
		started, ok := 10+n, 10+n
		if n%2 == 0 {
			ok--
		}
		return []string{strconv.Itoa(started), strconv.Itoa(ok), "0"}
	})
	w.begin(t.Context())
	w.scale = 0
	w.after(t.Context(), bundle.LoadLedger{})
	r := w.result()
	if !strings.HasPrefix(r.Note, "foreign traffic: 0 processes of others ran before the run, ") || r.After.Started != r.After.OK {
		t.Errorf("%+v, after %+v", r, r.After)
	}
}

// A gateway whose counters are at rest and do not add up is wrong, whoever else used it.
func TestCountersThatRestAndDoNotAddUpAreAViolation(t *testing.T) {
	w := exposition(t, func(n int) []string {
		return []string{strconv.Itoa(10 + min(n, 3)), strconv.Itoa(10 + min(n, 2)), "0"}
	})
	w.begin(t.Context())
	w.after(t.Context(), bundle.LoadLedger{})
	if r := w.result(); r.Note != "" || len(r.Violations) == 0 {
		t.Errorf("%+v", r)
	}
}

// A gateway that is too busy to answer in time told no wrong counter.
func TestAScrapeThatIsLateDuringTheRunIsNoViolation(t *testing.T) {
	late := make(chan struct{})
	w := exposition(t, func(n int) []string {
		if n == 2 {
			<-late
		}
		return []string{"10", "10", "0"}
	})
	t.Cleanup(func() { close(late) })
	w.begin(t.Context())
	limit := w.scraper.client.Timeout
	w.scraper.client.Timeout = 10 * time.Millisecond
	w.during(t.Context(), "00001", idle)
	w.scraper.client.Timeout = limit
	w.after(t.Context(), bundle.LoadLedger{})
	if r := w.result(); len(r.Violations) != 0 || r.Missed != 1 || r.After == nil {
		t.Errorf("%+v", r)
	}
}
