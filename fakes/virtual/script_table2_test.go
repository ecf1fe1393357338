package virtual

// until is a command that waits for a file.
func until(file string) string { return "while [ ! -e " + file + " ]; do sleep 0.01; done" }

func trapScripts() []script {
	return []script{
		{name: "EXIT runs at the end", text: `trap 'echo bye' EXIT; echo hi`, stdout: "hi\nbye\n"},
		{name: "EXIT runs at exit and keeps the code", text: `trap 'echo bye' EXIT; exit 5`, stdout: "bye\n", code: 5},
		{name: "exit in EXIT sets the code", text: `trap 'exit 3' EXIT; exit 5`, code: 3},
		{name: "bare exit in EXIT keeps the code", text: `trap 'false; exit' EXIT; exit 5`, code: 5},
		{name: "EXIT by number", text: `trap 'echo z' 0`, stdout: "z\n"},
		{name: "a trapped signal runs its action", text: `trap 'echo t' TERM; kill -TERM $$; echo after`, stdout: "t\nafter\n"},
		{name: "the action keeps the status", text: `trap 'false' USR1; kill -USR1 $$; echo $?`, stdout: "0\n"},
		{name: "an ignored signal does nothing", text: `trap '' TERM; kill $$; echo alive`, stdout: "alive\n"},
		{name: "ignored signals are inherited", text: `trap '' TERM; sh -c 'kill $$; echo alive'`, stdout: "alive\n"},
		{name: "traps are not inherited", text: `trap 'echo t' TERM; sh -c 'kill $$; echo no'; echo $?`, stdout: "143\n", stderr: "Terminated"},
		{name: "reset brings the default back", text: `trap 'echo t' TERM; trap - TERM; kill $$; echo no`, signal: sigTERM},
		{name: "trap lists", text: `trap 'echo "a"' TERM; trap '' HUP; trap`, stdout: "trap -- '' HUP\ntrap -- 'echo \"a\"' TERM\n"},
		{name: "EXIT does not run on a signal", text: `trap 'echo bye' EXIT; kill -TERM $$; echo no`, signal: sigTERM},
		{name: "a trap can exit", text: `trap 'echo t; exit 9' INT; kill -INT $$; echo no`, stdout: "t\n", code: 9},
		{name: "a subshell has no traps", text: `trap 'echo bye' EXIT; (echo in); echo out`, stdout: "in\nout\nbye\n"},
		{name: "a subshell has its own EXIT", text: `(trap 'echo sub' EXIT; echo in); echo out`, stdout: "in\nsub\nout\n"},
		{name: "names with and without SIG, numbers", text: `trap 'echo t' TERM 10; kill -15 $$; kill -s USR1 $$; kill -10 $$`, stdout: "t\nt\nt\n"},
		{name: "a bad signal name", text: `trap foo BAR; echo $?`, stdout: "1\n", stderr: "bad trap"},
		{name: "set -e runs EXIT", text: `set -e; trap 'echo bye' EXIT; false; echo no`, stdout: "bye\n", code: 1},
		// Scripts wait for files, because a sleep depends on the speed of the machine.
		{name: "a trap is deferred while a command runs", text: `trap 'echo t' TERM; (` + until("g") + `; kill $$; : >f) & sh -c ': >g; ` + until("f") + `; echo ran'; echo over; wait`, stdout: "ran\nt\nover\n"},
		// Signals repeat until one reaches the shell during its wait.
		{name: "wait is interrupted by a trapped signal", text: `trap 'n=t' TERM; ` + until("f") + ` & p=$!; (while [ ! -e f ]; do kill $$; sleep 0.02; done) & k=$!; wait $p; s=$?; trap '' TERM; : >f; wait; echo $n $s`, stdout: "t 143\n"},
		{name: "a trap is deferred while a pipeline runs", text: `trap 'echo t' USR1; (` + until("g") + `; kill -USR1 $$; : >f) & ` + until("f") + ` | { : >g; cat; echo ran; }; echo done; wait`, stdout: "ran\nt\ndone\n"},
		{name: "exec drops traps", text: `trap 'echo t' TERM; exec sh -c 'kill $$; echo no'`, signal: sigTERM},
	}
}

