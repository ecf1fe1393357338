package virtual

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"assay/internal/testkit"
)

// waitIdle waits until n processes are alive and each that reads stdin waits
// for it.
func waitIdle(t *testing.T, s *System, procs []*Process, reads func(i int) bool) {
	t.Helper()
	s.mu.Lock()
	live := len(s.table)
	s.mu.Unlock()
	if live != len(procs) {
		t.Fatalf("%d processes live, want %d", live, len(procs))
	}
	for i, p := range procs {
		if reads(i) {
			waitsForInput(t, p)
		}
	}
}

func TestStdin(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := system(t)
	t.Run("not asked for", func(t *testing.T) {
		p, rec := start(t, s, Spec{Argv: sh("cat; read x; echo $?; sleep 100")})
		rec.await(t, "1\n")
		if err := p.Write(ctx, []byte("x")); !errors.Is(err, ErrStdinClosed) {
			t.Errorf("write: %v", err)
		}
		p.CloseStdin()
	})
	t.Run("closed", func(t *testing.T) {
		p, _ := start(t, s, Spec{Argv: sh("cat >/dev/null; sleep 100"), Stdin: true})
		p.CloseStdin()
		p.CloseStdin()
		if err := p.Write(ctx, []byte("x")); !errors.Is(err, ErrStdinClosed) {
			t.Errorf("write: %v", err)
		}
	})
	t.Run("process ended", func(t *testing.T) {
		p, _ := start(t, s, Spec{Argv: sh("read x"), Stdin: true})
		if err := p.Write(ctx, []byte("x\n")); err != nil {
			t.Fatal(err)
		}
		arrives(t, "exit", p.Exited())
		if err := p.Write(ctx, []byte("x")); !errors.Is(err, ErrBrokenPipe) {
			t.Errorf("write: %v", err)
		}
	})
	t.Run("closed by the reader", func(t *testing.T) {
		p, rec := start(t, s, Spec{Argv: sh("exec <&-; echo ready; sleep 100"), Stdin: true})
		rec.await(t, "ready\n")
		if err := p.Write(ctx, []byte("x")); !errors.Is(err, ErrBrokenPipe) {
			t.Errorf("write: %v", err)
		}
	})
	t.Run("full until the context ends", func(t *testing.T) {
		p, _ := start(t, s, Spec{Argv: sh("sleep 100"), Stdin: true})
		if err := p.Write(ctx, make([]byte, pipeSize)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
		if err := p.Write(ctx, []byte("x")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("write: %v", err)
		}
		time.AfterFunc(10*time.Millisecond, func() { _ = p.Signal(sigKILL) })
		if err := p.Write(context.Background(), []byte("x")); !errors.Is(err, ErrBrokenPipe) {
			t.Errorf("write to a killed process: %v", err)
		}
	})
	t.Run("four megabytes pass", func(t *testing.T) {
		p, rec := start(t, s, Spec{Argv: []string{"cat"}, Stdin: true})
		data := bytes.Repeat([]byte("0123456789abcdef"), 4<<20/16)
		if err := p.Write(ctx, data); err != nil {
			t.Fatal(err)
		}
		p.CloseStdin()
		arrives(t, "drain", p.Drained())
		if out, _ := rec.texts(); out != string(data) {
			t.Errorf("got %d bytes back", len(out))
		}
	})
	t.Run("a shell runs each line as it comes", func(t *testing.T) {
		p, rec := start(t, s, Spec{Argv: []string{"/bin/bash", "-i", "-l"}, Stdin: true})
		for _, step := range [][2]string{
			{"echo one\n", "one\n"}, {"if true\n", "one\n"}, {"then echo two; fi\n", "one\ntwo\n"},
			{"cat <<E\nx\n", "one\ntwo\n"}, {"E\n", "one\ntwo\nx\n"}, {"read v; echo $v\nmine\n", "one\ntwo\nx\nmine\n"},
			{"echo a\\\n", "one\ntwo\nx\nmine\n"}, {"b\n", "one\ntwo\nx\nmine\nab\n"},
		} {
			if err := p.Write(ctx, []byte(step[0])); err != nil {
				t.Fatal(err)
			}
			rec.await(t, step[1])
		}
		if err := p.Write(ctx, []byte("exit 4\n")); err != nil {
			t.Fatal(err)
		}
		arrives(t, "drain", p.Drained())
		if p.Status().Code != 4 {
			t.Errorf("status %+v", p.Status())
		}
	})
}

func TestSpawnErrors(t *testing.T) {
	t.Parallel()
	s := system(t)
	for name, row := range map[string]struct {
		spec Spec
		want string
	}{
		"missing directory":   {Spec{Argv: []string{"true"}, Dir: "/x"}, "cwd '/x' does not exist"},
		"relative directory":  {Spec{Argv: []string{"true"}, Dir: "x", User: "user"}, "cwd '/home/user/x' does not exist"},
		"a file as directory": {Spec{Argv: []string{"true"}, Dir: "/etc/passwd"}, "not a directory"},
		"NUL in an argument":  {Spec{Argv: []string{"echo", "a\x00b"}}, "invalid argument"},
		"NUL in the env":      {Spec{Argv: []string{"env"}, Env: map[string]string{"A": "\x00"}}, "invalid argument"},
		"a long argument":     {Spec{Argv: []string{"echo", strings.Repeat("x", 128<<10)}}, "argument list too long"},
		"a long environment":  {Spec{Argv: []string{"env"}, Env: map[string]string{"A": strings.Repeat("x", 128<<10)}}, "argument list too long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Start(row.spec)
			var spawn *SpawnError
			if !errors.As(err, &spawn) || spawn.Reason != row.want || err.Error() != row.want {
				t.Errorf("error %v, want %q", err, row.want)
			}
		})
	}
	if got := run(t, s, Spec{Argv: []string{"echo", strings.Repeat("x", 128<<10-1)}}, ""); len(got.stdout) != 128<<10 {
		t.Errorf("the longest argument printed %d bytes", len(got.stdout))
	}
}

