package target

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// took returns how long n calls wait.
func took(ctx context.Context, p *Pace, n int) time.Duration {
	began := time.Now()
	for range n {
		p.Wait(ctx, 1)
	}
	return time.Since(began)
}

func TestThePaceFollowsWhatTheTargetRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		if d := took(t.Context(), p, 100); d > 0 || p.Limits() {
			t.Fatalf("without a refusal, 100 calls waited %v", d)
		}
		p.Refused(0, 0) // at a hundred calls a second
		if d := took(t.Context(), p, 11); d != 200*time.Millisecond || !p.Limits() {
			t.Errorf("11 calls waited %v after a refusal, want 200ms: half of the rate", d)
		}
		p.Refused(time.Second, 0) // a call from before the change
		if d := took(t.Context(), p, 10); d != 200*time.Millisecond {
			t.Errorf("10 calls waited %v after the refusal of an older call, want 200ms", d)
		}
		p.Refused(0, 3*time.Second)
		if d := took(t.Context(), p, 1); d != 3*time.Second {
			t.Errorf("a call waited %v, want the 3s that the target asked for", d)
		}
		slow := took(t.Context(), p, 10)
		took(t.Context(), p, 1000)
		if fast := took(t.Context(), p, 10); fast > slow/2 {
			t.Errorf("10 calls waited %v and then %v: the rate does not grow", slow, fast)
		}
		p.Refused(0, time.Hour)
		if d := took(t.Context(), p, 1); d != mostWait {
			t.Errorf("a call waited %v, want %v at most", d, mostWait)
		}
		ended, cancel := context.WithCancel(t.Context())
		p.Refused(0, time.Minute)
		cancel()
		if d := took(ended, p, 1); d > 0 {
			t.Errorf("a call waited %v after the end of the run", d)
		}
	})
}

// Where the target refuses all, a refusal slows nothing down; once it answers, it does again.
func TestAPaceIsLiftedWhileAllIsRefused(t *testing.T) {
	t.Parallel()
	p := newPace()
	vain := func() {
		for range shut {
			p.Vain(true)
		}
	}
	for _, step := range []struct {
		does func()
		want bool
	}{
		{func() {}, false},
		{vain, true},
		{vain, true},
		{func() { p.Vain(false) }, false},
		{vain, true},
	} {
		step.does()
		p.Refused(0, 0)
		if p.Limits() == step.want || p.Lifted() != step.want {
			t.Errorf("limits: %v, lifted: %v, want lifted: %v", p.Limits(), p.Lifted(), step.want)
		}
	}
}
