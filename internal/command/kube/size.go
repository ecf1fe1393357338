package kube

import (
	"fmt"
	"strconv"
)

// Load is what a whole run asks of its workers.
type Load struct {
	// Streams is the most streams that are open at one time.
	Streams int
	// OwnSockets says that each stream has a connection of its own, as over HTTP/1.1.
	OwnSockets bool
	// StreamBytes is the memory of a stream in the driver, in bytes, beyond that of every stream.
	StreamBytes int64
	// Starts is the most streams that start in a second; 0 is as many as the gateway allows.
	Starts float64
	// Lines is how many events a stream that stays open sends in a second.
	Lines float64
}

// Size is what one worker needs.
type Size struct {
	// Streams is the most streams that the worker has open at one time.
	Streams int
	// Connections is the most connections.
	Connections int
	// MilliCPU is the share of a core, in thousandths, that the container asks for.
	MilliCPU int
	// Memory is the memory of the container, in bytes, with that of the kernel for its sockets.
	Memory int64
	// WidePorts says that the connections need more local ports than Linux uses by default.
	WidePorts bool
}

// The costs of the fast driver: docs/capacity.md has the measurements.
const (
	baseMemory  = 96 << 20 // a worker without streams, with its histograms, its program and the Go runtime
	streamBytes = 1 << 10  // an open stream of any kind, four times what was measured
	socketBytes = 16 << 10 // the kernel's part of a connection with some data in its buffers

	startMicros = 60 // CPU time of a stream of a few events on its own connection
	lineMicros  = 5  // CPU time of an event

	leastMilliCPU = 250
	oneCore       = 1000 // the driver has one event loop
)

// The local ports of a pod, which has a network of its own, for connections to one address.
const (
	usualPorts = 28_232         // net.ipv4.ip_local_port_range is 32768 60999
	widePorts  = 65_535 - 1_024 // with the range that a pod may set for itself: 1025 65535
	sparePorts = 64
)

// Share returns the size of one of several workers, or an error if the run needs more of them.
func (l Load) Share(workers int) (Size, error) {
	s := Size{Streams: (l.Streams + workers - 1) / workers}
	if l.OwnSockets {
		s.Connections = s.Streams
	}
	if most := widePorts - sparePorts; s.Connections > most {
		return s, fmt.Errorf("%d connections for each of %d workers: a pod has %d local ports for one address; want at least %d workers, or HTTP/2, where streams share connections",
			s.Connections, workers, widePorts, (l.Streams+most-1)/most)
	}
	s.WidePorts = s.Connections > usualPorts-sparePorts
	s.Memory = baseMemory + int64(s.Streams)*(streamBytes+l.StreamBytes) + int64(s.Connections)*socketBytes
	s.MilliCPU = oneCore
	if l.Starts > 0 {
		micros := l.Starts/float64(workers)*startMicros + float64(s.Streams)*l.Lines*lineMicros
		s.MilliCPU = max(leastMilliCPU, min(int(2*micros/1000), oneCore))
	}
	return s, nil
}

// CPU returns the share of a core as Kubernetes writes it, in steps of 50.
func (s Size) CPU() string { return strconv.Itoa((s.MilliCPU+49)/50*50) + "m" }

// RAM returns the memory as Kubernetes writes it, in steps of 16 MiB.
func (s Size) RAM() string { return strconv.FormatInt((s.Memory>>20+15)/16*16, 10) + "Mi" }