func TestCommandsRunWithoutAShell(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		argv   []string
		stdout string
		stderr string
		code   int
	}{
		{[]string{"seq", "1", "5"}, "1\n2\n3\n4\n5\n", "", 0},
		{[]string{"/bin/echo", "hi"}, "hi\n", "", 0},
		{[]string{"/usr/bin/env", "-i", "A=1"}, "", "", 0},
		{[]string{"printf", `%s\n`, "a", "b"}, "a\nb\n", "", 0},
		{[]string{"test", "1", "-gt", "2"}, "", "", 1},
		{[]string{"[", "a", "=", "a", "]"}, "", "", 0},
		{[]string{"pwd"}, "/root\n", "", 0},
		{[]string{"nope"}, "", "sh: 1: nope: not found\n", 127},
		{[]string{"cd"}, "", "sh: 1: cd: not found\n", 127},
		{[]string{""}, "", "sh: 1: : not found\n", 127},
		{[]string{}, "", "sh: 1: : not found\n", 127},
		{[]string{"/tmp"}, "", "sh: 1: /tmp: Permission denied\n", 126},
		{[]string{"/etc/passwd"}, "", "sh: 1: /etc/passwd: Permission denied\n", 126},
		{[]string{"bash", "-l", "-c", `echo $0 'a\tb' {1..3}; [[ ab == a* ]] && echo yes; (( 1 + 1 )) && echo two; set -o pipefail; false | true; echo $?`}, "bash a\\tb 1 2 3\nyes\ntwo\n1\n", "", 0},
		{[]string{"/bin/bash", "-lc", `cat <<< word; for ((i=0;i<2;i++)); do printf $i; done; echo $'\n.'; x=a; x+=b; echo $x >&2 2>/dev/null; echo $(</etc/hostname)`}, "word\n01\n.\nsandbox\n", "ab\n", 0},
		{[]string{"sh", "-l", "-i", "-c", "--", "echo $1", "zero", "one"}, "one\n", "", 0},
		{[]string{"sh", "-c"}, "", "sh: 1: -c requires an argument\n", 2},
		{[]string{"sh", "/nope"}, "", "sh: 0: cannot open /nope: No such file\n", 2},
	} {
		if len(row.argv) > 1 && row.argv[0] == "/usr/bin/env" {
			row.stdout = "A=1\n"
		}
		t.Run(strings.Join(row.argv, " "), func(t *testing.T) {
			p, rec := start(t, system(t), Spec{Argv: row.argv})
			arrives(t, "drain", p.Drained())
			out, errText := rec.texts()
			if out != row.stdout || errText != row.stderr || p.Status() != (Status{Code: row.code}) {
				t.Errorf("stdout %q stderr %q status %+v\nwant %q %q %d", out, errText, p.Status(), row.stdout, row.stderr, row.code)
			}
		})
	}
}

