package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"assay/internal/bundle"
	"assay/internal/ledger"
)

// maxExposition bounds what is read of one scrape.
const maxExposition = 16 << 20

// scraper reads the gateway's counters over a connection of its own.
type scraper struct {
	client  *http.Client
	url     string
	headers []bundle.Header
	names   ledger.Names
	save    func(name string, body []byte)
	first   []byte // the first exposition, whatever it is
}

// newScraper scrapes a path of the plan's gateway, over the same version of HTTP.
func newScraper(p *Plan, path string, headers []bundle.Header, limit time.Duration) *scraper {
	t := &http.Transport{MaxIdleConns: 1, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10, Protocols: new(http.Protocols)}
	t.Protocols.SetHTTP1(p.HTTP == HTTP11)
	t.Protocols.SetUnencryptedHTTP2(p.HTTP == H2C)
	t.Protocols.SetHTTP2(p.HTTP == H2TLS)
	scheme := "http://"
	if p.TLS != nil {
		scheme, t.TLSClientConfig = "https://", p.TLS
	}
	return &scraper{
		client: &http.Client{Transport: t, Timeout: limit, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		url:    scheme + p.Addr + path, headers: headers,
		save: func(string, []byte) {},
	}
}

// scrape reads the counters; name is what the scrape is kept as.
func (s *scraper) scrape(ctx context.Context, name string) (ledger.Counters, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return ledger.Counters{}, fmt.Errorf("GET %s: %w", s.url, err)
	}
	for _, h := range s.headers {
		switch strings.ToLower(h.Name) {
		case "host":
			req.Host = h.Value
		case "connection", "content-type", "content-length":
		default:
			req.Header.Set(h.Name, h.Value)
		}
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return ledger.Counters{}, fmt.Errorf("GET %s: %w", s.url, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxExposition))
	if err != nil {
		return ledger.Counters{}, fmt.Errorf("GET %s: %w", s.url, err)
	}
	s.save(name, body)
	if s.first == nil {
		s.first = body
	}
	if resp.StatusCode != http.StatusOK {
		return ledger.Counters{}, fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	c, problems := ledger.ReadCounters(body, s.names)
	if len(c.Has) == 0 {
		why := fmt.Sprintf("none of the series %s, %s and %s stands in it", s.names.Started, s.names.Finished, s.names.Active)
		if len(problems) > 0 {
			why += "; " + problems[0]
		}
		return c, errors.New(why)
	}
	return c, nil
}

func (s *scraper) close() { s.client.CloseIdleConnections() }
