package reports

import (
	"time"

	"assay/internal/record/bundle"
)

func historySample() *bundle.History {
	g := bundle.HistoryGroup{Kind: bundle.KindConform, Target: "http://127.0.0.1:8081", Profile: "connect"}
	for n := range 20 {
		g.Runs = append(g.Runs, bundle.HistoryRun{Path: "nights/x", Run: "r", Started: time.Date(2026, 1, 2+n, 3, 0, 0, 0, time.UTC), Version: "1", Verdict: "conformant"})
	}
	g.Changes = []bundle.HistoryChange{
		{Kind: bundle.HistoryBroken, Name: "process.exit.code", Since: 11, Path: "nights/11", Before: "pass", After: "fail", Message: "process.exit.code is broken since run 11 of 20 (nights/11, 2026-01-12 03:00:00)"},
		{Kind: bundle.HistoryBetter, Name: "first_event.p50", Since: 4, Path: "nights/04", Before: "2ms", After: "1.5ms", P: 0.001, Message: "first_event.p50 fell from 2ms to 1.5ms with run 4 of 20 (nights/04, 2026-01-05 03:00:00)"},
	}
	g.Flaky = []bundle.HistoryFlaky{{Rule: "process.kill.race", Flips: 9, Verdicts: "...F...F...F...F...F"}}
	g.Trends = []bundle.HistoryTrend{{Name: "first_event.p50", Unit: "us", Recent: 1500, Usual: 1510}, {Name: "gap.p50", Unit: "us"}}
	return &bundle.History{Schema: bundle.HistorySchema, Groups: []bundle.HistoryGroup{g}, Skipped: []bundle.HistorySkip{{Path: "nights/broken", Why: "it is not whole"}}}
}
