package load

import (
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"assay/internal/target"
)

// The default commands. Both are portable sh, and every line of both is checked.
const (
	// tickCommand prints one number a second and never ends: the driver kills it.
	tickCommand  = "i=0; while :; do echo $i; i=$((i+1)); sleep 1; done"
	tickInterval = time.Second
	// seqCommand prints twenty numbers and ends.
	seqCommand = "seq 1 20"
	seqLines   = 20
)

const (
	defaultStreams  = 100
	defaultDuration = 10 * time.Second
	maxStreams      = 1_000_000
	maxRate         = 1_000_000
)

// Options are what a run is asked for. Run sets what is left out: see each field.
type Options struct {
	// Target is the gateway.
	Target target.Options
	// Profile names what the gateway claims to be; of it the shell, the paths and the
	// names of the counters are used. Default connect, or full for an embedded gateway.
	Profile string
	// Protocol is connect (default), grpc, grpc-web or ndjson.
	Protocol string
	// Codec is json or proto; default json, for grpc and grpc-web proto.
	Codec string
	// HTTP is HTTP11, H2C or H2TLS; default HTTP11, for grpc the one of HTTP/2 that
	// goes with the URL.
	HTTP string
	// Streams is how many streams to keep open (default 100), Rate how many to begin
	// in a second instead. At most one of them is set.
	Streams int
	Rate    float64
	// Ramp is the time over which either rises from 0.
	Ramp time.Duration
	// Duration and Count end the run; default is a duration of 10 s when neither is set.
	Duration time.Duration
	Count    int
	// Command is run in every stream; default numbered lines.
	Command string
	// Expect says what Command must print: same (default), none or sha256:HEX.
	Expect string
	// Thresholds are conditions in CEL.
	Thresholds []string
	// Out is a directory for report, histograms and scrapes; "" keeps nothing.
	Out string
	// Version is the program's.
	Version string
	// Engine opens the streams; default Portable.
	Engine Engine
	// Progress is told how the run goes; nil is nobody.
	Progress Progress
}

// Validate checks the options whole, without touching the network. Its errors are
// the user's, and say what to write instead.
func (o *Options) Validate() error {
	_, err := o.resolved()
	if err != nil {
		return err
	}
	_, err = CompileThresholds(o.Thresholds)
	return err
}

// resolved is the options with everything set that was left out.
func (o Options) resolved() (Options, error) {
	if err := o.resolveWire(); err != nil {
		return o, err
	}
	if err := o.resolveModel(); err != nil {
		return o, err
	}
	if o.Expect != "" && o.Command == "" {
		return o, errors.New("expect is for a command of your own: the default commands number their lines, and every line is checked")
	}
	if o.Command != "" && o.Expect == "" {
		o.Expect = "same"
	}
	if strings.ContainsRune(o.Command, 0) {
		return o, errors.New("the command holds a NUL character")
	}
	if _, err := o.check(); err != nil {
		return o, err
	}
	if o.Profile == "" {
		o.Profile = "connect"
		if o.Target.Embedded {
			o.Profile = "full"
		}
	}
	if o.Engine == nil {
		o.Engine = Portable{}
	}
	if o.Progress == nil {
		o.Progress = silent{}
	}
	return o, nil
}

