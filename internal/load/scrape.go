package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"assay/internal/bundle"
	"assay/internal/ledger"
)

// maxExposition bounds the bytes that are read in one scrape.
const maxExposition = 16 << 20

// scraper reads the gateway's counters over its own connection.
type scraper struct {
	client  *http.Client
	plan    *Plan
	request Request
	names   ledger.Names
	save    func(name string, body []byte)
	first   []byte // the first response body, even if it is no exposition
}

// newScraper makes a scraper of a path of the plan's gateway, over the same version of HTTP.
func newScraper(p *Plan, path string, headers []bundle.Header, limit time.Duration) *scraper {
	s := &scraper{
		client: p.client(), plan: p, request: Request{Method: http.MethodGet, Path: path, Headers: headers},
		save: func(string, []byte) {},
	}
	s.client.Timeout = limit
	return s
}

// scrape reads the counters; name is the name under which the scrape is saved.
func (s *scraper) scrape(ctx context.Context, name string) (ledger.Counters, error) {
	resp, err := s.client.Do(s.request.HTTP(ctx, s.plan))
	if err != nil {
		return ledger.Counters{}, s.unread(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxExposition))
	if err != nil {
		return ledger.Counters{}, s.unread(err)
	}
	s.save(name, body)
	if s.first == nil {
		s.first = body
	}
	if resp.StatusCode != http.StatusOK {
		return ledger.Counters{}, fmt.Errorf("GET %s: HTTP %d", s.request.Path, resp.StatusCode)
	}
	c, problems := ledger.ReadCounters(body, s.names)
	if len(c.Has) == 0 {
		why := fmt.Sprintf("GET %s: the scrape has none of the series %s, %s and %s", s.request.Path, s.names.Started, s.names.Finished, s.names.Active)
		if len(problems) > 0 {
			why += "; " + problems[0]
		}
		return c, errors.New(why)
	}
	return c, nil
}

// unread is the error of a scrape without a whole answer.
func (s *scraper) unread(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("GET %s: no whole answer within %v", s.request.Path, s.client.Timeout)
	}
	return fmt.Errorf("GET %s: %s", s.request.Path, reason(err))
}

func (s *scraper) close() { s.client.CloseIdleConnections() }

// reason returns the text of the system's error, which has no addresses in it, so that
// equal failures have equal messages.
func reason(err error) string {
	var sys syscall.Errno
	if errors.As(err, &sys) {
		return sys.Error()
	}
	return err.Error()
}