func jobScripts() []script {
	return []script{
		{name: "wait for all", text: `(sleep 0.1; echo a) & wait; echo b`, stdout: "a\nb\n"},
		{name: "wait gives the status", text: `(exit 3) & wait $!; echo $?`, stdout: "3\n"},
		{name: "wait for all is 0", text: `false & wait; echo $?`, stdout: "0\n"},
		{name: "wait for an unrelated pid", text: `wait 999999; echo $?`, stdout: "127\n"},
		{name: "a background status is 0", text: `false & echo $?`, stdout: "0\n"},
		// dash prints nothing if it has reaped the child before the wait.
		{name: "kill a child", text: `sleep 9 & kill $!; wait $!; echo $?`, stdout: "143\n", stderr: "^(Terminated\n)?$"},
		{name: "kill -9 a child", text: `sleep 9 & kill -9 $!; wait $! 2>/dev/null; echo $?`, stdout: "137\n"},
		{name: "kill a background pipeline by its last pid", text: `sleep 0.2 | sleep 9 & kill $!; wait $! 2>/dev/null; echo $?`, stdout: "143\n"},
		{name: "kill -0 asks", text: `sleep 9 & kill -0 $! && echo alive; kill $!; wait 2>/dev/null; kill -0 $! 2>/dev/null || echo gone`, stdout: "alive\ngone\n"},
		{name: "kill of a missing pid", text: `kill 3999999; echo $?`, stdout: "1\n", stderr: "No such process"},
		{name: "kill oneself", text: `kill -9 $$; echo no`, signal: sigKILL},
		{name: "kill oneself in a subshell", text: `(kill -9 $$); echo no`, signal: sigKILL},
		{name: "a child killed has 128+n", text: `sh -c 'kill -9 $$'; echo $?`, stdout: "137\n", stderr: "^Killed\n$"},
		{name: "$$ is the main shell's", text: `a=$$; b=$(echo $$); [ $a = $b ] && echo same; [ $(sh -c 'echo $$') = $a ] || echo own`, stdout: "same\nown\n"},
		{name: "a background reader has no stdin", text: `cat & wait; echo end`, stdin: "x\n", stdout: "end\n"},
		{name: "background ignores SIGINT", text: `sh -c 'kill -INT $$; echo alive' & wait`, stdout: "alive\n"},
		{name: "kill -l names", text: `kill -l 9; kill -l 143`, stdout: "KILL\nTERM\n"},
		{name: "jobs run at the same time", text: `for i in 3 1 2; do (` + until("f$((i-1))") + `; echo $i; : >f$i) & done; : >f0; wait`, stdout: "1\n2\n3\n"},
		{name: "$! of the last", text: `sleep 0 & a=$!; sleep 0 & [ $a != $! ] && echo two; wait $a $!; echo $?`, stdout: "two\n0\n"},
	}
}

func errorScripts() []script {
	return []script{
		{name: "an unknown command", text: `nope; echo $?`, stdout: "127\n", stderr: "^/bin/sh: 1: nope: not found\n$"},
		{name: "an unknown command is the code", text: `nope`, stderr: "/bin/sh: 1: nope: not found", code: 127},
		{name: "an unknown path", text: `./nope a`, stderr: "./nope: not found", code: 127},
		{name: "a directory", text: `/tmp; echo $?`, stdout: "126\n", stderr: "/tmp: Permission denied"},
		{name: "not executable", text: `/etc/passwd; echo $?`, stdout: "126\n", stderr: "Permission denied"},
		{name: "an error names its line", text: "\n\nnope", stderr: "^/bin/sh: 3: nope: not found", code: 127},
		{name: "a syntax error", text: `if true; then`, stderr: "Syntax error", code: 2},
		{name: "lines before a syntax error run", text: "echo a\n)", stdout: "a\n", stderr: "2: Syntax error", code: 2},
		{name: "a syntax error in eval", text: `eval '('; echo no`, stderr: "Syntax error", code: 2},
		{name: "exec of an unknown command", text: `exec nope; echo no`, stderr: "exec: nope: not found", code: 127},
		{name: "cd to nowhere", text: `cd /nonexist; echo $?`, stdout: "2\n", stderr: "can't cd to /nonexist"},
		{name: "shift too far", text: `shift; echo no`, stderr: "can't shift that many", code: 2},
		{name: "a bad exit code", text: `exit abc`, stderr: "Illegal number: abc", code: 2},
		{name: "read without a name", text: `read; echo $?`, stdout: "2\n", stderr: "arg count"},
		{name: "test complains", text: `test 1 -eq a; echo $?; [ 1 = 1; echo $?`, stdout: "2\n2\n", stderr: "Illegal number: a"},
		{name: "local outside a function", text: `local x; echo no`, stderr: "not in a function", code: 2},
		{name: "an empty script", text: ``},
		{name: "an unknown option", text: `set -Q; echo no`, stderr: "Illegal option -Q", code: 2},
		{name: "a missing sourced file", text: `. /nonexist; echo no`, stderr: "cannot open /nonexist", code: 2},
	}
}