// resolveWire settles protocol, codec and HTTP version.
func (o *Options) resolveWire() error {
	set := func(v *string, or string) {
		if *v == "" {
			*v = or
		}
	}
	set(&o.Protocol, ProtocolConnect)
	grpc := o.Protocol == ProtocolGRPC
	if o.Protocol == ProtocolNDJSON && o.Codec == CodecProto {
		return errors.New("protocol ndjson has no codec proto: leave the codec out")
	}
	if grpc && o.HTTP == HTTP11 {
		return errors.New("protocol grpc needs HTTP/2: use http h2c, or protocol grpc-web, which runs on any")
	}
	if grpc || o.Protocol == ProtocolWeb {
		set(&o.Codec, CodecProto)
	}
	set(&o.Codec, CodecJSON)
	secure := strings.HasPrefix(strings.ToLower(o.Target.URL), "https:")
	h2 := H2C
	if secure {
		h2 = H2TLS
	}
	if grpc {
		set(&o.HTTP, h2)
	}
	set(&o.HTTP, HTTP11)
	for _, c := range []struct {
		name, value string
		legal       []string
	}{
		{"protocol", o.Protocol, []string{ProtocolConnect, ProtocolGRPC, ProtocolWeb, ProtocolNDJSON}},
		{"codec", o.Codec, []string{CodecJSON, CodecProto}},
		{"http", o.HTTP, []string{HTTP11, H2C, H2TLS}},
	} {
		if !slices.Contains(c.legal, c.value) {
			return fmt.Errorf("%s %q: want %s", c.name, c.value, strings.Join(c.legal, ", "))
		}
	}
	if o.HTTP != HTTP11 && o.HTTP != h2 {
		return fmt.Errorf("http %s does not go with the URL: HTTP/2 there is %s", o.HTTP, h2)
	}
	return nil
}

// resolveModel settles how many streams begin, and when.
func (o *Options) resolveModel() error {
	switch {
	case o.Streams < 0 || o.Streams > maxStreams:
		return fmt.Errorf("streams %d: want 1 to %d", o.Streams, maxStreams)
	case o.Rate < 0 || o.Rate > maxRate || math.IsNaN(o.Rate):
		return fmt.Errorf("rate %g: want streams a second, above 0 and at most %d", o.Rate, maxRate)
	case o.Streams > 0 && o.Rate > 0:
		return errors.New("streams and rate are two models: streams keeps so many open, rate begins so many a second; choose one")
	case o.Ramp < 0 || o.Duration < 0:
		return errors.New("ramp and duration are spans of time: want 0 or more, for example 30s")
	case o.Count < 0:
		return fmt.Errorf("count %d: want 1 or more", o.Count)
	}
	if o.Streams == 0 && o.Rate == 0 {
		o.Streams = defaultStreams
	}
	if o.Duration == 0 && o.Count == 0 {
		o.Duration = defaultDuration
	}
	if o.Duration > 0 && o.Ramp > o.Duration {
		return fmt.Errorf("ramp %v is longer than the duration of %v", o.Ramp, o.Duration)
	}
	return nil
}

// check is what the output must be.
func (o *Options) check() (Check, error) {
	switch {
	case o.Command != "":
		return ParseExpect(o.Expect)
	case o.Count > 0:
		return Check{Kind: CheckSequence, First: 1, Lines: seqLines}, nil
	default:
		return Check{Kind: CheckSequence}, nil
	}
}

// plan is the options, which are resolved, as a plan.
func (o *Options) plan(d Dialect) (*Plan, error) {
	check, err := o.check()
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Addr: d.Target.Addr(), HTTP: o.HTTP, Dialect: d, TLS: d.Target.Transport(o.HTTP).TLS,
		Streams: o.Streams, Rate: o.Rate, Ramp: o.Ramp, Duration: o.Duration, Count: o.Count,
		Check: check,
	}
	if p.TLS != nil {
		p.TLS = p.TLS.Clone()
		p.TLS.NextProtos = []string{"http/1.1"}
		if p.multiplexed() {
			p.TLS.NextProtos = []string{"h2"}
		}
		if p.TLS.ServerName == "" {
			p.TLS.ServerName, _, _ = net.SplitHostPort(p.Addr)
		}
	}
	scale := o.Target.TimeScale
	switch {
	case o.Command != "":
		p.Limits = DefaultLimits(0, scale)
	case o.Count > 0:
		p.Limits = DefaultLimits(0, scale)
		p.Limits.Silence = p.Limits.FirstEvent // a command of milliseconds
	default:
		p.Limits = DefaultLimits(tickInterval, scale)
		p.Endless = true
	}
	return p, nil
}

// command is the command that is run.
func (o *Options) command() string {
	switch {
	case o.Command != "":
		return o.Command
	case o.Count > 0:
		return seqCommand
	default:
		return tickCommand
	}
}

// checkName says in a word how output is checked.
func (o *Options) checkName() string {
	if o.Command == "" {
		return "sequence"
	}
	return o.Expect
}
