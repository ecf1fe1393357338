package virtual

func linkScripts() []script {
	return []script{
		{name: "a command reads through links", text: `mkdir d; echo x >d/f; ln -s d way; ln -s way/f l; cat l way/f; cd way; cat f; cat ../l; pwd -P >/dev/null`, stdout: "x\nx\nx\nx\n"},
		{name: "a command writes through a dangling link", text: `ln -s f l; echo x >l; cat f; test -L l && test ! -L f && echo ok`, stdout: "x\nok\n"},
		{name: "a loop of links", text: `ln -s a b; ln -s b a; cat a; test -e a || test -h a && echo link`, stdout: "link\n", stderr: "cat: a: Too many levels of symbolic links", code: 0},
		{name: ".. leaves the target of a link", text: `mkdir -p d/e x; echo 1 >d/f; ln -s ../d/e x/l; cat x/l/../f; cat x/f`, stdout: "1\n", stderr: "cat: x/f: No such file", code: 1},
		{name: "readlink", text: `ln -s no/where l; readlink l; readlink .; echo $?; ln -s l m; readlink m; echo $(readlink -n m)`, stdout: "no/where\n1\nl\nl\n"},
		{name: "readlink -f", text: `mkdir d; ln -s d l; test "$(readlink -f l/new)" = "$(readlink -f .)/d/new" && echo ok; readlink -f l/no/x; echo $?; readlink -e l/no; echo $?`, stdout: "ok\n1\n1\n"},
		{name: "realpath", text: `mkdir d; ln -s d l; test "$(realpath l/../d)" = "$(readlink -f d)" && echo ok; realpath no/x`, stdout: "ok\n", stderr: "realpath: no/x: No such file or directory", code: 1},
		{name: "a hard link is the same file", text: `echo 1 >a; ln a b; echo 2 >>b; cat a; rm a; cat b; test a -ef b || ln b c; test b -ef c && stat -c %h c`, stdout: "1\n2\n1\n2\n2\n"},
		{name: "ln refuses an existing name", text: `: >a; : >b; ln -s a b; ln -sf a b; readlink b; mkdir d; ln -s a d; readlink d/a; ln -s ../b c; ln -sfn x c; readlink c`, stdout: "a\na\nx\n", stderr: "File exists"},
		{name: "a directory has no hard link", text: `mkdir d; ln d e 2>/dev/null; echo $?; ls`, stdout: "1\nd\n"},
		{name: "rm and mv take the link", text: `echo x >f; mkdir d; ln -s f l; ln -s d m; mv l n; readlink n; rm n; rm m; ls`, stdout: "f\nd\nf\n"},
		{name: "ls lists what a link leads to", text: `mkdir d; : >d/f; ln -s d l; ln -s no x; ls l; ls -d l x`, stdout: "f\nl\nx\n"},
		{name: "ls -l shows the link", text: `ln -s no l; ls -l l | tail -c 8; ls -l l | head -c 10`, stdout: "l -> no\nlrwxrwxrwx"},
		{name: "a pattern goes through links", text: `mkdir d; : >d/f; ln -s d l; ln -s no x; echo */f *`, stdout: "d/f l/f d l x\n"},
		{name: "cd through a link", text: `mkdir -p d/e; ln -s d/e l; cd l; cd ..; ls`, stdout: "d\nl\n"},
		{name: "a program through a link", text: `ln -s /bin/echo e; ./e hi; ln -s loop loop; ./loop`, stdout: "hi\n", stderr: "loop: (not found|Too many levels)", code: 127, ours: true},
	}
}

