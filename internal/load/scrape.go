package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"syscall"
	"time"

	"assay/internal/base/crash"
	"assay/internal/record/ledger"
	"assay/internal/target"
)

// maxExposition bounds the bytes that are read in one scrape.
const maxExposition = 16 << 20

// scraper reads the gateway's counters over its own connection.
type scraper struct {
	client   *http.Client
	plan     *Plan
	requests []Request // one for each sandbox
	names    ledger.Names
	save     func(name string, body []byte)
	first    []byte // the first response body, even if it is no exposition
}

// newScraper makes a scraper of the plan's gateways, over the same version of HTTP.
func newScraper(p *Plan, requests []Request, limit time.Duration) *scraper {
	return &scraper{client: p.client(limit), plan: p, requests: requests, save: func(string, []byte) {}}
}

// expositions returns the requests for the counters of a target, or of each sandbox of the plan.
func expositions(p *Plan, t *target.Target, run string) (all []Request) {
	targets := p.Sandboxes
	if len(targets) == 0 {
		targets = []*target.Target{t}
	}
	for _, t := range targets {
		all = append(all, Request{Method: http.MethodGet, Path: t.Path("metrics", ""), Headers: t.Headers("load", run)})
	}
	return all
}

// mostSummed bounds the sandboxes whose counters are compared, all together: reading them
// every second must not be a load of its own. scrapesAtOnce bounds the requests in flight.
const (
	mostSummed    = 200
	scrapesAtOnce = 8
)

// scrape reads the counters; name is the name under which the scrape is saved. Those of
// several sandboxes are added up: each counts some of the processes of the run.
func (s *scraper) scrape(ctx context.Context, name string) (ledger.Counters, error) {
	n := len(s.requests)
	if n == 1 {
		body, err := s.read(ctx, &s.requests[0])
		if body != nil {
			s.save(name, body)
			if s.first == nil {
				s.first = body
			}
		}
		if err != nil {
			return ledger.Counters{}, err
		}
		return s.counters(&s.requests[0], body)
	}
	if n > mostSummed {
		return ledger.Counters{}, fmt.Errorf("those of %d sandboxes are not read: at most %d are", n, mostSummed)
	}
	return s.sum(ctx)
}

// sum reads the counters of all sandboxes and adds them up. Their texts are not saved.
func (s *scraper) sum(ctx context.Context) (all ledger.Counters, err error) {
	counters, failures := make([]ledger.Counters, len(s.requests)), make([]error, len(s.requests))
	var reading crash.Group
	for first := range min(scrapesAtOnce, len(s.requests)) {
		reading.Go(func() {
			for i := first; i < len(s.requests); i += scrapesAtOnce {
				body, err := s.read(ctx, &s.requests[i])
				if err == nil {
					counters[i], err = s.counters(&s.requests[i], body)
				}
				failures[i] = err
			}
		})
	}
	reading.Wait()
	all.Has = map[string]bool{}
	for i, c := range counters {
		if failures[i] != nil {
			return ledger.Counters{}, fmt.Errorf("the sandbox %d of %d: %w", i+1, len(counters), failures[i])
		}
		all.Started, all.OK, all.Error, all.Killed, all.Active = all.Started+c.Started, all.OK+c.OK, all.Error+c.Error, all.Killed+c.Killed, all.Active+c.Active
		maps.Copy(all.Has, c.Has)
	}
	return all, nil
}

// read returns the body of a response, also of one with an error status.
func (s *scraper) read(ctx context.Context, r *Request) ([]byte, error) {
	resp, err := s.client.Do(r.HTTP(ctx, s.plan))
	if err != nil {
		return nil, s.unread(r, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxExposition))
	if err != nil {
		return nil, s.unread(r, err)
	}
	if resp.StatusCode != http.StatusOK {
		return body, fmt.Errorf("GET %s: HTTP %d", r.Path, resp.StatusCode)
	}
	return body, nil
}

// counters reads an exposition.
func (s *scraper) counters(r *Request, body []byte) (ledger.Counters, error) {
	c, problems := ledger.ReadCounters(body, s.names)
	if len(c.Has) == 0 {
		why := fmt.Sprintf("GET %s: the scrape has none of the series %s, %s and %s", r.Path, s.names.Started, s.names.Finished, s.names.Active)
		if len(problems) > 0 {
			why += "; " + problems[0]
		}
		return c, errors.New(why)
	}
	return c, nil
}

// unread is the error of a scrape without a whole answer.
func (s *scraper) unread(r *Request, err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return &noAnswerError{r.Path, s.client.Timeout}
	}
	return fmt.Errorf("GET %s: %s", r.Path, Reason(err))
}

// noAnswerError is a scrape without a whole answer in time.
type noAnswerError struct {
	path  string
	limit time.Duration
}

func (e *noAnswerError) Error() string {
	return fmt.Sprintf("GET %s: no whole answer within %v", e.path, e.limit)
}

func (s *scraper) close() { s.client.CloseIdleConnections() }

// Reason returns the text of the system's error, which has no addresses in it, so that
// equal failures have equal messages.
func Reason(err error) string {
	var sys syscall.Errno
	if errors.As(err, &sys) {
		return sys.Error()
	}
	return err.Error()
}
