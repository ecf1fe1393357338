package virtual

func allScripts() []script {
	var all []script
	for _, part := range [][]script{
		basicScripts(), controlScripts(), expansionScripts(), redirectScripts(), printfScripts(), trapScripts(), jobScripts(), errorScripts(), utilityScripts(), linkScripts(), fileScripts(),
	} {
		all = append(all, part...)
	}
	return all
}

func basicScripts() []script {
	return []script{
		{name: "echo prints a line", text: "echo hi", stdout: "hi\n"},
		{name: "echo interprets escapes", text: `echo 'a\tb\0101\\'`, stdout: "a\tbA\\\n"},
		{name: "echo takes -e as a word", text: `echo -e x`, stdout: "-e x\n"},
		{name: "echo -n prints no newline", text: `echo -n x; echo "a\cb"; echo c`, stdout: "xac\n"},
		{name: "the program echo interprets nothing", text: `/bin/echo 'a\tb'`, stdout: "a\\tb\n"},
		{name: "exit sets the code", text: "exit 7", code: 7},
		{name: "exit keeps the last status", text: "false; exit", code: 1},
		{name: "the last status is the code", text: "true; false", code: 1},
		{name: "positional arguments by set", text: `set -- a "b c"; echo $# $2 "$@"; shift; echo $1`, stdout: "2 b c a b c\nb c\n"},
		{name: "a nested shell has $0 and arguments", text: `sh -c 'echo $0 $1 $#' zero one`, stdout: "zero one 1\n"},
		{name: "options can be combined", text: `sh -ec 'false; echo no'; echo $?`, stdout: "1\n"},
		{name: "double dash ends options", text: `sh -c -- 'echo $1' x y`, stdout: "y\n"},
		{name: "a script comes from stdin", text: `printf 'echo a\necho b\n' | sh`, stdout: "a\nb\n"},
		{name: "a script on stdin has its arguments", text: `echo 'echo $1' | sh -s x`, stdout: "x\n"},
		{name: "a script comes from a file", text: `echo 'echo $0 $1' > s; sh ./s x`, stdout: "./s x\n"},
		{name: "a file with #! runs", text: `printf '#!/bin/sh\necho run $1\n' > s; chmod +x s 2>/dev/null; ./s x`, stdout: "run x\n"},
		{name: "assignments before a command are its own", text: `x=1; x=2 sh -c 'echo $x'; echo $x`, stdout: "2\n1\n"},
		{name: "export reaches children", text: `a=1; export a b=2; sh -c 'echo $a$b'`, stdout: "12\n"},
		{name: "assignments before a special builtin stay", text: `x=1 :; echo $x; y=2 true; echo $y.`, stdout: "1\n.\n"},
		{name: "unset removes", text: `x=1; unset x; echo ${x-gone}`, stdout: "gone\n"},
		{name: "eval runs text", text: `x='echo $y'; y=1; eval $x`, stdout: "1\n"},
		{name: "a sourced file runs here", text: `echo 'v=5; return 3' > s; . ./s; echo $? $v`, stdout: "3 5\n"},
		{name: "exec replaces the shell", text: `exec echo hi; echo no`, stdout: "hi\n"},
		{name: "exec of nothing keeps redirections", text: `exec 3>f; echo a >&3; exec 3>&-; cat f`, stdout: "a\n"},
		{name: "cd and pwd", text: `cd /; pwd; cd tmp; pwd; cd ..; pwd; cd -`, stdout: "/\n/tmp\n/\n/tmp\n"},
		{name: "comments and continued lines", text: "echo a \\\n b # c\n# d\necho e", stdout: "a b\ne\n"},
		{name: "command and type", text: `command -v cd; command echo x; command -v nope; echo $?`, stdout: "cd\nx\n127\n"},
		{name: "umask is kept", text: `umask; umask 077; umask`, stdout: "0022\n0077\n"},
		{name: "xtrace", text: `set -x; x=1; echo a`, stdout: "a\n", stderr: `^\+ x=1\n\+ echo a\n$`},
		{name: "set -e ends at a failure", text: `set -e; false || true; if false; then :; fi; ! true; echo a; false; echo b`, stdout: "a\n", code: 1},
		{name: "set -u ends at an unset variable", text: `set -u; echo $nope; echo no`, stderr: "nope: parameter not set", code: 2},
		{name: "set -f stops globbing", text: `set -f; echo *`, stdout: "*\n"},
		{name: "readonly protects", text: `readonly x=1; x=2; echo no`, stderr: "x: is read only", code: 2},
	}
}

