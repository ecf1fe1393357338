//go:build unix

package osproc_test

import (
	"strconv"
	"strings"
	"syscall"

	"assay/fakes/virtual"
)

func allRows() []row { return append(append(pipeRows(), ttyRows()...), promptRows()...) }

// ttyRows are scripts on a terminal.
func ttyRows() []row {
	size := &virtual.Size{Cols: 80, Rows: 24}
	rows := []row{
		{name: "both streams are one, with CRLF", text: "echo out; echo err >&2", out: "out\r\nerr\r\n"},
		{name: "it is a terminal", text: "test -t 0 && test -t 1 && test -t 2 && echo yes; tty | tr -d 0-9", out: "yes\r\n/dev/pts/\r\n"},
		{name: "the terminal can be opened", text: "echo x >/dev/tty; (echo y >/dev/tty) >/dev/null", out: "x\r\ny\r\n"},
		{name: "the size", text: "stty size", out: "24 80\r\n"},
		{name: "an unset size", text: "stty size", pty: &virtual.Size{}, out: "0 0\r\n"},
		{name: "only 16 bits of a size count", text: "stty size", pty: &virtual.Size{Cols: 70000, Rows: 65537}, out: "1 4464\r\n"},
		{name: "TERM", text: "echo $TERM", out: virtual.DefaultTerm + "\r\n"},
		{name: "a requested TERM", text: "echo $TERM", env: map[string]string{"TERM": "dumb"}, out: "dumb\r\n"},
		{name: "a resize is seen", text: "echo r; read x; stty size", steps: []step{{await: "r\r\n", resize: &virtual.Size{Cols: 132, Rows: 43}}, {write: "\n"}}, out: "r\r\n\r\n43 132\r\n"},
		{name: "a resize is a signal", text: "trap 'stty size; exit' WINCH; echo r; while :; do :; done",
			steps: []step{{await: "r\r\n", resize: &virtual.Size{Cols: 100, Rows: 50}}}, out: "r\r\n50 100\r\n"},
		{name: "a resize to the same size sends no signal", text: "trap 'echo no' WINCH; echo r; read x; echo $x",
			steps: []step{{await: "r\r\n", resize: size}, {write: "a\n"}}, out: "r\r\na\r\na\r\n"},
		{name: "stty sets the size", text: "stty rows 10 cols 20; stty size", out: "10 20\r\n"},
		{name: "modes are saved and restored", text: "o=$(stty -g); stty raw -echo; echo a; stty $o; echo b", out: "a\nb\r\n"},
		{name: "a setting unknown to stty", text: "stty foo", out: "stty: invalid argument 'foo'\r\nTry 'stty --help' for more information.\r\n", code: 1},

		{name: "echo and a line", text: "read x; echo got $x", steps: []step{{write: "abc\n"}}, out: "abc\r\ngot abc\r\n"},
		{name: "a carriage return is a newline", text: "read x; echo got $x", steps: []step{{write: "abc\r"}}, out: "abc\r\ngot abc\r\n"},
		{name: "a line is read when it is complete", text: "head -n 1; echo e", steps: []step{{write: "a"}, {await: "a", write: "b"}, {await: "b", write: "\n"}}, out: "ab\r\nab\r\ne\r\n"},
		{name: "erase", text: "read x; echo got $x", steps: []step{{write: "abd\x7fc\n"}}, out: "abd\b \bc\r\ngot abc\r\n"},
		{name: "erase of nothing", text: "read x; echo got $x.", steps: []step{{write: "\x7f\x7fa\x7f\x7f\n"}}, out: "a\b \b\r\ngot .\r\n"},
		{name: "kill the line", text: "read x; echo got $x", steps: []step{{write: "abc\x15de\n"}}, out: "abc\b \b\b \b\b \bde\r\ngot de\r\n"},
		{name: "erase a word", text: "read x; echo got $x", steps: []step{{write: "ab cd  \x17e\n"}}, out: "ab cd  \b \b\b \b\b \b\b \be\r\ngot ab e\r\n"},
		{name: "erase a tab", text: "read x; echo got $x", steps: []step{{write: "ab\t\x7fc\n"}}, out: "ab\t\b\b\b\b\b\bc\r\ngot abc\r\n"},
		{name: "erase a tab behind a prompt", text: "printf 'in: '; read x; echo got $x", steps: []step{{await: "in: ", write: "a\t\x7fc\n"}}, out: "in: a\t\b\b\bc\r\ngot ac\r\n"},
		{name: "control characters are shown", text: "read x; echo", steps: []step{{write: "a\x01\x1bb\n"}}, out: "a^A^[b\r\n\r\n"},
		{name: "a control character is erased as two", text: "read x; echo got $x", steps: []step{{write: "a\x01\x7f\n"}}, out: "a^A\b \b\b \b\r\ngot a\r\n"},
		{name: "a literal character", text: "read x; printf %s \"$x\" | wc -c", steps: []step{{write: "a\x16\x03b\n"}}, out: "a^\b^Cb\r\n3\r\n"},
		{name: "reprint", text: "read x; echo got $x", steps: []step{{write: "ab\x12c\n"}}, out: "ab^R\r\nabc\r\ngot abc\r\n"},
		{name: "backspace is not erase", text: "read x; printf %s \"$x\" | wc -c", steps: []step{{write: "ab\bc\n"}}, out: "ab^Hc\r\n4\r\n"},
		{name: "bytes above ASCII are erased one by one", text: "read x; printf %s \"$x\" | wc -c", steps: []step{{write: "é\x7f\n"}}, out: "é\b \b\r\n1\r\n"},
		{name: "characters are erased whole with iutf8", text: "stty iutf8; echo r; read x; printf %s \"$x\" | wc -c", steps: []step{{await: "r\r\n", write: "aé\x7f\n"}}, out: "r\r\naé\b \b\r\n1\r\n"},
		{name: "a line of 4095 characters", text: "stty -echo; echo r; read x; echo ${#x}", steps: []step{{await: "r\r\n", write: strings.Repeat("a", 5000) + "\n"}}, out: "r\r\n4095\r\n"},

		{name: "the end of input at the start of a line", text: "cat; echo e", steps: []step{{write: "a\n"}, {await: "a\r\na\r\n", write: "\x04"}}, out: "a\r\na\r\ne\r\n"},
		{name: "the end of input within a line makes it readable", text: "cat; echo e", steps: []step{{write: "ab\x04"}, {await: "abab", write: "\x04"}}, out: "ababe\r\n"},
		{name: "the end of input is one read only", text: "cat; cat; echo e", steps: []step{{write: "\x04a\n"}, {await: "a\r\na\r\n", write: "\x04"}}, out: "a\r\na\r\ne\r\n"},
		{name: "stdin is not closed", text: "read x; echo $x", steps: []step{{close: true}, {write: "a\n"}}, out: "a\r\na\r\n"},

		{name: "no echo", text: "stty -echo; echo r; read x; echo $x", steps: []step{{await: "r\r\n", write: "secret\n"}}, out: "r\r\nsecret\r\n"},
		{name: "raw input comes at once", text: "stty raw -echo; printf r; head -c 2", steps: []step{{await: "r", write: "a"}, {write: "\r"}}, out: "ra\r"},
		{name: "raw echo", text: "stty raw; printf r; head -c 3 >/dev/null", steps: []step{{await: "r", write: "a\x03\x04"}}, out: "ra^C^D"},
		{name: "raw output", text: "stty raw; echo a; stty -raw; echo b", out: "a\nb\r\n"},
		{name: "no output processing", text: "stty -onlcr; echo a", out: "a\n"},
		{name: "what was typed ahead is a line", text: "stty -icanon -echo; printf r; head -c 1; stty icanon; printf s; head -n 1", steps: []step{{await: "r", write: "abc"}, {await: "as", write: "\n"}}, out: "rasbc\r\n"},
		{name: "a part of the input is left for others", text: "stty -icanon -echo; printf r; head -c 1; head -c 2", steps: []step{{await: "r", write: "abc"}}, out: "rabc"},

		{name: "^C is a signal", argv: []string{"cat"}, steps: []step{{write: "a\n"}, {await: "a\r\na\r\n", write: "\x03"}}, out: "a\r\na\r\n", strip: `\^[C\\]`, signal: syscall.SIGINT},
		{name: `^\ is a signal`, argv: []string{"cat"}, steps: []step{{write: "a\n"}, {await: "a\r\na\r\n", write: "\x1c"}}, out: "a\r\na\r\n", strip: `\^[C\\]`, signal: syscall.SIGQUIT},
		{name: "^C is shown", text: "trap '' INT; echo r; read x; echo $x", steps: []step{{await: "r\r\n", write: "\x03"}, {await: "^C", write: "a\n"}}, out: "r\r\n^Ca\r\na\r\n"},
		{name: "^C drops the line", text: "stty -echo; trap '' INT; echo r; read x; echo $x", steps: []step{{await: "r\r\n", write: "abc\x03de\n"}}, out: "r\r\nde\r\n"},
		{name: "^C reaches the whole group", text: `stty -echo; trap 'echo t' INT; sh -c 'trap "exit 4" INT; echo r; while :; do :; done'; echo $?`, steps: []step{{await: "r\r\n", write: "\x03"}}, out: "r\r\nt\r\n4\r\n"},
		{name: "^C ends a pipeline", text: "stty -echo; trap 'echo t' INT; echo r; cat | cat; echo e", steps: []step{{await: "r\r\n", write: "a\n"}, {await: "a\r\n", write: "\x03"}}, out: "r\r\na\r\nt\r\ne\r\n"},
		{name: "^C does not reach a background child", text: "stty -echo; trap ': >f; wait; exit 2' INT; (echo r; " + until("f") + "; echo late) & while :; do :; done", steps: []step{{await: "r\r\n", write: "\x03"}}, out: "r\r\nlate\r\n", code: 2},
		{name: "stopped output continues", text: "stty -echo; echo r; read x; echo a; echo b", steps: []step{{await: "r\r\n", write: "\x13\n\x11"}}, out: "r\r\na\r\nb\r\n"},

		{name: "an exit code on a terminal", text: "exit 9", code: 9},
		{name: "a signal on a terminal", argv: []string{"cat"}, steps: []step{{write: "r\n"}, {await: "r\r\nr\r\n", signal: syscall.SIGTERM}}, out: "r\r\nr\r\n", signal: syscall.SIGTERM},
		{name: "a command that is not found on a terminal", argv: []string{"no-such-command-here"}, out: "sh: 1: no-such-command-here: not found\r\n", code: 127},
		{name: "the end of the leader hangs up on the foreground", text: "(sleep 100; echo no) & echo e", out: "e\r\n"},
		{name: "a child that ignores the hangup keeps the terminal", text: "trap '' HUP; (" + orphaned + "; echo late) & echo e; exit 2", out: "e\r\nlate\r\n", code: 2},
		{name: "a large output on a terminal is complete", text: "stty -opost; seq 1 20000 | tail -c 100000 | cat", out: tail(20000, 100000)},
	}
	for i := range rows {
		if rows[i].pty == nil {
			rows[i].pty = size
		}
		rows[i].name = "pty " + rows[i].name
	}
	return rows
}

