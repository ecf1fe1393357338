package inject

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/base/crash"
	"assay/internal/base/machine"
	"assay/internal/load"
	"assay/internal/load/soak/client"
	"assay/internal/record/bundle"
	"assay/internal/target"
)

// Options configure an Injector.
type Options struct {
	// Target is the target of the soak, with the paths and the shell of its profile.
	Target target.Options
	Kinds  []Kind
	Seed   uint64
	// Engine is that of the load runs of the soak, and Profile its profile. Fleet has worker processes of this machine, which
	// a pause needs.
	Engine  load.Engine
	Fleet   load.Fleet
	Profile string
	Version string
}

// Injector injects faults. Its methods are for one goroutine.
type Injector struct {
	opts   Options
	target *target.Target
	kinds  []Kind
	proxy  *proxy // nil: no kind needs it
	draw   *rand.Rand
}

// New makes an injector, and starts its proxy if a kind needs one.
func New(o Options) (*Injector, error) {
	t, err := target.New(o.Target)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(o.Kinds, func(k Kind) bool { return k.Name == "pause" }) && (!machine.CanPause || o.Fleet == nil) {
		return nil, errors.New("this system cannot stop processes: leave pause out")
	}
	i := &Injector{
		opts: o, target: t, kinds: o.Kinds,
		draw: rand.New(rand.NewPCG(o.Seed, 0x1f)), //nolint:gosec // no secret
	}
	if !slices.ContainsFunc(o.Kinds, func(k Kind) bool { return k.proxied }) {
		return i, nil
	}
	if i.proxy, err = listen(t.Addr(), o.Seed); err != nil {
		return nil, fmt.Errorf("the proxy of the faults: %w", err)
	}
	return i, nil
}

// Kinds returns the names of the kinds.
func (i *Injector) Kinds() []string { return Names(i.kinds) }

// Via returns where the connections of the streams go: the proxy, or "" for the target itself. The proxy passes on bytes,
// so TLS stays between client and target.
func (i *Injector) Via() string {
	if i.proxy == nil {
		return ""
	}
	return i.proxy.listener.Addr().String()
}

// Close ends the proxy.
func (i *Injector) Close() error {
	if i.proxy == nil {
		return nil
	}
	return i.proxy.close()
}

// During injects one fault in the middle of a window, and returns it with the ledger of its commands. The kinds take
// turns. run marks the commands.
func (i *Injector) During(ctx context.Context, window int, length time.Duration, run string) ([]bundle.SoakInjection, bundle.LoadLedger) {
	begun := time.Now()
	c := client.New(i.target, run)
	defer c.Close()
	p := &probe{client: c}
	if !load.Sleep(ctx, length/3) {
		return nil, c.Ledger
	}
	kind := i.kinds[(window-1)%len(i.kinds)]
	f := bundle.SoakInjection{Kind: kind.Name, Cuts: kind.cuts, Message: kind.Text}
	p.learn(ctx)
	f.FromMS = time.Since(begun).Milliseconds()
	i.inject(ctx, c, kind, min(length/6, longest), &f)
	f.ToMS = time.Since(begun).Milliseconds()
	if f.Why == "" {
		f.RecoveredMS, f.Why = p.recovered(ctx)
	}
	return []bundle.SoakInjection{f}, c.Ledger
}

// inject injects one fault for a time.
func (i *Injector) inject(ctx context.Context, c *client.Client, kind Kind, d time.Duration, f *bundle.SoakInjection) {
	if kind.proxied {
		i.proxy.set(kind.Name)
		load.Sleep(ctx, d)
		i.proxy.set("")
		return
	}
	switch kind.Name {
	case "pause":
		i.pause(ctx, c, f)
	case "burst":
		together(burst, func() bundle.LoadLedger { return i.short(c.Run) }, &c.Ledger)
	case "reset":
		together(resets, func() bundle.LoadLedger { return i.leave(ctx, c.Run, 0) }, &c.Ledger)
	case "half-open":
		together(halfOpen, func() bundle.LoadLedger { return i.leave(ctx, c.Run, d) }, &c.Ledger)
	case "slow-reader":
		together(slow, func() bundle.LoadLedger { return i.slowly(ctx, c.Run, d) }, &c.Ledger)
	}
}

// pause runs clients in a process of their own, and stops it while they read. Every byte is checked after it.
func (i *Injector) pause(ctx context.Context, c *client.Client, f *bundle.SoakInjection) {
	r, err := load.Run(ctx, load.Options{
		Target: i.opts.Target, Profile: i.opts.Profile, Engine: i.opts.Engine, Fleet: i.opts.Fleet, Version: i.opts.Version, Command: "seq 1 20000",
		Schedule: load.Schedule{Streams: paused, Ramp: load.AtOnce, Duration: pauseAfter + pauseFor + time.Second, Seed: i.opts.Seed},
		Pause:    &load.Pause{At: pauseAfter, For: pauseFor},
	})
	if r == nil {
		f.Why = "the clients of the pause did not run: " + err.Error()
		return
	}
	c.Ledger = load.Sum(c.Ledger, r.Ledger)
	f.Lost = r.Streams.Outcomes.Failed()
	if len(r.Examples) > 0 && f.Lost > 0 {
		f.Example = r.Examples[0].Message
	}
}

