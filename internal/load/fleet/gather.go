package fleet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"assay/internal/load"
)

// gather begins a round: it writes the plan, and waits until all workers are ready that are not lost.
func (h *coordinator) gather(ctx context.Context, o load.Order) (*crew, error) {
	h.mu.Lock()
	h.round++
	h.seals, h.halted = map[int]*seal{}, ""
	for i := range h.workers {
		h.workers[i].ready, h.workers[i].lostAt = nil, 0 // who was lost before was lost in an earlier round
	}
	h.forgive()
	h.mu.Unlock()
	p := plan{Job: o.Job, Window: window, HardEnd: hardEnd(&o.Job, &o.Limits), Memo: o.Memo}
	if err := h.nc.insist(ctx, func(ctx context.Context) error { return h.put(ctx, keyPlan(h.round), p) }); err != nil {
		return nil, err
	}
	return h.await(ctx, o)
}

// await waits until all workers are ready that are not lost.
func (h *coordinator) await(ctx context.Context, o load.Order) (*crew, error) {
	deadline := time.NewTimer(h.opts.Wait)
	defer deadline.Stop()
	look := time.NewTicker(h.opts.Patience / 10)
	defer look.Stop()
	again := time.NewTicker(rereadEvery)
	defer again.Stop()
	for {
		done, err := h.barrier(ctx)
		if err != nil {
			return nil, err
		}
		if done {
			return &crew{coordinator: h, order: o, costs: map[int]cost{}}, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			return nil, h.missing()
		case <-h.changed:
		case <-look.C:
		case <-again.C:
			reread(ctx, h.kv, h.awaited(), h.note)
		}
	}
}

// awaited returns the keys of some workers that are not ready.
func (h *coordinator) awaited() (keys []string) {
	const most = 50
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.workers {
		m := &h.workers[i]
		switch {
		case len(keys) == most:
			return keys
		case m.lost != "" || m.ready != nil:
		case m.attempt > m.dead:
			keys = append(keys, keyReady(h.round, i, m.attempt))
		default:
			keys = append(keys, keyJoin(i, m.dead+1))
		}
	}
	return keys
}

// barrier reports whether all workers are ready. One that was lost leaves its shard to another.
func (h *coordinator) barrier(ctx context.Context) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.nc.away() > 0 {
		h.forgive()
		return false, h.nc.forsaken()
	}
	all, left := true, 0
	for i := range h.workers {
		m := &h.workers[i]
		why := m.gone()
		if why == "" && time.Since(m.seen) > h.patience(i) {
			why = silent(h.patience(i))
		}
		switch {
		case m.lost != "":
		case h.round > 1 && why != "" && m.ready == nil:
			if err := h.missed(i, why); err != nil {
				return false, err
			}
		case m.process != nil && m.gone() != "" && m.ready == nil:
			return false, fmt.Errorf("worker process %d of %d: %s", i+1, len(h.workers), m.gone())
		case m.attempt > m.dead && why != "":
			if err := h.replaceLost(ctx, i, why); err != nil {
				return false, err
			}
			all = false
		case m.ready == nil:
			all = false
		}
		if m.lost == "" {
			left++
		}
	}
	if left == 0 {
		return false, &BusError{What: fmt.Sprintf("all %d workers of the run %s are lost", len(h.workers), h.names.run), Mend: "start the run again"}
	}
	return all, nil
}

// missed applies the policy to a worker that was lost between two rounds. The caller holds mu.
func (h *coordinator) missed(number int, why string) error {
	m := &h.workers[number]
	text := fmt.Sprintf("worker %d of %d (%s, process %d) was lost between two windows: %s", number+1, len(h.workers), m.joined.Host, m.joined.PID, why)
	if h.opts.Policy == Abort {
		return &BusError{What: text, Mend: "start the run again; with --lost-worker degrade, the others go on"}
	}
	h.opts.Warn(text)
	m.lost, m.lostAt = why, 1 // before the round began
	return nil
}

// replaceLost frees the shard of a worker that was lost at the barrier. The caller holds mu.
func (h *coordinator) replaceLost(ctx context.Context, number int, why string) error {
	m := &h.workers[number]
	if _, err := create(ctx, h.kv, keyDead(number, m.attempt), stop{Why: why}); unanswered(err) {
		return nil // the next look does it
	} else if err != nil {
		return h.nc.stored("giving up a worker", err)
	}
	h.opts.Warn(fmt.Sprintf("worker %d of %d on %s was lost before the start: %s; another one can take its place", number+1, len(h.workers), m.joined.Host, why))
	m.dead, m.ready, m.before = m.attempt, nil, why
	return nil
}

// missing is the error of workers that did not come.
func (h *coordinator) missing() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.nc.away() > 0 {
		return &BusError{What: h.nc.absence(), Mend: "see why the bus is not there, or refuses the connection"}
	}
	var there, away []string
	for i := range h.workers {
		switch m := &h.workers[i]; {
		case m.ready != nil:
			there = append(there, fmt.Sprintf("%d (%s)", i+1, m.joined.Host))
		case m.attempt > m.dead:
			away = append(away, fmt.Sprintf("%d (%s has joined, and is not ready)", i+1, m.joined.Host))
		case m.before != "":
			away = append(away, fmt.Sprintf("%d (%s was lost: %s)", i+1, m.joined.Host, m.before))
		default:
			away = append(away, strconv.Itoa(i+1))
		}
	}
	came := "none came"
	if len(there) > 0 {
		came = "these came: " + listed(there)
	}
	what := fmt.Sprintf("%d of %d workers are missing after %v: %s; %s", len(away), len(h.workers), h.opts.Wait, listed(away), came)
	if h.embedded != nil {
		return errors.New(what + "\n  this machine is too slow for so many: use fewer --workers")
	}
	return &BusError{
		What: what,
		Mend: fmt.Sprintf("start each with: assay worker --bus %s --run %s", h.bus.URL, h.names.run),
	}
}

// listed joins at most ten names.
func listed(all []string) string {
	const most = 10
	if n := len(all); n > most {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), n-most)
	}
	return strings.Join(all, ", ")
}

// silent is how a worker was lost that is not heard any more.
func silent(patience time.Duration) string {
	return fmt.Sprintf("nothing was heard of it for %v", patience)
}

// errNoMerger is the error of a sink that cannot merge windows.
var errNoMerger = errors.New("a run that is shared among workers needs the collector of its session")
