package load

import (
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
	of := func(values map[string]float64, name string) int {
		if v := values[name]; v >= 0 && v < 1e9 {
			return int(v)
		}
		return 0
	}
	const limit, open = "process_max_fds", "process_open_fds"
	values := Figures(exposition, func(name string) bool { return name == limit || name == open })
	return of(values, limit), of(values, open)
}

// Figures returns the values of some metrics of an exposition, whatever else is wrong with it. Series with labels are added up.
func Figures(exposition []byte, wanted func(name string) bool) map[string]float64 {
	values := map[string]float64{}
	for text := range bytes.Lines(exposition) {
		line := string(text)
		end := strings.IndexAny(line, " {\t")
		if end <= 0 || !wanted(line[:end]) {
			continue
		}
		fields := strings.Fields(line[max(end, strings.LastIndexByte(line, '}')+1):])
		if len(fields) == 0 {
			continue
		}
		if v, err := strconv.ParseFloat(fields[0], 64); err == nil {
			values[line[:end]] += v
		}
	}
	return values
}
