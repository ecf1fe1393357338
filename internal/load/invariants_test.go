package load

import (
	"strings"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/record/ledger"
)

// counters returns counters: started, ok, error, killed, active.
func counters(v ...float64) ledger.Counters {
	c := ledger.Counters{Started: v[0], OK: v[1], Error: v[2], Killed: v[3], Active: v[4], Has: map[string]bool{}}
	for _, key := range []string{ledger.KeyStarted, ledger.KeyOK, ledger.KeyError, ledger.KeyKilled, ledger.KeyActive} {
		c.Has[key] = true
	}
	return c
}

func TestCountersAreHeldAgainstTheLedger(t *testing.T) {
	own := bundle.LoadLedger{Started: 10, OK: 5, Error: 1, Killed: 4}
	unsure := bundle.LoadLedger{Started: 8, OK: 5, Error: 1, Killed: 2, Uncertain: 2}
	open := bundle.LoadLedger{Started: 10, OK: 5, Error: 1, Killed: 3, Open: 1, Uncertain: 1}
	unseen := bundle.LoadLedger{Started: 10, OK: 4, Error: 1, Killed: 3, Unseen: 2}
	hungUp := bundle.LoadLedger{Started: 10, OK: 4, Error: 1, Killed: 3, Unseen: 2, HungUp: 2}
	before := counters(100, 50, 30, 18, 2)
	tests := map[string]struct {
		own     bundle.LoadLedger
		after   ledger.Counters
		wrong   []string
		foreign bool
	}{
		"they agree":                   {own, counters(110, 55, 31, 22, 2), nil, false},
		"a kill is counted twice":      {own, counters(110, 55, 31, 23, 2), []string{"killed moved by 5, the driver's ledger says 4", "do not add up"}, false},
		"a start is not counted":       {own, counters(109, 55, 31, 22, 2), []string{"started moved by 9", "do not add up"}, false},
		"an end is counted as another": {own, counters(110, 56, 30, 22, 2), []string{"ok moved by 6", "error moved by 0"}, false},
		"the gauge leaks":              {own, counters(110, 55, 31, 22, 3), []string{"active moved by 1", "do not add up"}, false},
		"a counter went down":          {own, counters(110, 55, 31, 17, 2), []string{"killed"}, false},
		"foreign starts":               {own, counters(113, 58, 31, 22, 2), []string{"started moved by 13", "ok moved by 8"}, true},
		"a foreign process still runs": {own, counters(111, 55, 31, 22, 3), []string{"started moved by 11", "active moved by 1"}, true},
		"hang-ups that killed":         {hungUp, counters(110, 54, 31, 23, 2), nil, false},
		"hang-ups that came too late":  {hungUp, counters(110, 55, 32, 21, 2), nil, false},
		"a hang-up that leaks":         {hungUp, counters(110, 54, 31, 22, 3), []string{"ok, error and killed moved by 9", "active moved by 1"}, false},
		"a hang-up is counted twice":   {hungUp, counters(110, 55, 31, 23, 2), []string{"ok, error and killed moved by 11", "do not add up"}, false},
		"unknown starts that happened": {unsure, counters(110, 55, 31, 22, 2), nil, false},
		"unknown starts that did not":  {unsure, counters(108, 55, 31, 20, 2), nil, false},
		"more than the unknown":        {unsure, counters(111, 58, 31, 20, 2), []string{"started moved by 11, the driver's ledger says 8 to 10", "ok moved by 8, the driver's ledger says 5 to 7"}, true},
		"two ended unseen, one well":   {unseen, counters(110, 55, 32, 21, 2), nil, false},
		"two ended unseen, none well":  {unseen, counters(110, 54, 33, 21, 2), nil, false},
		"one killed by the hang-up":    {unseen, counters(110, 55, 31, 22, 2), []string{"killed moved by 4", "ok and error moved by 6, the driver's ledger says 7"}, false},
		"one that did not end":         {unseen, counters(110, 54, 32, 21, 3), []string{"active moved by 1", "ok and error moved by 6"}, false},
		"one left running":             {open, counters(110, 55, 31, 21, 3), nil, false},
		"one left, and then killed":    {open, counters(110, 55, 31, 22, 2), nil, false},
		"foreign processes ended":      {own, counters(110, 56, 31, 23, 0), []string{"ok moved by 6", "killed moved by 5", "active moved by -2"}, true},
		"more ended than were there":   {own, counters(110, 58, 31, 22, -1), []string{"ok moved by 8"}, false},
		"a kill counted as ok":         {own, counters(110, 56, 31, 21, 2), []string{"ok moved by 6", "killed moved by 3"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			wrong, foreign := audit(before, tt.after, tt.own)
			all := strings.Join(wrong, "\n")
			for _, w := range tt.wrong {
				if !strings.Contains(all, w) {
					t.Errorf("got\n%s\nwant %q in it", all, w)
				}
			}
			if len(tt.wrong) == 0 && len(wrong) > 0 || (foreign != "") != tt.foreign {
				t.Errorf("got %q, foreign %q", wrong, foreign)
			}
		})
	}
}

func TestCountersDuringARun(t *testing.T) {
	earlier := counters(100, 50, 0, 0, 50)
	for name, tt := range map[string]struct {
		now      ledger.Counters
		inFlight int
		wrong    int
	}{
		"all in one place":                  {counters(120, 60, 0, 0, 60), 0, 0},
		"some in two places, in flight":     {counters(120, 60, 0, 0, 63), 3, 0},
		"more in two places than in flight": {counters(120, 60, 0, 0, 64), 3, 1},
		"one that went down":                {counters(120, 40, 0, 0, 80), 0, 1},
	} {
		if got := auditDuring(earlier, tt.now, tt.inFlight); len(got) != tt.wrong {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestWhatIsInFlight(t *testing.T) {
	quiet := Counts{Opening: 10, Started: 10, Outcomes: bundle.StreamOutcomes{4}, Killing: 4, Killed: 4}
	if n := inFlight(quiet, quiet); n != 0 {
		t.Errorf("%d in flight when nothing happens", n)
	}
	busy := Counts{Opening: 15, Started: 10, Unstarted: 1, Outcomes: bundle.StreamOutcomes{5}, Killing: 6, Killed: 4}
	later := Counts{Opening: 18, Started: 17, Unstarted: 1, Outcomes: bundle.StreamOutcomes{7}, Killing: 7, Killed: 7}
	if n := inFlight(busy, later); n != 4+2+3+1+2 {
		t.Errorf("%d in flight, want 12", n)
	}
}

func TestTheLedgerOfWhatWasCounted(t *testing.T) {
	c := Counts{Fates: [numFates]int64{NoProcess: 3, EndedOK: 4, EndedError: 5, FateKilled: 6, LeftOpen: 1}, Uncertain: 3, Swept: 2}
	want := bundle.LoadLedger{Started: 18, OK: 4, Error: 5, Killed: 8, Open: 1, Uncertain: 1}
	if got := ledgerOf(&c); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
