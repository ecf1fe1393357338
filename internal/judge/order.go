package judge

import (
	"fmt"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// Order returns the name of the first order that the iteration matches, or "". The engine calls
// it during a race to find out when each order has its minimum.
func Order(orders []scenarios.Order, run *bundle.Run, it *bundle.Iteration) string {
	if i := orderOf(orders, &scene{cal: calibration(run), it: it}); i >= 0 {
		return orders[i].Name
	}
	return ""
}

func orderOf(orders []scenarios.Order, s *scene) int {
	for i := range orders {
		fits := true
		for _, name := range subjectNames(orders[i].Subjects) {
			if !s.look(name, orders[i].Subjects[name]).ok() {
				fits = false
				break
			}
		}
		if fits {
			return i
		}
	}
	return -1
}

// judgeOrders assigns every iteration to an order of a race. An iteration that fits none is a
// breach; if an order was seen too rarely, the rule is inconclusive.
func judgeOrders(t *tally, orders []scenarios.Order, all []*scene, o *bundle.Observation) {
	counts := map[string]int{}
	for i := range orders {
		counts[orders[i].Name] = 0
	}
	for _, s := range all {
		if i := orderOf(orders, s); i >= 0 {
			counts[orders[i].Name]++
			t.add(finding{})
			continue
		}
		f := s.noOrder(orders)
		if o := s.blockedOrder(orders); o != nil && f.grade == violated {
			f = o.finding(s)
		}
		f.message = s.says("", f.message)
		t.add(f)
	}
	for i := range orders {
		if n := counts[orders[i].Name]; n < orders[i].Min {
			t.add(tooRare(&orders[i], n, o))
		}
	}
	for name, n := range counts {
		t.count(name, n)
	}
}

// blockedOrder returns the unmet precondition that prevents judging an exchange of a race, or nil.
func (s *scene) blockedOrder(orders []scenarios.Order) *unmet {
	for i := range orders {
		for _, name := range subjectNames(orders[i].Subjects) {
			if o := s.behind(name, s.subject(name)); o != nil {
				return o
			}
		}
	}
	return nil
}

// noOrder returns the finding for an iteration that fits none of the orders.
func (s *scene) noOrder(orders []scenarios.Order) finding {
	if s.cut {
		return s.interrupted(nil)
	}
	var names, seen []string
	told := map[string]bool{}
	var all []*bundle.Exchange
	symptom := bundle.SymptomOrder
	for i := range orders {
		names = append(names, orders[i].Name)
		for _, name := range subjectNames(orders[i].Subjects) {
			if told[name] {
				continue
			}
			told[name] = true
			x := s.subject(name)
			if x == nil {
				f := s.neverBegan()
				f.message = name + ": " + f.message
				return f
			}
			all = append(all, x)
			if m := malformed(x); m != "" {
				symptom = m
			}
			seen = append(seen, name+": "+answer(x))
		}
	}
	var first *bundle.Exchange
	if len(all) > 0 {
		first = all[0]
	}
	f := s.found(violated, first, "want one of the orders %s, saw %s", phrase.Legal(names, phrase.AsIs), strings.Join(seen, "; ")).as(symptom)
	for _, x := range all {
		f = s.givenUp(x, f)
	}
	return f
}

func tooRare(order *scenarios.Order, n int, o *bundle.Observation) finding {
	why := "the iterations ended"
	if o.BudgetSpent {
		why = "the time budget was spent"
	}
	return finding{
		grade: inconclusive, symptom: bundle.SymptomTooRare,
		message: fmt.Sprintf("order %s: want it at least %s, saw it %s (%s)", order.Name, phrase.Plural(order.Min, "time"), phrase.Plural(n, "time"), why),
		at:      nowhere(),
	}
}
