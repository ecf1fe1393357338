//go:build linux && (amd64 || arm64)

package fast

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/load"
	"assay/internal/load/account"
	"assay/internal/load/loadtest"
)

func TestIDsAreFoundWhateverWasRemoved(t *testing.T) {
	var table idTable
	want := map[uint32]int32{}
	draw := rand.New(rand.NewPCG(3, 4))
	next := uint32(1)
	for range 20_000 {
		if draw.IntN(3) > 0 || len(want) == 0 {
			table.add(next, int32(next*7))
			want[next] = int32(next * 7)
			next += 2
			continue
		}
		for id := range want { // any
			table.remove(id)
			table.remove(id) // the second time has no effect
			delete(want, id)
			break
		}
	}
	if table.len() != len(want) {
		t.Errorf("%d entries, want %d", table.len(), len(want))
	}
	for id := uint32(1); id < next; id += 2 {
		got, ok := want[id]
		if !ok {
			got = account.None
		}
		if table.find(id) != got {
			t.Fatalf("id %d: %d, want %d", id, table.find(id), got)
		}
	}
	seen := 0
	table.each(func(id uint32, i int32) {
		if want[id] != i {
			t.Errorf("id %d: %d", id, i)
		}
		seen++
	})
	if seen != len(want) || table.find(0) != account.None {
		t.Errorf("%d of %d were visited", seen, len(want))
	}
}

// noting is a sink that keeps the values of DriverLag.
type noting struct {
	loadtest.Last

	lags []time.Duration
}

func (n *noting) Record(_, _ int, m load.Metric, d time.Duration) {
	if m == load.DriverLag {
		n.lags = append(n.lags, d)
	}
}

// Only the clock shows a stop during which no bytes arrived.
func TestALoopThatWasAwaySaysSo(t *testing.T) {
	sink := &noting{}
	l := benchTo(t, load.ProtocolConnect, load.CodecJSON, load.HTTP11, fiveLines, sink)
	at := int64(time.Hour)
	l.scan(at) // the first scan is never late
	for _, late := range []time.Duration{0, 2 * time.Millisecond, 300 * time.Millisecond, time.Millisecond} {
		at += int64(25*time.Millisecond) + int64(late)
		l.scan(at)
	}
	if len(sink.lags) != 1 || sink.lags[0] != 300*time.Millisecond {
		t.Errorf("noted %v", sink.lags)
	}
}

// Increasing ids are spread, so that each is near the slot where the search begins.
func TestIDsStandApart(t *testing.T) {
	var table idTable
	for n := range uint32(50_000) {
		table.add(2*n+1, 0)
		if n >= 30_000 {
			table.remove(2*(n-30_000) + 1)
		}
		row, longest := 0, 0
		if n%9_999 != 0 {
			continue
		}
		for _, s := range table.slots {
			if row++; s.id == 0 {
				row = 0
			}
			longest = max(longest, row)
		}
		if longest > 16 {
			t.Errorf("of %d ids in %d places, %d are in a row", table.len(), len(table.slots), longest)
		}
	}
}

func TestWhenBytesCameIn(t *testing.T) {
	base := time.Now()
	now := int64(10 * time.Second)
	clock := func() clock { return clock{base: base, offset: base.UnixNano(), synced: now} }
	wall := func(at int64) int64 { return base.UnixNano() + at }
	for name, tt := range map[string]struct {
		stamp   int64
		want    int64
		stamped bool
	}{
		"a stamp is converted to run time":      {wall(now - int64(time.Millisecond)), now - int64(time.Millisecond), true},
		"without a stamp it is now":             {0, now, false},
		"a stamp that is a little ahead is now": {wall(now + 5000), now, true},
		"a stamp of another clock is ignored":   {wall(now + int64(time.Hour)), now, false},
		"a stamp from before a step is ignored": {wall(now - int64(2*time.Minute)), now, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := clock()
			if got, stamped := c.arrived(tt.stamp, now); got != tt.want || stamped != tt.stamped {
				t.Errorf("%v, stamped %v; want %v, %v", time.Duration(got), stamped, time.Duration(tt.want), tt.stamped)
			}
		})
	}
}