func utilityScripts() []script {
	return []script{
		{name: "seq", text: `seq 3; seq 2 4; seq 1 2 5; seq 3 -1 1; seq 3 1; seq 0.5 0.5 1.5; seq -s, 3; seq -w 8 10`, stdout: "1\n2\n3\n2\n3\n4\n1\n3\n5\n3\n2\n1\n0.5\n1.0\n1.5\n1,2,3\n08\n09\n10\n"},
		{name: "head", text: `seq 20 | head | wc -l; seq 5 | head -n 2; seq 5 | head -2; printf abcdef | head -c 3`, stdout: "10\n1\n2\n1\n2\nabc"},
		{name: "tail", text: `seq 20 | tail | wc -l; seq 5 | tail -n 2; seq 5 | tail -1; printf abcdef | tail -c 3; seq 5 | tail -n +4`, stdout: "10\n4\n5\n5\ndef4\n5\n"},
		{name: "tr", text: `echo hello | tr a-y b-z; echo HeLLo | tr '[:upper:]' '[:lower:]'; echo aabbcc | tr -s a-c; echo a1b2 | tr -d 0-9; echo abc | tr -cd 'ac\n'; echo 'a b' | tr ' ' '\n'`, stdout: "ifmmp\nhello\nabc\nab\nac\na\nb\n"},
		{name: "wc", text: `printf 'a b\nc\n' | wc; printf 'a b\nc\n' | wc -w; printf 'abc' > f; wc -c f; wc f`, stdout: "      2       3       6\n3\n3 f\n0 1 3 f\n"},
		{name: "cat joins files and stdin", text: `echo a > f; echo b > g; echo c | cat f - g; cat nope 2>/dev/null; echo $?`, stdout: "a\nc\nb\n1\n"},
		{name: "env", text: `env -i A=1 B=2 env; env X=y sh -c 'echo $X'; env nope 2>/dev/null; echo $?`, stdout: "A=1\nB=2\ny\n127\n"},
		{name: "true, false, by path", text: `/bin/true; echo $?; /usr/bin/false; echo $?`, stdout: "0\n1\n"},
		{name: "test of strings and numbers", text: `[ a = a ] && [ a != b ] && [ -n x ] && [ -z "" ] && [ 2 -gt 1 ] && [ ! 1 -gt 2 ] && test 1 -le 1 -a x = x && echo ok`, stdout: "ok\n"},
		{name: "test with or and parentheses", text: `[ \( a = b \) -o b = b ] && echo ok; [ "" ] || echo empty; [ ] || echo none`, stdout: "ok\nempty\nnone\n"},
		{name: "test of files", text: `echo x > f; mkdir d; [ -f f ] && [ -d d ] && [ -e f ] && [ -s f ] && [ ! -e g ] && [ -r f ] && [ ! -x f ] && echo ok`, stdout: "ok\n"},
		{name: "files", text: `mkdir -p a/b; touch a/b/c; mv a/b/c a/d; ls a; rm a/d; rm -r a; ls; rm nope 2>/dev/null; echo $?; rm -f nope; echo $?`, stdout: "b\nd\n1\n0\n"},
		{name: "sleep wants a number", text: `sleep x; echo $?; sleep; echo $?; sleep 0.01s; echo $?`, stdout: "1\n1\n0\n", stderr: "invalid time interval"},
		{name: "yes repeats words", text: `yes a b | head -2`, stdout: "a b\na b\n"},
		{name: "head closes early", text: `seq 1 1000000 | head -1; echo $?`, stdout: "1\n0\n"},
		{name: "pwd by path", text: `cd /; /bin/pwd`, stdout: "/\n"},
		{name: "dev zero", text: `head -c 5 /dev/zero | wc -c`, stdout: "5\n"},
		{name: "kill by path", text: `sleep 9 & /bin/kill -9 $!; wait $! 2>/dev/null; echo $?`, stdout: "137\n"},
	}
}
