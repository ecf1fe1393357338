package canned

// stage is the next part of a stream.
type stage uint8

const (
	atStart stage = iota
	atData
	atEnd
	atTail
	over
)

// stream is one response to Start, and its simulated process.
type stream struct {
	conn *conn
	enc  *encoding
	pid  uint32
	id   uint32 // of HTTP/2

	stage   stage
	killed  bool
	stuck   bool  // waits for room, not for time
	listed  bool  // is in the connection's waiting list
	next    int   // data event
	due     int64 // the time of the next event, in nanoseconds
	sent    int   // how much of the unit has been sent, for HTTP/2
	window  int64 // of HTTP/2
	headers bool  // of HTTP/2: the head has been sent

	slot          int32 // of the wheel, from 1
	before, after *stream
}

// begin starts a stream on a connection.
func (g *gateway) begin(c *conn, d dialect, id uint32) *stream {
	s := &stream{conn: c, enc: g.encodings[d], pid: g.nextPID, id: id, due: g.now + g.script.file.Start.Nanoseconds()}
	if g.nextPID++; g.nextPID < firstPID {
		g.nextPID = firstPID
	}
	g.processes[s.pid] = s
	g.counters.started++
	return s
}

// pump sends due units, as far as there is room.
func (g *gateway) pump(s *stream) {
	s.stuck = false
	for s.stage != over {
		if s.killed && s.stage <= atData && s.sent == 0 {
			s.hurry(g.now)
		}
		if s.due > g.now {
			g.wheel.add(s)
			return
		}
		if !s.conn.room() || !s.conn.sendUnit(s) {
			s.conn.wait(s)
			return
		}
		g.advance(s)
	}
}

// hurry makes the end event due, after the start event.
func (s *stream) hurry(now int64) {
	if s.due = now; s.stage == atData {
		s.stage = atEnd
	}
}

// advance proceeds to the next unit.
func (g *gateway) advance(s *stream) {
	if s.stage < atTail {
		g.counters.events++
	}
	switch s.stage {
	case atStart:
		g.await(s, 0)
	case atData:
		g.late.record(g.now - s.due)
		g.await(s, s.next+1)
	case atEnd:
		g.ended(s)
		if s.stage = atTail; s.enc.tail.body == nil {
			g.finished(s)
		}
	case atTail:
		g.finished(s)
	case over:
	}
}

// await schedules data event k, or the end event.
func (g *gateway) await(s *stream, k int) {
	st, ok := g.script.at(k)
	if !ok {
		s.stage = atEnd
		return
	}
	s.stage, s.next = atData, k
	s.due += st.before.Nanoseconds()
}

// ended counts a process after its end event.
func (g *gateway) ended(s *stream) {
	delete(g.processes, s.pid)
	switch {
	case s.killed:
		g.counters.killed++
	case g.script.file.ExitCode == 0:
		g.counters.ok++
	default:
		g.counters.failed++
	}
}

// finished ends the response.
func (g *gateway) finished(s *stream) {
	s.stage = over
	s.conn.answered(s)
}

// lost ends a stream without a client, and kills its process.
func (g *gateway) lost(s *stream) {
	g.wheel.remove(s)
	if s.stage < atTail {
		s.killed = true
		g.ended(s)
	}
	s.stage, s.stuck = over, false
}

// kill kills a process; false if it does not exist.
func (g *gateway) kill(pid uint32) bool {
	s := g.processes[pid]
	if s == nil || s.killed {
		return s != nil
	}
	s.killed = true
	g.wheel.remove(s)
	if !s.stuck {
		g.pump(s)
		s.conn.resume()
	}
	return true
}