// The kernel's stamp is the time of arrival, however late the driver reads.
func TestTheKernelStampsWhatItReceives(t *testing.T) {
	addr, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer addr.Close()
	d := dialer{to: addr.Addr().(*net.TCPAddr).AddrPort(), sources: []netip.Addr{netip.MustParseAddr("127.0.0.5")}}
	fd, err := d.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer closeSocket(fd)
	peer, err := addr.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	if host := peer.RemoteAddr().(*net.TCPAddr).IP.String(); host != "127.0.0.5" {
		t.Errorf("the connection comes from %s", host)
	}
	r, c := newReceiver(4096), newClock(time.Now())
	const late = 30 * time.Millisecond
	for range 20 { // the first packets after the first request for stamps may have none
		sent := c.now()
		if _, err := peer.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		awaitHeld(t, fd, 1)
		came := c.now()
		for c.now()-came < int64(late) { // the driver is busy
		}
		n, stamp, e := r.read(fd)
		now := c.now()
		if n != 1 || e != 0 {
			t.Fatalf("%d bytes, %v", n, e)
		}
		if stamp == 0 {
			continue
		}
		at, _ := c.arrived(stamp, now)
		if at < sent-int64(time.Millisecond) || at > came+int64(time.Millisecond) {
			t.Errorf("it came in at %v, was sent at %v, and was there at %v", time.Duration(at), time.Duration(sent), time.Duration(came))
		}
		if _, _, e := r.read(fd); e != unix.EAGAIN {
			t.Errorf("there is more: %v", e)
		}
		return
	}
	t.Skip("this kernel stamps nothing")
}

func TestAReadWithoutAStampIsCounted(t *testing.T) {
	l, _ := bench(t, load.ProtocolConnect, load.CodecJSON, load.HTTP11, load.Check{})
	l.arrived(0)
	l.arrived(l.clock.offset + l.clock.now())
	l.arrived(0)
	if l.unstamped != 2 {
		t.Errorf("%d reads are without a stamp, want 2", l.unstamped)
	}
}

func TestALoopRestsAsLongAsItPays(t *testing.T) {
	var r rest
	for _, tt := range []struct {
		what        string
		open, ended int
		least, most time.Duration
	}{
		{"few streams", 4, 4, 0, 0},
		{"held streams", 1000, 0, 0, 0},
		{"short streams that end one by one", 64, 1, 1, shortMost},
		{"and one by one", 64, 1, 6 * time.Microsecond, shortMost},
		{"many held streams", 5000, 0, manyNap, manyNap},
		{"very many", 20_000, 0, veryManyNap, veryManyNap},
	} {
		if got := r.next(tt.open, tt.ended); got < tt.least || got > tt.most || got > r.longest(tt.open) {
			t.Errorf("%s: %v, want %v to %v", tt.what, got, tt.least, tt.most)
		}
	}
	for range 100 {
		r.next(64, 1)
	}
	long := r.next(64, 1)
	if short := r.next(64, 60); long != shortMost || short >= long {
		t.Errorf("%v while few end, %v when many do", long, short)
	}
}

func TestLoopbackSourcesWhenPortsRunShort(t *testing.T) {
	local := netip.MustParseAddr("127.0.0.1")
	for n, want := range map[int]int{64: 0, 10_000: 0, 10_001: 2, 19_900: 2, 45_000: 5} {
		if got := len(loopbacks(local, n)); got != want {
			t.Errorf("%d connections: %d sources, want %d", n, got, want)
		}
	}
	if got := loopbacks(netip.MustParseAddr("192.0.2.1"), 50_000); got != nil {
		t.Errorf("another host: %v", got)
	}
}
