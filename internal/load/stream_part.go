package load

import (
	"errors"
	"fmt"
	"time"
)

// errHungUp is how a stream ends that its part lets the driver hang up on.
var errHungUp = &failure{outcome: Cancelled}

// begun is called after the start event: the process gets its input, and its part
// is set to its time.
func (s *stream) begun() {
	if s.class.Stdin != nil {
		s.mu.Lock()
		s.parts++
		s.mu.Unlock()
		s.run.caller.push(errand{s: s, feed: true})
	}
	if s.run.ending(s.class) {
		s.requestKill()
		return
	}
	if s.part.Kill || s.part.Disconnect {
		s.arm()
	}
}

// arm sets the timer of the part.
func (s *stream) arm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run.timers.Add(1)
	s.timer = time.AfterFunc(s.part.After, func() {
		defer s.run.timers.Done()
		switch {
		case s.part.Kill:
			s.requestKill()
		case phase(s.phase.Load()) == phaseLive:
			s.giveUp(errHungUp)
		}
	})
}

// disarm stops it. It needs mu.
func (s *stream) disarm() {
	if s.timer != nil && s.timer.Stop() {
		s.run.timers.Done()
	}
	s.timer = nil
}

// fed takes how the writing of the input went. A process that ended before it had
// read all of it is as it should be.
func (s *stream) fed(err error) {
	s.mu.Lock()
	last := s.partOver()
	s.mu.Unlock()
	switch {
	case last:
		s.report()
	case err != nil && !errors.Is(err, errGone) && !errors.Is(err, errNoTime) && phase(s.phase.Load()) == phaseLive:
		s.giveUp(&failure{outcome: ServerError, detail: fmt.Sprintf("its input could not be written: %v", err)})
	}
}