// together runs something so many times at once and adds up the ledgers.
func together(n int, do func() bundle.LoadLedger, sum *bundle.LoadLedger) {
	var mu sync.Mutex
	var done crash.Group
	for range n {
		done.Go(func() {
			l := do()
			mu.Lock()
			defer mu.Unlock()
			*sum = load.Sum(*sum, l)
		})
	}
	done.Wait()
}

// short runs a short command to its end. The end of a process is whatever the gateway counts it as.
func (i *Injector) short(run string) bundle.LoadLedger {
	ctx, cancel := context.WithTimeout(context.Background(), i.target.Scaled(longest))
	defer cancel()
	c := client.New(i.target, run)
	defer c.Close()
	if s, _, err := c.Start(ctx, "seq 1 20", false); err == nil {
		for s.Receive() {
		}
		_ = s.Close()
		c.Ledger.Unseen++
	}
	return c.Ledger
}

// ticking prints for a few seconds and ends.
const ticking = "i=0; while [ $i -lt 30 ]; do echo $i; i=$((i+1)); sleep 0.1; done"

// leave starts a command over a connection of its own, reads its start, hangs for a time, and resets the connection.
func (i *Injector) leave(ctx context.Context, run string, hang time.Duration) bundle.LoadLedger {
	return i.alone(run, ticking, func(net.Conn) { load.Sleep(ctx, hang) })
}

// slowly reads a flood at a low rate, and then leaves.
func (i *Injector) slowly(ctx context.Context, run string, d time.Duration) bundle.LoadLedger {
	return i.alone(run, fmt.Sprintf("seq 1 %d", floodLines), func(c net.Conn) {
		piece := make([]byte, slowPiece)
		for end := time.Now().Add(d); time.Now().Before(end) && load.Sleep(ctx, slowEvery); {
			if _, err := c.Read(piece); err != nil {
				break
			}
		}
	})
}

// alone starts a shell text over a connection of its own, which it resets when do has returned. do gets the connection below
// TLS after the start event. From then on nobody else reads it.
func (i *Injector) alone(run, text string, do func(c net.Conn)) bundle.LoadLedger {
	conns := make(chan net.Conn, 1)
	c := client.New(i.target, run)
	c.HTTP.Transport = &http.Transport{
		TLSClientConfig: i.target.Transport(load.HTTP11).TLS, DisableCompression: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err == nil {
				conns <- conn
			}
			return conn, err
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	late := time.AfterFunc(i.target.Scaled(client.HeadLimit), cancel)
	_, _, err := c.Start(ctx, text, false)
	late.Stop()
	if err == nil {
		conn := <-conns
		c.Ledger.Unseen, c.Ledger.HungUp = 1, 1
		do(conn)
		reset(conn)
	}
	return c.Ledger
}

// probe measures short commands.
type probe struct {
	client *client.Client
	usual  time.Duration // the median before the fault; 0 is unknown
}

// The numbers of probes, the slack beside twice the usual time, and the longest wait for a recovery.
const (
	learned  = 9
	inARow   = 3
	slack    = 50 * time.Millisecond
	patience = 30 * time.Second
	between  = 100 * time.Millisecond
	oneProbe = 5 * time.Second
)

// once runs a short command, and returns how long it took; false if it did not end as it should.
func (p *probe) once() (time.Duration, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), p.client.Target.Scaled(oneProbe))
	defer cancel()
	begun := time.Now()
	s, _, err := p.client.Start(ctx, "seq 1 5", false)
	if err != nil {
		return 0, false
	}
	defer func() { _ = s.Close() }()
	p.client.Ledger.Unseen++
	const want = "1\n2\n3\n4\n5\n"
	var out strings.Builder
	ended := false
	for out.Len() <= len(want) && s.Receive() {
		e := s.Msg().GetEvent()
		out.Write(e.GetData().GetStdout())
		ended = ended || e.GetEnd() != nil
	}
	return time.Since(begun), ended && s.Err() == nil && out.String() == want
}

// learn measures the usual time.
func (p *probe) learn(ctx context.Context) {
	var all []time.Duration
	for range learned {
		if d, ok := p.once(); ok {
			all = append(all, d)
		}
		if !load.Sleep(ctx, between) {
			return
		}
	}
	slices.Sort(all)
	if len(all) > learned/2 {
		p.usual = all[len(all)/2]
	}
}

// recovered waits until three commands in a row are as before, and returns the time to the first of them. Without one,
// why says what kept it from being measured; "" is that the service was not as before within patience.
func (p *probe) recovered(ctx context.Context) (ms *int64, why string) {
	if p.usual == 0 {
		return nil, "nothing could be measured: the commands before the fault failed"
	}
	begun := time.Now()
	row, first := 0, time.Duration(0)
	for time.Since(begun) < p.client.Target.Scaled(patience) {
		at := time.Since(begun)
		d, ok := p.once()
		switch {
		case !ok || d > p.client.Target.Scaled(2*p.usual+slack):
			row = 0
		case row == 0:
			row, first = 1, at
		default:
			row++
		}
		if row == inARow {
			n := first.Milliseconds()
			return &n, ""
		}
		if !load.Sleep(ctx, between) {
			return nil, "the window ended first"
		}
	}
	return nil, ""
}
