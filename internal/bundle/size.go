package bundle

import "unsafe"

// Size returns roughly how many bytes of memory the iterations and scrapes of an observation take.
func (o *Observation) Size() int64 {
	var n int64
	for i := range o.Iterations {
		n += o.Iterations[i].Size()
	}
	for i := range o.Scrapes {
		n += int64(len(o.Scrapes[i].Body))
	}
	if o.Confirm != nil && o.Confirm.Alone != nil {
		n += o.Confirm.Alone.Size()
	}
	return n
}

// Outline drops the evidence of an observation that is judged and stored. It keeps what rules
// about the whole run are judged by: the processes and the scrapes.
func (o *Observation) Outline() {
	if o.Confirm != nil && o.Confirm.Alone != nil {
		o.Confirm.Alone.Outline()
	}
	for it := range Each(o.Iterations) {
		*it = Iteration{Index: it.Index, Started: it.Started, Ended: it.Ended, Processes: it.Processes, Defect: it.Defect}
	}
}

// Size returns roughly how many bytes of memory an iteration takes.
func (it *Iteration) Size() int64 {
	const other = 1024
	n := int64(other) + memoryOf(it.Awaits) + memoryOf(it.Processes)
	for c := range Each(it.Conns) {
		n += other + c.Sent.size() + c.Received.size() + memoryOf(c.Writes) + memoryOf(c.Reads) + memoryOf(c.H2)
		for j := range c.H2 {
			n += int64(len(c.H2[j].Detail))
		}
	}
	for i := range it.Exchanges {
		n += it.Exchanges[i].size()
	}
	return n
}

func (x *Exchange) size() int64 {
	const other = 1024
	n := int64(other) + x.Request.Body.size() + x.Body.size() + memoryOf(x.Frames) + memoryOf(x.Events) + memoryOf(x.Violations)
	for _, out := range x.Outputs {
		n += out.size()
	}
	for i := range x.Frames {
		n += int64(len(x.Frames[i].Head))
	}
	for i := range x.Events {
		if e := x.Events[i].Exit; e != nil {
			n += int64(unsafe.Sizeof(*e)) + int64(len(e.Status))
		}
	}
	for i := range x.Violations {
		n += int64(len(x.Violations[i].Detail))
	}
	if x.Response != nil {
		n += memoryOfFields(x.Response.Headers) + memoryOfFields(x.Response.Trailers)
	}
	if x.EndStream != nil {
		for name, values := range x.EndStream.Metadata {
			for _, v := range values {
				n += int64(unsafe.Sizeof(v)) + int64(len(name)+len(v))
			}
		}
	}
	return n
}

func (b *Blob) size() int64 {
	if b == nil {
		return 0
	}
	return int64(len(b.Data)+len(b.Head)+len(b.Tail)) + memoryOf(b.Chunks)
}

func memoryOf[T any](s []T) int64 {
	var one T
	return int64(cap(s)) * int64(unsafe.Sizeof(one))
}

func memoryOfFields(hs []Header) int64 {
	n := memoryOf(hs)
	for _, h := range hs {
		n += int64(len(h.Name) + len(h.Value))
	}
	return n
}