func controlScripts() []script {
	return []script{
		{name: "if, elif, else", text: `for i in 1 2 3; do if [ $i = 1 ]; then echo a; elif [ $i = 2 ]; then echo b; else echo c; fi; done`, stdout: "a\nb\nc\n"},
		{name: "if without a match is 0", text: `if false; then :; fi; echo $?`, stdout: "0\n"},
		{name: "while with break and continue", text: `i=0; while :; do i=$((i+1)); [ $i = 2 ] && continue; [ $i = 4 ] && break; echo $i; done`, stdout: "1\n3\n"},
		{name: "until", text: `i=0; until [ $i -ge 2 ]; do echo $i; i=$((i+1)); done`, stdout: "0\n1\n"},
		{name: "break 2 leaves both loops", text: `for i in 1 2; do for j in 1 2; do break 2; done; echo no; done; echo $i$j`, stdout: "11\n"},
		{name: "continue 2 continues the outer loop", text: `for i in 1 2; do for j in 1 2; do continue 2; done; echo no; done; echo $i$j`, stdout: "21\n"},
		{name: "for over arguments", text: `set -- x y; for a; do echo $a; done`, stdout: "x\ny\n"},
		{name: "case", text: `for w in abc b '*' z; do case $w in a*|q) echo 1;; [bc]) echo 2;; '*') echo 3;; *) echo 4;; esac; done`, stdout: "1\n2\n3\n4\n"},
		{name: "and, or, not", text: `true && echo a || echo b; false && echo a || echo b; ! false; echo $?`, stdout: "a\nb\n0\n"},
		{name: "functions return and have arguments", text: `f() { echo $1 $#; return 3; echo no; }; f x y; echo $? $#`, stdout: "x 2\n3 0\n"},
		{name: "local variables", text: `x=1; f() { local x=2; echo $x; }; f; echo $x`, stdout: "2\n1\n"},
		{name: "recursion has a limit", text: `f() { f; }; f`, stderr: "recursion", code: 2},
		{name: "a subshell changes nothing outside", text: `x=1; (x=2; cd /; echo $x; exit 3); echo $? $x`, stdout: "2\n3 1\n"},
		{name: "braces group", text: `{ echo a; echo b; } | cat; { false; }; echo $?`, stdout: "a\nb\n1\n"},
		{name: "return outside ends the script", text: `return 3; echo no`, code: 3},
		{name: "break outside does nothing", text: `break; echo yes`, stdout: "yes\n"},
		{name: "nested functions and loops", text: `f() { for i in 1 2 3; do [ $i = 2 ] && return $i; done; }; f; echo $?`, stdout: "2\n"},
	}
}

func expansionScripts() []script {
	return []script{
		{name: "defaults", text: `echo ${x:-d} ${x-d}; x=; echo ${x:-d} ${x-d}. ${x:+s}. ${x+s}; : ${y:=v}; echo $y`, stdout: "d d\nd . . s\nv\n"},
		{name: "an error message", text: `echo ${x?bad}; echo no`, stderr: "x: bad", code: 2},
		{name: "length and trimming", text: `x=path/to/file.txt; echo ${#x} ${x##*/} ${x%.*} ${x#*/} ${x%%/*}`, stdout: "16 file.txt path/to/file to/file.txt path\n"},
		{name: "arithmetic", text: `x=5; echo $((x*2+1)) $((x%3)) $((1<<4)) $((x>3)) $(( (1+2)*3 )) $((-x)) $((010)) $((0x10))`, stdout: "11 2 16 1 9 -5 8 16\n"},
		{name: "arithmetic assigns", text: `i=1; : $((i+=2)); echo $i`, stdout: "3\n"},
		{name: "division by zero ends the shell", text: `echo $((1/0)); echo no`, stderr: "division by zero", code: 2},
		{name: "command substitution trims newlines", text: `x=$(printf 'a\n\n'); echo "[$x]" "$(echo b)" ` + "`echo c`", stdout: "[a] b c\n"},
		{name: "status of a substitution", text: `x=$(exit 3); echo $?; echo $(false); echo $?`, stdout: "3\n\n0\n"},
		{name: "a substitution waits for its children", text: `x=$(` + until("f") + ` && echo late & echo early; : >f); echo $x`, stdout: "early late\n"},
		{name: "quoting", text: `a='x  y'; echo $a "$a" '$a' \$a "\$a"`, stdout: "x y x  y $a $a $a\n"},
		{name: "IFS splits", text: `IFS=:; x=a:b:c; set -- $x; echo $#; echo "$*"`, stdout: "3\na:b:c\n"},
		{name: "tilde", text: `echo ~ ~/x; HOME=/h; echo ~`, stdout: "/root /root/x\n/h\n"},
		{name: "globbing sees the files", text: `touch b.txt a.txt c.log; echo *.txt [b-c]*; echo none*`, stdout: "a.txt b.txt b.txt c.log\nnone*\n"},
		{name: "braces are literal", text: `echo {a,b} {1..3}`, stdout: "{a,b} {1..3}\n"},
		{name: "ten arguments", text: `set -- 1 2 3 4 5 6 7 8 9 X; echo ${10} $#`, stdout: "X 10\n"},
		{name: "quoted at-sign keeps words", text: `set -- 'a b' c; for x in "$@"; do echo "[$x]"; done`, stdout: "[a b]\n[c]\n"},
	}
}

