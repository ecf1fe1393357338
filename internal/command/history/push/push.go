package push

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/exp/api/remote"
	writev2 "github.com/prometheus/client_golang/exp/api/remote/genproto/v2"

	"assay/internal/command/history"
)

// The names of the series, besides their labels kind, target and profile.
const (
	// Passed is 1 for a run that passed, else 0.
	Passed = "assay_run_passed"
	// Rules is the number of rules by verdict, in the label verdict.
	Rules = "assay_run_rules"
	// Latency is a percentile in seconds, with the labels metric and quantile.
	Latency = "assay_run_latency_seconds"
	// Failed is the number of streams that failed.
	Failed = "assay_run_streams_failed"
)

// Names returns the names of all series.
func Names() []string { return []string{Passed, Rules, Latency, Failed} }

// Options say where to send the figures.
type Options struct {
	// URL is that of the remote-write endpoint, such as http://127.0.0.1:9090/api/v1/write.
	URL string
	// Token is sent as a bearer token when it is set.
	Token string
	// Limit bounds all attempts together.
	Limit time.Duration
}

// Validate checks the URL.
func (o Options) Validate() error {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("the URL %q: want that of a remote-write endpoint, for example http://127.0.0.1:9090/api/v1/write", o.URL)
	}
	if u.User != nil {
		return fmt.Errorf("the URL of the remote-write endpoint has a password, which other users of this machine would see: use a token from a file")
	}
	return nil
}

// Send sends the figures of runs by remote write 2.0, each at the time at which its run began. It returns the number of
// samples that were sent.
func Send(ctx context.Context, o Options, runs []history.Run) (int, error) {
	if err := o.Validate(); err != nil {
		return 0, err
	}
	u, err := url.Parse(o.URL)
	if err != nil {
		return 0, err
	}
	path := u.Path
	u.Path = ""
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	transport := &bearer{token: o.Token}
	defer transport.inner.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	api, err := remote.NewAPI(u.String(), remote.WithAPIPath(path), remote.WithAPIHTTPClient(client),
		remote.WithAPILogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
		remote.WithAPIBackoff(remote.BackoffConfig{Min: 100 * time.Millisecond, Max: 2 * time.Second, MaxRetries: 3}))
	if err != nil {
		return 0, err
	}
	request, n := requestOf(runs)
	if n == 0 {
		return 0, nil
	}
	_, err = api.Write(ctx, remote.WriteV2MessageType, request)
	if transport.redirect != "" {
		err = fmt.Errorf("the server redirects (%s); Assay does not follow redirects: give the final URL", transport.redirect)
	}
	if err != nil {
		return 0, fmt.Errorf("remote write to %s: %w", u.Host, err)
	}
	return n, nil
}

// maxMessage limits what is read of a response, in bytes: the client keeps all of it for a message.
const maxMessage = 4 << 10

// bearer adds the token to requests, and limits their responses. Only the server of the URL gets the token: redirects
// are not followed.
type bearer struct {
	inner    http.Transport
	token    string
	redirect string // the status and the location of a redirect
}

// RoundTrip sends a request with the token.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	response, err := b.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 == 3 {
		b.redirect = fmt.Sprintf("%d to %.200q", response.StatusCode, response.Header.Get("Location"))
	}
	response.Body = limited{io.LimitReader(response.Body, maxMessage), response.Body}
	return response, nil
}

// limited is a body of which only the beginning is read.
type limited struct {
	io.Reader
	io.Closer
}

// sample is one value of a series.
type sample struct {
	labels [][2]string // sorted by name
	at     time.Time
	value  float64
}

// samples returns the figures of a run.
func samples(r *history.Run) []sample {
	var out []sample
	add := func(name string, value float64, more ...[2]string) {
		labels := append([][2]string{{"__name__", name}, {"kind", string(r.Kind)}, {"profile", r.Profile}, {"target", r.Target}}, more...)
		slices.SortFunc(labels, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
		out = append(out, sample{labels, r.Started, value})
	}
	passed := 0.0
	if r.Verdict == "pass" || r.Verdict == "conformant" {
		passed = 1
	}
	add(Passed, passed)
	counts := map[string]float64{}
	for _, verdict := range r.Rules {
		counts[verdict]++
	}
	for verdict, n := range counts {
		add(Rules, n, [2]string{"verdict", verdict})
	}
	for name, v := range r.Values {
		switch metric, quantile, ok := strings.Cut(name, ".p"); {
		case name == "streams_failed":
			add(Failed, v)
		case ok:
			add(Latency, v/1e6, [2]string{"metric", metric}, [2]string{"quantile", strings.TrimRight("0."+quantile, "0")})
		}
	}
	return out
}

// requestOf returns the request with all samples. The samples of a series are in the order of time.
func requestOf(runs []history.Run) (*writev2.Request, int) {
	series := map[string]*writev2.TimeSeries{}
	symbols := writev2.NewSymbolTable()
	var order []string
	n := 0
	sorted := slices.Clone(runs)
	slices.SortStableFunc(sorted, func(a, b history.Run) int { return a.Started.Compare(b.Started) })
	for i := range sorted {
		for _, s := range samples(&sorted[i]) {
			key := fmt.Sprint(s.labels)
			one := series[key]
			if one == nil {
				one = &writev2.TimeSeries{Metadata: &writev2.Metadata{Type: writev2.Metadata_METRIC_TYPE_GAUGE}}
				for _, l := range s.labels {
					one.LabelsRefs = append(one.LabelsRefs, symbols.Symbolize(l[0]), symbols.Symbolize(l[1]))
				}
				series[key] = one
				order = append(order, key)
			}
			if k := len(one.Samples); k > 0 && one.Samples[k-1].Timestamp >= s.at.UnixMilli() {
				continue // of two runs that began together, the first counts
			}
			one.Samples = append(one.Samples, &writev2.Sample{Value: s.value, Timestamp: s.at.UnixMilli()})
			n++
		}
	}
	slices.Sort(order)
	r := &writev2.Request{}
	for _, key := range order {
		r.Timeseries = append(r.Timeseries, series[key])
	}
	r.Symbols = symbols.Symbols()
	return r, n
}
