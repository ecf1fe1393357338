package virtual

func linkScripts() []script {
	return []script{
		{name: "a command reads through links", text: `mkdir d; echo x >d/f; ln -s d way; ln -s way/f l; cat l way/f; cd way; cat f; cat ../l; pwd -P >/dev/null`, stdout: "x\nx\nx\nx\n"},
		{name: "a command writes through a dangling link", text: `ln -s f l; echo x >l; cat f; test -L l && test ! -L f && echo ok`, stdout: "x\nok\n"},
		{name: "a loop of links", text: `ln -s a b; ln -s b a; cat a; test -e a || test -h a && echo link`, stdout: "link\n", stderr: "cat: a: Too many levels of symbolic links", code: 0},
		{name: ".. leaves the target of a link", text: `mkdir -p d/e x; echo 1 >d/f; ln -s ../d/e x/l; cat x/l/../f; cat x/f`, stdout: "1\n", stderr: "cat: x/f: No such file", code: 1},
		{name: "a hard link is the same file", text: `echo 1 >a; ln a b; echo 2 >>b; cat a; rm a; cat b; ln b c; echo 3 >c; cat b`, stdout: "1\n2\n1\n2\n3\n"},
		{name: "ln refuses an existing name", text: `: >a; : >b; ln -s a b; ln -sf a b; mkdir d; ln -s a d; ln -s ../b c; ln -sfn x c; ls -l c | tail -c 2`, stdout: "x\n", stderr: "File exists"},
		{name: "a directory has no hard link", text: `mkdir d; ln d e 2>/dev/null; echo $?; ls`, stdout: "1\nd\n"},
		{name: "rm and mv take the link", text: `echo x >f; mkdir d; ln -s f l; ln -s d m; mv l n; cat n; rm n; rm m; ls`, stdout: "x\nd\nf\n"},
		{name: "ls lists what a link leads to", text: `mkdir d; : >d/f; ln -s d l; ln -s no x; ls l; ls -d l x`, stdout: "f\nl\nx\n"},
		{name: "ls -l shows the link", text: `ln -s no l; ls -l l | tail -c 8; ls -l l | head -c 10`, stdout: "l -> no\nlrwxrwxrwx"},
		{name: "a pattern goes through links", text: `mkdir d; : >d/f; ln -s d l; ln -s no x; echo */f *`, stdout: "d/f l/f d l x\n"},
		{name: "cd through a link", text: `mkdir -p d/e; ln -s d/e l; cd l; cd ..; ls`, stdout: "d\nl\n"},
		{name: "a program through a link", text: `ln -s /bin/echo e; ./e hi; ln -s loop loop; ./loop`, stdout: "hi\n", stderr: "loop: (not found|Too many levels)", code: 127, ours: true},
	}
}

func fileScripts() []script {
	return []script{
		{name: "chmod", text: `: >f; chmod 604 f; ls -l f | head -c 10; chmod 4755 f; ls -l f | head -c 10; mkdir d; chmod 1777 d; ls -l -d d | head -c 10; chmod a-x f; chmod a+w f; ls -l f | head -c 10`, stdout: "-rw----r---rwsr-xr-xdrwxrwxrwt-rwSrw-rw-"},
		{name: "chmod refuses nonsense", text: `: >f; chmod u~x f 2>/dev/null; echo $?; chmod 644 no`, stdout: "1\n", stderr: "No such file or directory", code: 1},
		{name: "touch keeps the content", text: `echo x >f; touch f g; cat f; test -f g && echo new`, stdout: "x\nnew\n"},
	}
}