func redirectScripts() []script {
	return []script{
		{name: "out, append, in", text: `echo a > f; echo b >> f; cat < f; wc -l < f`, stdout: "a\nb\n2\n"},
		{name: "stderr into stdout", text: `{ echo o; echo e >&2; } 2>&1 | cat`, stdout: "o\ne\n"},
		{name: "order of redirections", text: `{ echo e >&2; } 2>&1 >f; echo .; cat f`, stdout: "e\n.\n"},
		{name: "a here-document expands", text: "x=1; cat <<E\n$x $(echo 2) \\$x\nE", stdout: "1 2 $x\n"},
		{name: "a quoted here-document does not", text: "cat <<'E'\n$x `y`\nE", stdout: "$x `y`\n"},
		{name: "a here-document strips tabs", text: "cat <<-E\n\ta\n\t\tb\n\tE\necho c", stdout: "a\nb\nc\n"},
		{name: "read takes one line each", text: `printf 'a b c\nd\n' | { read x y; echo "$x|$y"; read z; echo $z; read z; echo $?; }`, stdout: "a|b c\nd\n1\n"},
		{name: "read from a file", text: `printf '1\n2\n' > f; while read n; do echo n$n; done < f`, stdout: "n1\nn2\n"},
		{name: "read handles backslashes", text: `printf 'a\\\nb\nc\\d\n' | { read x; read -r y; echo $x; printf '%s\n' "$y"; }`, stdout: "ab\nc\\d\n"},
		{name: "read from stdin", text: `read x; echo got $x; cat`, stdin: "one\ntwo\n", stdout: "got one\ntwo\n"},
		{name: "a closed descriptor cannot be used", text: `echo x >&7; echo $?`, stdout: "2\n", stderr: "7: Bad file descriptor"},
		{name: "a missing directory", text: `echo hi > /nonexist/f; echo $?`, stdout: "2\n", stderr: "cannot create /nonexist/f: Directory nonexistent"},
		{name: "a missing file", text: `cat < /nonexist/f; echo $?`, stdout: "2\n", stderr: "cannot open /nonexist/f: No such file"},
		{name: "a special builtin dies of it", text: `: > /nonexist/f; echo no`, stderr: "cannot create", code: 2},
		{name: "dev null", text: `echo x > /dev/null; cat /dev/null; wc -c < /dev/null`, stdout: "0\n"},
		{name: "dev stderr", text: `echo x > /dev/stderr`, stderr: "^x\n$"},
		{name: "descriptors are inherited", text: `exec 4>f; (echo a >&4); sh -c 'echo b >&4'; cat f`, stdout: "a\nb\n"},
		{name: "a pipeline's status is the last one's", text: `false | true; echo $?; true | false; echo $?`, stdout: "0\n1\n"},
		{name: "a long pipeline", text: `seq 1 1000 | cat | tr 0-9 a-j | head -3 | tail -1`, stdout: "d\n"},
		{name: "variables set in a pipeline are lost", text: `x=1; echo 2 | read x; echo $x`, stdout: "1\n"},
		{name: "yes ends silently by SIGPIPE", text: `yes | head -1; echo $?`, stdout: "y\n0\n"},
		{name: "descriptor two at a compound", text: `for i in 1 2; do echo $i; nope; done 2>/dev/null`, stdout: "1\n2\n", code: 127},
	}
}

func printfScripts() []script {
	return []script{
		{name: "directives", text: `printf '%s %d %x %o %c|' a 42 255 8 xyz; printf '%5.2f|%-4s|%05d|%%\n' 3.14159 ab 42`, stdout: "a 42 ff 10 x| 3.14|ab  |00042|%\n"},
		{name: "arguments are recycled", text: `printf '%s-%s\n' a b c`, stdout: "a-b\nc-\n"},
		{name: "binary bytes", text: `printf '\000\377\1a'`, stdout: "\x00\xff\x01a"},
		{name: "hexadecimal escapes", text: `printf '\x41\x4a.\xff'`, stdout: "AJ.\xff", ours: true},
		{name: "%b interprets and stops", text: `printf '%b|' 'a\tb' '\0101'; printf '%b' 'x\cy' z`, stdout: "a\tb|A|x"},
		{name: "a bad number", text: `printf '%d\n' abc; echo $?`, stdout: "0\n1\n", stderr: "abc: expected numeric value"},
		{name: "half a number", text: `printf '%d\n' 12x; echo $?`, stdout: "12\n1\n", stderr: "12x: not completely converted"},
		{name: "character values", text: `printf '%d %d\n' "'A" 0x1f`, stdout: "65 31\n"},
		{name: "width from an argument", text: `printf '%*d|%.*s\n' 5 42 2 abc`, stdout: "   42|ab\n"},
		{name: "an unknown directive", text: `printf '%q' x; echo $?`, stdout: "2\n", stderr: "invalid directive"},
		{name: "no arguments", text: `printf 'a%sb%dc\n'`, stdout: "ab0c\n"},
	}
}