// promptRows are interactive shells. The echo of ^C is not compared: the kernel sends the signal before it echoes the key, and the
// shell may print in between.
func promptRows() []row {
	env := map[string]string{"PS1": "p> ", "PS2": "q> "}
	size := &virtual.Size{Cols: 80, Rows: 24}
	sh := []string{"/bin/sh", "-i"}
	rows := []row{
		{name: "prompts", argv: sh, steps: []step{{await: "p> ", write: "echo a\n"}, {await: "p> ", write: "exit 3\n"}}, out: "p> echo a\r\na\r\np> exit 3\r\n", code: 3},
		{name: "needs no -i", argv: []string{"sh"}, steps: []step{{await: "p> ", write: "echo $-\n"}, {await: "p> ", write: "exit\n"}}, out: "p> echo $-\r\nsmi\r\np> exit\r\n"},
		{name: "ends at ^D", argv: sh, steps: []step{{await: "p> ", write: "false\n"}, {await: "p> ", write: "\x04"}}, out: "p> false\r\np> \r\n", code: 1},
		{name: "asks for more", argv: sh, steps: []step{{await: "p> ", write: "if true\n"}, {await: "q> ", write: "then echo a; fi\n"}, {await: "p> ", write: "exit\n"}}, out: "p> if true\r\nq> then echo a; fi\r\na\r\np> exit\r\n"},
		{name: "continues after an error", argv: sh, steps: []step{{await: "p> ", write: ")\n"}, {await: "p> ", write: "echo $?\n"}, {await: "p> ", write: "no-such-command-here\n"}, {await: "p> ", write: "exit\n"}},
			strip: `/bin/sh: \d+: (Syntax error.*?\r\n)?`, out: "p> )\r\np> echo $?\r\n2\r\np> no-such-command-here\r\nno-such-command-here: not found\r\np> exit\r\n", code: 127},
		{name: "prompts again after ^C", argv: sh, steps: []step{{await: "p> ", write: "\x03"}, {await: "p> ", write: "echo $?\n"}, {await: "p> ", write: "exit\n"}}, strip: `\^C`, out: "p> \r\np> echo $?\r\n130\r\np> exit\r\n"},
		{name: "leaves the line at ^C", argv: sh, steps: []step{{await: "p> ", write: "sh -c 'echo r; while :; do :; done'; echo no\n"}, {await: "r\r\n", write: "\x03"}, {await: "p> ", write: "echo $?\n"}, {await: "p> ", write: "exit\n"}},
			strip: `\^C`, out: "p> sh -c 'echo r; while :; do :; done'; echo no\r\nr\r\n\r\np> echo $?\r\n130\r\np> exit\r\n"},
		{name: "leaves a loop at ^C", argv: sh, steps: []step{{await: "p> ", write: "echo r; while :; do :; done\n"}, {await: "\r\nr\r\n", write: "\x03"}, {await: "p> ", write: "exit 1\n"}},
			strip: `\^C`, out: "p> echo r; while :; do :; done\r\nr\r\n\r\np> exit 1\r\n", code: 1},
		{name: "passes ^C to a pipeline", argv: sh, steps: []step{{await: "p> ", write: "echo r; cat | cat\n"}, {await: "\r\nr\r\n", write: "a\n"}, {await: "a\r\na\r\n", write: "\x03"}, {await: "p> ", write: "exit\n"}},
			strip: `\^C`, out: "p> echo r; cat | cat\r\nr\r\na\r\na\r\n\r\np> exit\r\n", code: 130},
		{name: "ignores SIGTERM", argv: sh, steps: []step{{await: "p> ", signal: syscall.SIGTERM}, {write: "exit 5\n"}}, out: "p> exit 5\r\n", code: 5},
		{name: "ends by SIGHUP", argv: sh, steps: []step{{await: "p> ", signal: syscall.SIGHUP}}, out: "p> ", signal: syscall.SIGHUP},
		{name: "reports an ended job", argv: sh, steps: []step{{await: "p> ", write: "sleep 0 & while kill -0 $! 2>/dev/null; do sleep 0.01; done\n"}, {await: "p> ", write: "exit\n"}},
			out: "p> sleep 0 & while kill -0 $! 2>/dev/null; do sleep 0.01; done\r\n[1] + Done                       sleep 0\r\np> exit\r\n"},
		{name: "expands its prompt", argv: sh, env: map[string]string{"PS1": "$X> ", "X": "v"}, steps: []step{{await: "v> ", write: "X=w\n"}, {await: "w> ", write: "exit\n"}}, out: "v> X=w\r\nw> exit\r\n"},
		{name: "reads ahead", argv: sh, steps: []step{{await: "p> ", write: "stty -echo\n"}, {await: "p> ", write: "read x\nabc\necho $x\nexit\n"}}, out: "p> stty -echo\r\np> p> abc\r\np> "},
	}
	for i := range rows {
		rows[i].pty = size
		rows[i].name = "shell " + rows[i].name
		if rows[i].env == nil {
			rows[i].env = env
		}
	}
	return rows
}

// tail is the last n bytes of seq 1 last.
func tail(last, n int) string {
	var b strings.Builder
	for i := 1; i <= last; i++ {
		b.WriteString(strconv.Itoa(i) + "\n")
	}
	s := b.String()
	return s[len(s)-n:]
}
