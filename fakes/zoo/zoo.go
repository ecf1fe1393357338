package zoo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/fakes/controlplane"
	"assay/fakes/gateway"
	"assay/fakes/strict"
)

// Fault is a gateway broken in one way.
type Fault struct {
	ID     string
	Title  string
	Breaks []string // ids of the rules that it breaks; none if only a soak sees it
	Source string   // the real bug
}

// Variant is a gateway that differs in one legal way.
type Variant struct {
	ID, Title, Source string
	// Area is the first word of the ids of the scenarios that it is about; "" is any.
	Area string
}

// Options configure a gateway of the zoo: the reference, imitating an existing
// gateway, with faults and variants around it.
type Options struct {
	gateway.Options
	// Like is the id of one of Likes, whose deviations are installed first. "" is
	// none.
	Like string
	// Faults and Variants are installed by id, each around the previous ones.
	Faults, Variants []string
	// Seed is the phase of rare faults.
	Seed uint64
	// ControlPlane, when set, puts a control plane in front of the gateway. Its faults
	// put one there without it.
	ControlPlane *controlplane.Options
}

// Start starts a gateway. The error of an unknown id is an *UnknownError.
func Start(ctx context.Context, o Options) (*gateway.Gateway, error) {
	built, err := o.build()
	if err != nil {
		return nil, err
	}
	return gateway.Start(ctx, built)
}

// fault is a Fault and the function that installs it.
type fault struct {
	Fault
	install func(b *build)
}

// variant is a Variant and the function that installs it.
type variant struct {
	Variant
	install func(b *build)
}

// build is a gateway under construction.
type build struct {
	gateway.Options
	policy strict.Policy
	kept   keptPolicy
	seed   uint64                // phase of rare faults
	plane  *controlplane.Options // nil: none
	life   *life                 // nil: it does not die
	from   Options
}

// build returns the options of a gateway.
func (o Options) build() (gateway.Options, error) {
	b := &build{Options: o.Options, policy: strict.DefaultPolicy(), seed: o.Seed, from: o}
	if o.ControlPlane != nil {
		plane := *o.ControlPlane
		b.plane = &plane
	}
	if err := b.install(o); err != nil {
		return gateway.Options{}, err
	}
	b.Seams.Policy = &b.policy
	if b.kept != (keptPolicy{}) {
		onServer(b.kept.watch)(b)
	}
	if b.plane != nil {
		if err := controlplane.Attach(&b.Options, *b.plane); err != nil {
			return gateway.Options{}, fmt.Errorf("control plane: %w", err)
		}
	}
	return b.Options, nil
}

func (b *build) install(o Options) error {
	if o.Like != "" {
		l, err := byID(zooLikes(), func(l like) string { return l.id }, o.Like, "like")
		if err != nil {
			return err
		}
		for _, d := range l.deviations {
			d.install(b)
		}
	}
	for _, id := range o.Faults {
		f, err := byID(slices.Concat(zooFaults(), soakFaults()), func(f fault) string { return f.ID }, id, "fault")
		if err != nil {
			return err
		}
		f.install(b)
	}
	for _, id := range o.Variants {
		v, err := byID(zooVariants(), func(v variant) string { return v.ID }, id, "variant")
		if err != nil {
			return err
		}
		v.install(b)
	}
	return nil
}

// UnknownError is an id that no fault, variant or like has.
type UnknownError struct {
	Kind, ID string
	Known    []string
}

// Error names the known ids, unless there are many.
func (e *UnknownError) Error() string {
	text := fmt.Sprintf("unknown %s %q", e.Kind, e.ID)
	if len(e.Known) <= mostNamed {
		text += ": want " + strings.Join(e.Known, ", ")
	}
	return text
}

// mostNamed is how many ids an error names.
const mostNamed = 20

// byID finds an entry of a list; the error is an *UnknownError.
func byID[T any](all []T, id func(T) string, want, kind string) (found T, err error) {
	var known []string
	for _, t := range all {
		if id(t) == want {
			return t, nil
		}
		known = append(known, id(t))
	}
	return found, &UnknownError{Kind: kind, ID: want, Known: known}
}

// Faults lists the faults that break a rule, sorted by id.
func Faults() []Fault {
	var out []Fault
	for _, f := range zooFaults() {
		out = append(out, f.Fault)
	}
	return out
}

// Variants lists the variants, sorted by id.
func Variants() []Variant {
	var out []Variant
	for _, v := range zooVariants() {
		out = append(out, v.Variant)
	}
	return out
}

// zooFaults returns the faults by id.
func zooFaults() []fault {
	all := slices.Concat(requestFaults(), timeoutFaults(), headFaults(), frameFaults(), grpcFaults(), h2Faults(), eventFaults(), readerFaults(),
		outputFaults(), inputFaults(), exitFaults(), tableFaults(), countFaults(), terminalFaults(), stdioFaults(), controlFaults(),
		executeFaults(), filesFaults())
	slices.SortFunc(all, func(a, b fault) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// zooVariants returns the variants by id.
func zooVariants() []variant {
	all := slices.Concat(connectionVariants(), headVariants(), policyVariants(), frameVariants(), messageVariants(), eventVariants(), exitVariants(), tableVariants(),
		stdioVariants(), controlVariants(), executeVariants(), filesVariants())
	slices.SortFunc(all, func(a, b variant) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// stdioFaults returns the faults of the stdio surface.
func stdioFaults() []fault {
	return slices.Concat(handshakeFaults(), stdioAuthFaults(), stdioStartFaults(), wsFrameFaults(), wsClientFaults(), wsCloseFaults(),
		stdioExitFaults(), stdioOutputFaults(), stdioControlFaults(), stdioLifeFaults(), stdioSessionFaults())
}

// stdioVariants returns the variants of the stdio surface.
func stdioVariants() []variant {
	return slices.Concat(handshakeVariants(), wsFrameVariants(), wsCloseVariants(), stdioExitVariants(), stdioOutputVariants())
}

// filesFaults returns the faults of the surfaces of files.
func filesFaults() []fault {
	return slices.Concat(filesystemFaults(), filesystemCallFaults(), watchFaults(), contentFaults(), downloadFaults(), signatureFaults(), uploadRequestFaults(), apartFaults())
}

// filesVariants returns the variants of the surfaces of files.
func filesVariants() []variant {
	return slices.Concat(filesystemVariants(), watchVariants(), fileVariants())
}

// around composes two decorators of one seam: outer sees what inner does.
func around[T any](inner, outer func(T) T) func(T) T {
	if inner == nil {
		return outer
	}
	return func(t T) T { return outer(inner(t)) }
}
