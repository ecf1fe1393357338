package machine

// LimitError says that a run does not fit this machine, and what to do. It is a missing
// precondition (exit code 3), found before anything is opened.
type LimitError struct{ What, Mend string }

// Error returns two lines: what does not fit, and what to do.
func (e *LimitError) Error() string { return e.What + "\n  " + e.Mend }
