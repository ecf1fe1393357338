//go:build unix

package osproc_test

import "syscall"

// until is a command that waits for a file: a sleep is long enough only on a fast machine.
func until(file string) string { return "while [ ! -e " + file + " ]; do sleep 0.01; done" }

// orphaned is a command that waits for the end of the script's own process.
const orphaned = "while kill -0 $$ 2>/dev/null; do sleep 0.01; done"

// pipeRows are scripts on pipes.
func pipeRows() []row {
	return []row{
		{name: "stdout and stderr are separate", text: "echo out; echo err >&2", out: "out\n", err: "err\n"},
		{name: "an exit code", text: "exit 42", code: 42},
		{name: "an exit code wraps at 256", text: "exit 257", code: 1},
		{name: "the last status is the code", text: "true; false", code: 1},
		{name: "printf without a newline", text: "printf 'a%sc' b", out: "abc"},
		{name: "binary output", text: `printf '\000\377\200'`, out: "\x00\xff\x80"},
		{name: "a large output is complete", text: "seq 1 30000 | wc -c", out: "168894\n"},
		{name: "a tail is not lost at exit", text: "yes x | head -c 70000 | tail -c 3; exit 3", out: "\nx\n", code: 3},
		{name: "a command that is not found", argv: []string{"no-such-command-here"}, err: "sh: 1: no-such-command-here: not found\n", code: 127},
		{name: "a path that is not found", argv: []string{"/no/such/command", "x"}, err: "sh: 1: /no/such/command: not found\n", code: 127},
		{name: "an empty command name", argv: []string{""}, err: "sh: 1: : not found\n", code: 127},
		{name: "no command at all", argv: []string{}, err: "sh: 1: : not found\n", code: 127},
		{name: "a directory is not a command", argv: []string{"/tmp"}, err: "sh: 1: /tmp: Permission denied\n", code: 126},
		{name: "a file that is not executable", argv: []string{"/etc/passwd"}, err: "sh: 1: /etc/passwd: Permission denied\n", code: 126},
		{name: "not found in a script", text: "no-such-command-here", err: "/bin/sh: 1: no-such-command-here: not found\n", code: 127},
		{name: "a program without a shell", argv: []string{"printf", "%s-%s", "a b", "c"}, out: "a b-c"},
		{name: "arguments are not split", argv: []string{"/bin/sh", "-c", `echo "$#:$1:$2"`, "sh", "a  b", ""}, out: "2:a  b:\n"},
		{name: "the environment is given", text: `echo "$A-$B"`, env: map[string]string{"A": "1", "B": "x y"}, out: "1-x y\n"},
		{name: "the environment is not the host's", text: `echo "${HOSTNAME-none}${PATH:+path}${HOME:+home}${USER:+user}${LOGNAME:+log}${TERM-noterm}$E2B_SANDBOX"`, out: "nonepathhomeuserlognotermtrue\n"},
		{name: "the environment wins over the default", text: `echo $HOME $PATH`, env: map[string]string{"HOME": "/x", "PATH": "/bin:/usr/bin"}, out: "/x /bin:/usr/bin\n"},
		{name: "PATH finds the command", argv: []string{"echo", "x"}, env: map[string]string{"PATH": "/nowhere"}, err: "sh: 1: echo: not found\n", code: 127},
		{name: "files in the working directory", text: "echo a > f; echo b >> f; cat f; rm f; cat f", out: "a\nb\n", err: "cat: f: No such file or directory\n", code: 1},

		{name: "without stdin a read ends at once", text: "cat; echo $?", out: "0\n"},
		{name: "stdin is passed on", text: "cat", stdin: true, steps: []step{{write: "a\nb"}, {close: true}}, out: "a\nb"},
		{name: "stdin line by line", text: "read a; echo 1$a; read b; echo 2$b", stdin: true, steps: []step{{write: "x\n"}, {await: "1x\n", write: "y\n"}}, out: "1x\n2y\n"},
		{name: "the end of stdin", text: "read a; echo $?", stdin: true, steps: []step{{close: true}}, out: "1\n"},
		{name: "stdin without its last newline", text: "read a; echo $?$a", stdin: true, steps: []step{{write: "x"}, {close: true}}, out: "1x\n"},
		{name: "stdin in two processes", text: "read a; cat", stdin: true, steps: []step{{write: "1\n2\n"}, {close: true}}, out: "2\n"},
		{name: "a script on stdin", argv: []string{"/bin/sh"}, stdin: true, steps: []step{{write: "echo a\n"}, {await: "a\n", write: "exit 4\n"}}, out: "a\n", code: 4},
		{name: "a pipeline passes stdin on", text: "cat | tr a-z A-Z | cat", stdin: true, steps: []step{{write: "abc\n"}, {close: true}}, out: "ABC\n"},

		{name: "SIGTERM ends", argv: []string{"cat"}, stdin: true, steps: []step{{write: "r\n"}, {await: "r\n", signal: syscall.SIGTERM}}, out: "r\n", signal: syscall.SIGTERM},
		{name: "SIGKILL ends", argv: []string{"cat"}, stdin: true, steps: []step{{write: "r\n"}, {await: "r\n", signal: syscall.SIGKILL}}, out: "r\n", signal: syscall.SIGKILL},
		{name: "SIGINT ends", argv: []string{"cat"}, stdin: true, steps: []step{{write: "r\n"}, {await: "r\n", signal: syscall.SIGINT}}, out: "r\n", signal: syscall.SIGINT},
		{name: "SIGHUP ends", argv: []string{"cat"}, stdin: true, steps: []step{{write: "r\n"}, {await: "r\n", signal: syscall.SIGHUP}}, out: "r\n", signal: syscall.SIGHUP},
		{name: "SIGPIPE ends", argv: []string{"cat"}, stdin: true, steps: []step{{write: "r\n"}, {await: "r\n", signal: syscall.SIGPIPE}}, out: "r\n", signal: syscall.SIGPIPE},
		{name: "SIGUSR1 ends", argv: []string{"cat"}, stdin: true, steps: []step{{write: "r\n"}, {await: "r\n", signal: syscall.SIGUSR1}}, out: "r\n", signal: syscall.SIGUSR1},
		{name: "SIGCHLD does not", text: "echo r; read x; echo $x", stdin: true, steps: []step{{await: "r", signal: syscall.SIGCHLD}, {write: "on\n"}}, out: "r\non\n"},
		{name: "SIGWINCH does not", text: "echo r; read x; echo $x", stdin: true, steps: []step{{await: "r", signal: syscall.SIGWINCH}, {write: "on\n"}}, out: "r\non\n"},
		{name: "a process kills itself", text: "kill -9 $$", signal: syscall.SIGKILL},
		{name: "a child that is killed", text: "sh -c 'kill -TERM $$'; echo $?", out: "143\n", err: "Terminated\n"},
		{name: "a child that is killed by SIGKILL", text: "sh -c 'kill -9 $$'; echo $?", out: "137\n", err: "Killed\n"},
		{name: "kill 0 reaches the group", text: "sleep 100 & trap 'echo t' TERM; kill 0; wait $!; echo $?", out: "t\n143\n", err: "(Terminated\n)?"},

		{name: "a trap ends with its code", text: "trap 'echo t; exit 5' TERM; echo r; while :; do :; done", steps: []step{{await: "r", signal: syscall.SIGTERM}}, out: "r\nt\n", code: 5},
		{name: "a trap runs after the command", text: "trap 'echo t' USR1; cat; echo e", stdin: true,
			steps: []step{{write: "in\n"}, {await: "in\n", signal: syscall.SIGUSR1}, {write: "more\n"}, {await: "more\n", close: true}}, out: "in\nmore\nt\ne\n"},
		{name: "an ignored signal", text: "trap '' TERM; echo r; read x; echo $x", stdin: true, steps: []step{{await: "r", signal: syscall.SIGTERM}, {write: "on\n"}}, out: "r\non\n"},
		{name: "a child inherits ignored signals", text: "trap '' TERM; sh -c 'kill $$; echo alive'", out: "alive\n"},
		{name: "a child does not inherit a trap", text: "trap 'echo t' TERM; sh -c 'kill $$; echo no'; echo $?", out: "143\n", err: "Terminated\n"},
		{name: "a trap at the exit", text: "trap 'echo bye' EXIT; echo a; exit 6", out: "a\nbye\n", code: 6},
		{name: "a trap interrupts wait", text: "trap 'n=t' USR1; " + until("f") + " & p=$!; (while [ ! -e f ]; do kill -USR1 $$; sleep 0.02; done) & wait $p; s=$?; trap '' USR1; : >f; wait; echo $n $s", out: "t 138\n"},

		{name: "a child outlives the process and holds the output", text: "(" + orphaned + "; echo late) & echo early; exit 3", out: "early\nlate\n", code: 3},
		{name: "a child outlives a signal", text: "(" + orphaned + "; echo late) & echo r; read x", stdin: true, steps: []step{{await: "r", signal: syscall.SIGTERM}}, out: "r\nlate\n", signal: syscall.SIGTERM},
		{name: "the process has ended while a child holds the output", text: "(" + orphaned + "; echo late) & exit 0", steps: []step{{exited: true}}, out: "late\n"},
		{name: "wait waits for all", text: "for i in 1 2 3; do sleep 0.0$i & done; wait; echo done", out: "done\n"},
		{name: "wait returns the status", text: "(exit 7) & wait $!; echo $?", out: "7\n"},
		{name: "a background child has no stdin", text: "cat & wait; echo $?", stdin: true, steps: []step{{await: "0\n", close: true}}, out: "0\n"},
		{name: "a child without the output does not hold it", text: "sleep 100 >/dev/null 2>&1 & echo $?", out: "0\n"},
		{name: "a child killed by its parent", text: "sleep 100 & kill $!; wait $!; echo $?", out: "143\n", err: "(Terminated\n)?"},

		{name: "nothing is a terminal", text: "test -t 0 || test -t 1 || test -t 2 || echo none; tty; stty", out: "none\nnot a tty\n", err: "stty: 'standard input': Inappropriate ioctl for device\n", code: 1},
		{name: "there is no terminal to open", text: "echo x >/dev/tty", err: "/bin/sh: 1: cannot create /dev/tty: No such device or address\n", code: 2},
		{name: "bash is there", argv: []string{"/bin/bash", "-l", "-c", `[[ ab == a* ]] && echo $((1+2))`}, out: "3\n"},
	}
}
