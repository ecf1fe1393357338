package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"connectrpc.com/connect"

	"assay/internal/record/bundle"
)

// starved is the delay of the driver itself from which on a window proves nothing about time: a machine that gives
// the driver no time for so long may give none to a gateway beside it, nor to a proxy between them.
const starved = time.Second

// errLate is the failure of work that took too long.
var errLate = errors.New("too late")

// late reports whether work failed because of time, and not because of a wrong response.
func late(err error) bool {
	return errors.Is(err, errLate) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || connect.CodeOf(err) == connect.CodeDeadlineExceeded
}

// doubtStarved makes a window inconclusive that failed by time alone while the driver itself was late. Wrong bytes,
// errors and resets fail it as ever.
func doubtStarved(w *bundle.SoakWindow) {
	lag := time.Duration(max(w.Latency.DriverLag.Max, w.Latency.StartLag.Max)) * time.Microsecond
	if w.Verdict != bundle.LoadFail || lag < starved {
		return
	}
	waits := w.Streams.Outcomes[bundle.StreamStall] + w.Streams.Outcomes[bundle.StreamAcceptStall] + w.Streams.Outcomes[bundle.StreamConnectTimeout]
	if w.Streams.Outcomes.Failed() > waits || len(w.Metrics.Violations) > 0 && w.Metrics.Note == "" && w.Metrics.After != nil {
		return
	}
	for _, one := range w.Work {
		if one.Failed > one.Late {
			return
		}
	}
	w.Verdict = bundle.LoadInconclusive
	w.Message = fmt.Sprintf("the driver itself was up to %v late, so this machine was too busy to blame the target: %s", lag.Round(time.Millisecond), w.Message)
}