func fileScripts() []script {
	return []script{
		{name: "chmod by number", text: `: >f; chmod 604 f; stat -c %a f; chmod 4755 f; stat -c '%a %A' f; mkdir d; chmod 1777 d; stat -c %A d`, stdout: "604\n4755 -rwsr-xr-x\ndrwxrwxrwt\n"},
		{name: "chmod by letters", text: `: >f; chmod u=rwx,go= f; stat -c %a f; chmod a+r,u-w f; stat -c %a f; chmod go+wx-r f; stat -c %a f; chmod +X f; stat -c %a f; chmod u+s f; stat -c %a f`, stdout: "700\n544\n533\n533\n4533\n"},
		{name: "chmod -R leaves links alone", text: `mkdir d; : >d/f; : >x; chmod 644 x; ln -s ../x d/l; chmod -R 700 d; stat -c %a d d/f x`, stdout: "700\n700\n644\n"},
		{name: "chmod refuses nonsense", text: `: >f; chmod u~x f 2>/dev/null; echo $?; chmod 644 no`, stdout: "1\n", stderr: "No such file or directory", code: 1},
		{name: "stat", text: `printf abc >f; ln -s f l; stat -c '%n %s %F %U' f l; stat -L -c %F l; stat -c %F . /dev/null; : >e; stat -c '%F%%' e; stat -c %s no`, stdout: "f 3 regular file root\nl 1 symbolic link root\nregular file\ndirectory\ncharacter special file\nregular empty file%\n", stderr: "No such file", code: 1},
		{name: "mktemp", text: `f=$(mktemp); test -f "$f" && stat -c %a "$f"; d=$(mktemp -d); test -d "$d" && stat -c %a "$d"; rm -r "$f" "$d"; f=$(mktemp -p . a.XXXXXX); test -f "$f" && ls | wc -l; echo ${#f}`, stdout: "600\n700\n1\n10\n"},
		{name: "mktemp wants room for a name", text: `mktemp a.XX 2>/dev/null; echo $?`, stdout: "1\n"},
		{name: "base64", text: `printf 'hello\377' | base64; printf 'aGVsbG//\n' | base64 -d | tail -c 3 | wc -c; seq 30 | base64 -w 60 | head -n 1; seq 30 | base64 -w 0 | wc -l; seq 1000 | base64 | base64 -d | wc -c`, stdout: "aGVsbG//\n3\nMQoyCjMKNAo1CjYKNwo4CjkKMTAKMTEKMTIKMTMKMTQKMTUKMTYKMTcKMTgK\n0\n3893\n"},
		{name: "base64 of 57 bytes is one line", text: `head -c 57 /dev/zero | base64 | wc; echo '!' | base64 -d`, stdout: "      1       1      77\n", stderr: "invalid input", code: 1},
		{name: "digests", text: `printf abc >f; md5sum f; sha256sum <f`, stdout: "900150983cd24fb0d6963f7d28e17f72  f\nba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  -\n"},
		{name: "find", text: `mkdir -p d/a; : >d/a/x.txt; : >d/y; ln -s y d/l; find d -name '*.txt'; find d -type l; find d -mindepth 1 -maxdepth 1 -type d; cd d; find . -type f -name y; find no`, stdout: "d/a/x.txt\nd/l\nd/a\n./y\n", stderr: "No such file", code: 1},
		{name: "cp", text: `echo x >a; chmod 750 a; cp a b; cat b; stat -c %a b; mkdir d; cp a b d; ls d; cp d e 2>/dev/null; echo $?; ln -s a d/l; cp -r d e; ls e; readlink e/l; cp a a`, stdout: "x\n750\na\nb\n1\na\nb\nl\na\n", stderr: "same file", code: 1},
		{name: "cp -r not into itself", text: `mkdir d; cp -r d d/e 2>/dev/null; echo $?`, stdout: "1\n"},
		{name: "rmdir", text: `mkdir -p d/e; rmdir d; echo $?; rmdir d/e d; ls`, stdout: "1\n", stderr: "rmdir: .*not empty"},
		{name: "basename and dirname", text: `basename /a/b.c .c; basename a/; dirname /a/b/ a /a`, stdout: "b\na\n/a\n.\n/\n"},
		{name: "tput", text: `TERM=xterm; export TERM; tput cols; tput lines; TERM=; tput cols`, stdout: "80\n24\n", stderr: "TERM", code: 2},
		{name: "sudo and who", text: `sudo -n X=1 sh -c 'echo $X; whoami'; sudo -u user id -un; id -u; sudo`, stdout: "1\nroot\nroot\n0\n", stderr: "required", code: 1, ours: true},
		{name: "test of bits", text: `: >f; chmod 7000 f; test -u f && test -g f && test -k f && echo ok`, stdout: "ok\n"},
		{name: "touch keeps the content", text: `echo x >f; touch f g; cat f; test -f g && echo new`, stdout: "x\nnew\n"},
	}
}