func TestTheEnvironmentIsTheSandboxs(t *testing.T) {
	t.Setenv("VIRTUAL_HOST_SECRET", "leaked")
	s := system(t)
	want := "A=b\nE2B_SANDBOX=true\nHOME=/home/user\nLOGNAME=user\nPATH=" + defaultPath + "\nUSER=user\n"
	got := run(t, s, Spec{Argv: []string{"env"}, User: "user", Env: map[string]string{"A": "b"}}, "")
	if got.stdout != want {
		t.Errorf("env is\n%s\nwant\n%s", got.stdout, want)
	}
	got = run(t, s, Spec{Argv: sh("echo $HOME $USER $PWD; cd; pwd"), Dir: "/tmp", Env: map[string]string{"HOME": "/etc"}}, "")
	if got.stdout != "/etc root /tmp\n/etc\n" {
		t.Errorf("got %q", got.stdout)
	}
}

func TestNothingOfTheHostIsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/secret", []byte("host file"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := system(t)
	for _, text := range []string{
		"cat " + dir + "/secret", "cat <" + dir + "/secret", "echo " + dir + "/*", "cd " + dir, "test -e " + dir, ". " + dir + "/secret",
		"ls " + dir, "sh " + dir + "/secret", "ls /proc", "cat /proc/self/environ", "echo $(<" + dir + "/secret)", "cat " + strings.Repeat("../", 20) + dir + "/secret",
		"[[ -e " + dir + " ]]", "head " + dir + "/secret", "echo ~nobody ~daemon", "cat <(echo host file)", "command -v ls | cat; type go",
		"kill -0 " + itoa(os.Getpid()), "echo x > " + dir + "/made", "mkdir " + dir + "/made",
	} {
		got := run(t, s, Spec{Argv: []string{"bash", "-c", text}}, "")
		if all := got.stdout + got.stderr; strings.Contains(all, "host file") || strings.Contains(all, "/nonexistent") || strings.Contains(got.stdout, "secret") {
			t.Errorf("%q reached the host: %+v", text, got)
		}
	}
	if _, err := os.Stat(dir + "/made"); err == nil {
		t.Error("a file was made on the host")
	}
	got := run(t, s, Spec{Argv: sh("cat /etc/hostname; echo x > /etc/hostname; cat /etc/hostname")}, "")
	if got.stdout != "sandbox\nx\n" {
		t.Errorf("got %q", got.stdout)
	}
}

func TestPidsCountUpAndWrap(t *testing.T) {
	t.Parallel()
	s := New(Options{FirstPID: maxPID - 2})
	t.Cleanup(s.KillAll)
	var pids []uint32
	for range 4 {
		p, _ := start(t, s, Spec{Argv: []string{"sleep", "100"}})
		pids = append(pids, p.PID())
	}
	if pids[0] != maxPID-2 || pids[1] != maxPID-1 || pids[2] != 2 || pids[3] != 3 {
		t.Errorf("pids %v", pids)
	}
	if p, _ := start(t, New(Options{}), Spec{Argv: []string{"true"}}); p.PID() != defaultFirstPID {
		t.Errorf("first pid %d", p.PID())
	}
}

func TestAForkBombEnds(t *testing.T) {
	t.Parallel()
	s := system(t)
	p, rec := start(t, s, Spec{Argv: sh("f() { f | f & }; f; wait; sleep 100")})
	testkit.Eventually(t, func() error {
		if _, errText := rec.texts(); !strings.Contains(errText, "Cannot fork") && !strings.Contains(errText, "recursion") {
			return errors.New("no limit was met")
		}
		return nil
	})
	s.KillAll()
	arrives(t, "drain", p.Drained())
}

func TestScriptsInFilesRun(t *testing.T) {
	t.Parallel()
	s := system(t)
	for name, text := range map[string]string{"plain": "echo ran $1; exit 3\n", "sh": "#!/bin/sh\necho ran $1; exit 3\n", "env": "#!/usr/bin/env sh\necho ran $1; exit 3\n"} {
		f := "/tmp/" + name
		s.fs.mu.Lock()
		at, err := s.fs.create(f, superuser)
		if err != nil {
			t.Fatal(err)
		}
		at.node.data, at.node.mode = []byte(text), 0o755
		s.fs.mu.Unlock()
		got := run(t, s, Spec{Argv: []string{f, "x"}}, "")
		if got.stdout != "ran x\n" || got.status.Code != 3 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
