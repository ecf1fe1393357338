package zoo

import (
	"cmp"
	"slices"
)

// Deviation is one difference between an existing gateway and the reference. An id has the same meaning in every
// Like. Rules lists the ids of the broken rules; it is empty for what the protocols allow and for absent surfaces.
type Deviation struct {
	ID    string
	Title string
	Rules []string
}

// Like is an existing gateway, as the deviations that make the reference behave like it.
type Like struct {
	ID         string
	Title      string
	Deviations []Deviation
}

// deviation is a Deviation and the function that installs it.
type deviation struct {
	Deviation
	install func(b *build)
}

// like is a gateway to imitate.
type like struct {
	id, title  string
	deviations []deviation
}

// zooLikes returns the gateways that can be imitated, by id.
func zooLikes() []like {
	all := append(slices.Concat(foundLikes(), dyingLikes(), frontLikes()), like{"envd", "the E2B sandbox daemon, 0.6", envdDeviations()})
	slices.SortFunc(all, func(a, b like) int { return cmp.Compare(a.id, b.id) })
	return all
}

// Likes lists the gateways that Options.Like names, sorted by id, each with its deviations.
func Likes() []Like {
	var out []Like
	for _, l := range zooLikes() {
		imitated := Like{ID: l.id, Title: l.title}
		for _, d := range l.deviations {
			imitated.Deviations = append(imitated.Deviations, d.Deviation)
		}
		out = append(out, imitated)
	}
	return out
}
