package machine

import "time"

// Contest is what competes for the processors of this machine.
type Contest struct {
	// Runnable is the number of threads, of all processes, that run or wait for a processor now.
	Runnable int
	// Stalled is for how long so far some thread waited for a processor: Linux' CPU pressure. 0 if the kernel does not say.
	Stalled time.Duration
	// Stolen is the time so far in which a hypervisor gave a processor to another machine, of all processors together.
	Stolen time.Duration
}
