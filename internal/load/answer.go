package load

import (
	"time"

	"assay/internal/wire"
)

// answer takes one HTTP answer as it comes. A connection calls its methods one at
// a time: opening, begin, sent, then head, data and breach as often as they occur,
// and at last exactly one of end and fail. fail may come at any point before.
//
// now is the time since the begin of the run.
type answer interface {
	// opening says that the driver turns to the request: a dial may follow. false
	// means that nobody wants the answer any more.
	opening() bool
	// begin says on what the request is sent; false means that nobody wants it any more.
	begin(c canceller) bool
	// sent says that the request is on its way.
	sent(now time.Duration)
	// heard says that the other side has sent something on this connection.
	heard()
	head(status int, fields []wire.Field, now time.Duration)
	data(p []byte, now time.Duration)
	// breach says in words what rule of HTTP was broken; the answer goes on.
	breach(detail string)
	end(trailers []wire.Field, now time.Duration)
	fail(f *failure, now time.Duration)
}

// canceller is what an answer comes from. cancel makes it call fail with f, unless
// the answer has ended; it returns at once.
type canceller interface {
	cancel(a answer, f *failure)
}

// failure says why there is no whole answer.
type failure struct {
	outcome Outcome
	detail  string
	// refused: the other side is no such gateway at all; see Result.Refused.
	refused bool
	// said: the detail is the whole story, and the rest of the body adds nothing.
	said bool
}

// Error is the detail.
func (f *failure) Error() string { return f.outcome.String() + ": " + f.detail }

// reply collects the answer to a unary call. Wait for done before looking at it.
type reply struct {
	done     chan struct{}
	conn     chan canceller // holds what the answer comes from, once it has begun
	failed   error
	status   int
	fields   []wire.Field
	body     []byte
	trailers []wire.Field
}

// maxReply bounds what is kept of a unary answer: List of 20,000 processes fits.
const maxReply = 32 << 20

var _ answer = (*reply)(nil)

func newReply() *reply {
	return &reply{done: make(chan struct{}), conn: make(chan canceller, 1)}
}

func (r *reply) opening() bool { return true }

func (r *reply) begin(c canceller) bool {
	select {
	case <-r.conn: // a connection that failed before the request was sent
	default:
	}
	r.conn <- c
	return true
}

// giveUp ends the wait for the answer, so that nothing waits for it in vain.
func (r *reply) giveUp(p pool, f *failure) {
	select {
	case c := <-r.conn:
		c.cancel(r, f)
	default:
		p.cancel(r, f)
	}
}

func (r *reply) sent(time.Duration) {}
func (r *reply) heard()             {}
func (r *reply) breach(string)      {}
func (r *reply) fail(f *failure, _ time.Duration) {
	r.failed = f
	close(r.done)
}

func (r *reply) head(status int, fields []wire.Field, _ time.Duration) {
	r.status, r.fields = status, fields
}

func (r *reply) data(p []byte, _ time.Duration) {
	if len(r.body)+len(p) <= maxReply {
		r.body = append(r.body, p...)
	}
}

func (r *reply) end(trailers []wire.Field, _ time.Duration) {
	r.trailers = trailers
	close(r.done)
}
