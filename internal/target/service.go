package target

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// Demand says whether a run needs the target to be a sandbox gateway.
type Demand int

// The demands. A target that is only a service is calibrated by plain HTTP requests, and has no
// feature of processes.
const (
	// GatewayRequired rejects a target without the process service.
	GatewayRequired Demand = iota
	// GatewayOptional looks for the process service, and accepts any HTTP server without it.
	GatewayOptional
	// GatewayUnneeded accepts any HTTP server, and sends it no RPC of the process service.
	GatewayUnneeded
)

// IsService reports whether the target was calibrated as a plain HTTP server; false before
// Calibrate.
func (t *Target) IsService() bool { return t.service.Load() }

// calibrateService measures a target that need not be a gateway: the round trip is that of a GET
// on a kept-alive connection, and so is the spawn latency, since nothing is spawned. Every HTTP
// response counts, whatever its status, except that of a proxy without a server behind it; one
// that may be about the HTTP version counts only if no other version has a better one.
func (c *client) calibrateService(ctx context.Context) (bundle.Calibration, error) {
	var problem *UnreachableError
	var fallback *knocked
	silent := false // a server of another HTTP version closes the connection, or says so
	for _, version := range c.target.Versions() {
		if silent {
			break
		}
		for _, path := range c.target.knocks() {
			k, u := c.overHTTP(version).knock(ctx, path)
			switch {
			case ctx.Err() != nil:
				return bundle.Calibration{}, ctx.Err()
			case u == nil && !slices.Contains(asksForAnother, k.status):
				return c.target.serves(k), nil
			case u == nil && fallback == nil:
				fallback = k
			case u != nil && problem == nil:
				problem, silent = u, k.silent
			}
		}
	}
	if fallback != nil {
		return c.target.serves(fallback), nil
	}
	return bundle.Calibration{}, problem
}

// overHTTP returns a client that calls in the plainest way over an HTTP version.
func (c *client) overHTTP(version string) *client {
	way := plainWay
	way.HTTP = version
	return c.on(way)
}

// serves notes that the target is a plain HTTP server, and returns its calibration.
func (t *Target) serves(k *knocked) bundle.Calibration {
	t.way.Store(&k.way)
	t.service.Store(true)
	trip := int64(median(k.trips))
	return bundle.Calibration{TimeScale: t.options.TimeScale, RTT: trip, Spawn: trip, Samples: len(k.trips)}
}

// knocked is the result of plain requests that had a response.
type knocked struct {
	way    bundle.Axes
	status int
	silent bool // there was no response
	trips  []time.Duration
}

// knocks lists the paths of the plain requests: the base path and, for a server that does not
// respond there, that of the options.
func (t *Target) knocks() []string {
	paths := []string{""}
	if t.options.Knock != "" {
		paths = append(paths, t.options.Knock)
	}
	return paths
}

// plainGet is a GET of a path below the base of the URL.
func plainGet(path string) request {
	return request{method: "GET", path: path, shape: bundle.ShapePlain}
}

// knock measures plain requests on one connection, and says why there is no first response. A body
// may be endless: after one that does not end soon, it makes no more requests.
func (c *client) knock(ctx context.Context, path string) (*knocked, *UnreachableError) {
	budget, cancel := c.within(ctx)
	defer cancel()
	k := &knocked{way: c.way}
	var conn *transport.Conn
	var err error
	for range calibrationSamples {
		if conn == nil || !conn.Idle() {
			if conn, err = c.open(budget); err != nil {
				break
			}
		}
		x := c.begin(budget, conn, plainGet(path))
		s := c.await(budget, x, hasHead)
		if len(k.trips) == 0 {
			if u := c.target.diagnoseService(x, s); u != nil {
				k.silent = s.Outcome == bundle.OutcomeNoAnswer
				return k, u
			}
		}
		if s.Response == nil {
			break
		}
		k.status = s.Response.Status
		k.trips = append(k.trips, elapsed(s.Invoked, s.Response.Head))
		rest, stop := context.WithTimeout(budget, c.target.Scaled(time.Second))
		s = c.await(rest, x, func(bundle.Exchange) bool { return false })
		stop()
		if s.Outcome != bundle.OutcomeComplete {
			break
		}
	}
	if len(k.trips) == 0 {
		return k, c.target.Unreachable(err)
	}
	return k, nil
}

func hasHead(s bundle.Exchange) bool { return s.Response != nil }

// diagnoseService explains a first plain request without a response from the service itself, or
// returns nil.
func (t *Target) diagnoseService(x *transport.Exchange, s bundle.Exchange) *UnreachableError {
	if u := t.diagnoseTLS(x, s); u != nil {
		return u
	}
	if s.Response == nil {
		return t.diagnose(x)
	}
	if status := s.Response.Status; status == 502 || status == 504 {
		return t.diagnoseAnswer(x, s)
	}
	return nil
}

// noService is why a feature of a gateway is absent from a plain HTTP server.
const noService = "the target has no process service"

// needsTheService reports whether only the process service can show a feature.
func needsTheService(id string) bool {
	return strings.HasPrefix(id, "process.") || id == featProbe || id == featToken
}

// isWay reports whether a feature is about a protocol, a codec or a compression of RPCs. Without a
// known method, only a scenario can try it.
func isWay(id string) bool {
	return slices.Contains([]string{featConnectRPC, featGRPC, featGRPCWeb, featJSON, featProto, featGzip, featGet}, id)
}

// lookAtService decides the features of a probe on a plain HTTP server, and reports whether the
// probe itself need not run.
func (p probe) lookAtService(ctx context.Context, c *client) (findings, bool) {
	got := findings{}
	for _, id := range p.features {
		switch {
		case needsTheService(id):
			got[id] = absent(noService)
		case isWay(id):
			got[id] = unknown(noService + ", so the scenarios that need it try it")
		case strings.HasPrefix(id, "http."):
			got[id] = c.servesVersion(ctx, versionOf[id])
		}
	}
	return got, len(got) == len(p.features)
}

// versionOf maps the features of HTTP versions to them.
var versionOf = map[string]string{featHTTP1: transport.HTTP1, featH2C: transport.H2C, featH2TLS: transport.H2TLS}

// servesVersion checks with a plain request whether the target serves an HTTP version.
func (c *client) servesVersion(ctx context.Context, version string) bundle.Feature {
	if !slices.Contains(c.target.Versions(), version) {
		return absent(fmt.Sprintf("not possible with an %s URL", c.target.url.Scheme))
	}
	on := c.overHTTP(version)
	var last bundle.Feature
	for _, path := range c.target.knocks() {
		conn, err := on.open(ctx)
		if err != nil {
			return absent(err.Error())
		}
		x := on.begin(ctx, conn, plainGet(path))
		s := on.await(ctx, x, hasHead)
		switch {
		case s.Response != nil && !slices.Contains(asksForAnother, s.Response.Status):
			return present(describe(s))
		case s.Response != nil, s.Outcome == bundle.OutcomeGarbage, s.Outcome == bundle.OutcomeClosed, s.Outcome == bundle.OutcomeReset:
			last = lacks(s, describe(s))
		default:
			last = unknown(describe(s))
		}
	}
	return last
}
