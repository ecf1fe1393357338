package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
)

// settingsWait bounds the wait for a gateway's SETTINGS before a run.
const settingsWait = 2 * time.Second

// gatewayLimits describes the limits that the gateway announces: the streams per HTTP/2
// connection, and its descriptors if it publishes them.
func (s *session) gatewayLimits() (out []string) {
	wanted := s.plan.Wanted()
	if s.plan.Multiplexed() {
		if most, ok := s.streamsEach(); ok {
			line := fmt.Sprintf("the gateway allows %d streams per connection", most)
			if all := most * H2Most; all < s.plan.Streams {
				line += fmt.Sprintf(": at most %d of %d can be open, the rest waits", all, s.plan.Streams)
			}
			out = append(out, line)
		}
		return out
	}
	most, used := descriptorsOf(s.watch.scraper.first)
	if most == 0 {
		return nil
	}
	line := fmt.Sprintf("the gateway may have %d descriptors, and %d are in use", most, used)
	if free := most - used; !s.opts.Target.Embedded && !s.plan.Open() && wanted > free {
		line += fmt.Sprintf(": it cannot accept %d connections", wanted)
	}
	return append(out, line)
}

// streamsEach returns how many streams the gateway allows on a connection; false when it
// sets no limit, or sends no SETTINGS in time.
func (s *session) streamsEach() (int, bool) {
	ctx, stop := context.WithTimeout(context.Background(), settingsWait)
	defer stop()
	dial := (&net.Dialer{}).DialContext
	if s.plan.TLS != nil {
		dial = (&tls.Dialer{Config: s.plan.TLS}).DialContext
	}
	c, err := dial(ctx, "tcp", s.plan.Addr)
	if err != nil {
		return 0, false // the run reports why
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(settingsWait))
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		return 0, false
	}
	framer := http2.NewFramer(c, c)
	if err := framer.WriteSettings(); err != nil {
		return 0, false
	}
	f, err := framer.ReadFrame()
	settings, ok := f.(*http2.SettingsFrame)
	if err != nil || !ok {
		return 0, false
	}
	most, limited := settings.Value(http2.SettingMaxConcurrentStreams)
	return int(most), limited
}

// descriptorsOf reads the two descriptor series of Prometheus' process collector; a
// missing one is 0.
func descriptorsOf(exposition []byte) (most, used int) {
	lines := bufio.NewScanner(bytes.NewReader(exposition))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(v >= 0 && v < 1e9) {
			continue
		}
		switch name {
		case "process_max_fds":
			most = int(v)
		case "process_open_fds":
			used = int(v)
		}
	}
	return most, used
}
