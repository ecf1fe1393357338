package fakes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Deviation is one way in which a gateway that exists differs from the
// reference. An id means the same wherever it is. Rules are the ids of the rules that it breaks; none for what the
// protocols allow, and for surfaces that are absent.
type Deviation struct {
	ID    string
	Title string
	Rules []string
}

// Like is a gateway that exists, as the deviations that make the reference
// behave like it.
type Like struct {
	ID         string
	Title      string
	Deviations []Deviation
}

// deviationDecorator is a deviation and how it is put in.
type deviationDecorator struct {
	Deviation
	install func(s *seams, o *Options)
}

// likeDecorator is a gateway to imitate.
type likeDecorator struct {
	id, title  string
	deviations []deviationDecorator
}

// zooLikes are the gateways that can be imitated, by id.
func zooLikes() []likeDecorator {
	all := append(foundLikes(), likeDecorator{"envd", "the E2B sandbox daemon, 0.6", envdDeviations()})
	slices.SortFunc(all, func(a, b likeDecorator) int { return cmp.Compare(a.id, b.id) })
	return all
}

// Likes lists the gateways that Options.Like knows, sorted by id, each with its
// deviations.
func Likes() []Like {
	var out []Like
	for _, l := range zooLikes() {
		like := Like{ID: l.id, Title: l.title}
		for _, d := range l.deviations {
			like.Deviations = append(like.Deviations, d.Deviation)
		}
		out = append(out, like)
	}
	return out
}

// installLike puts in every deviation of a gateway; "" is none.
func installLike(s *seams, o *Options) error {
	if o.Like == "" {
		return nil
	}
	var known []string
	for _, l := range zooLikes() {
		if l.id == o.Like {
			for _, d := range l.deviations {
				d.install(s, o)
			}
			return nil
		}
		known = append(known, l.id)
	}
	return fmt.Errorf("unknown like %q: there is %s", o.Like, strings.Join(known, ", "))
}
