package load

import (
	"testing"
	"time"
)

// A call that is given up frees its connection: a gateway that never answers would
// else be left with one more of them for each call.
func TestACallThatIsGivenUpFreesItsConnection(t *testing.T) {
	for _, version := range []string{HTTP11, H2C} {
		t.Run(version, func(t *testing.T) {
			p := testPlan(t, listen(t, hold), func(p *Plan) { p.HTTP = version })
			r, err := newPortableRun(p, nowhere{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.close()
			req, err := p.Dialect.List()
			if err != nil {
				t.Fatal(err)
			}
			enc, err := encode(req, p)
			if err != nil {
				t.Fatal(err)
			}
			a := newReply()
			r.pool.do(enc, a)
			if version == HTTP11 {
				c := <-a.conn // it has begun
				a.conn <- c
			}
			a.giveUp(r.pool, gaveUp())
			select {
			case <-a.done:
			case <-time.After(patience):
				t.Fatal("it still waits")
			}
			if a.failed == nil {
				t.Error("it was answered")
			}
		})
	}
}
