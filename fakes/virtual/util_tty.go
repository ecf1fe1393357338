package virtual

import "path"

// ttyProgram is tty [-s].
func ttyProgram(t *task) int {
	flags, rest, ok := t.letters("s")
	if !ok || len(rest) > 0 {
		if ok {
			t.fail("extra operand '%s'", rest[0])
		}
		return 2
	}
	on := t.p.terminal(0)
	if flags == "" {
		name := "not a tty"
		if on != nil {
			name = on.name()
		}
		if t.print(name+"\n") != 0 {
			return 3
		}
	}
	return truth(on != nil)
}

// sttyProgram implements stty [-a|-g] and stty SETTING…, for the terminal of stdin or of -F.
func sttyProgram(t *task) int {
	args := t.args[1:]
	on := t.p.terminal(0)
	name := "'standard input'"
	if len(args) > 1 && args[0] == "-F" {
		name = args[1]
		f, err := t.p.open(t.abs(path.Clean(args[1])), openRead)
		if err != nil {
			return t.fail("%s: %s", name, reason(err))
		}
		defer f.close()
		on = nil
		if tty, ok := f.desc.(ttyFile); ok {
			on = tty.t
		}
		args = args[2:]
	}
	if on == nil {
		return t.fail("%s: Inappropriate ioctl for device", name)
	}
	s := &settings{}
	s.mode, s.size = on.modes()
	was := s.size
	switch {
	case len(args) == 0:
		return t.print(s.brief())
	case len(args) == 1 && (args[0] == "-a" || args[0] == "--all"):
		return t.print(s.all())
	case len(args) == 1 && (args[0] == "-g" || args[0] == "--save"):
		return t.print(s.save())
	}
	for len(args) > 0 {
		n, complaint := s.apply(args)
		if complaint != "" {
			return t.fail("%s", complaint)
		}
		args = args[n:]
	}
	on.setModes(s.mode)
	if s.size != was {
		on.resize(s.size)
	}
	return truth(s.text == "" || t.print(s.text) == 0)
}
