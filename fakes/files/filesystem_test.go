package files_test

import (
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	"assay/fakes/gatewaytest"
	envd "assay/internal/envd/filesystem"
)

const home = "/home/user"

func (g *rig) stat(name string) (*envd.EntryInfo, error) {
	res, err := g.rpc.Stat(gatewaytest.Deadline(g.t), connect.NewRequest(&envd.StatRequest{Path: name}))
	if err != nil {
		return nil, err
	}
	return res.Msg.GetEntry(), nil
}

// as returns a request of a user.
func as[T any](user string, m *T) *connect.Request[T] {
	req := connect.NewRequest(m)
	req.Header().Set("User", user)
	return req
}

func TestAPathIsRelativeToTheHomeOfTheUser(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.has("/home/user/d/f", "/root/f")
	for _, c := range []struct{ user, path, want string }{
		{"user", "", "/home/user"}, {"user", ".", "/home/user"}, {"user", "d", "/home/user/d"}, {"user", "./d/../d/f", "/home/user/d/f"},
		{"user", "~", "/home/user"}, {"user", "~/d", "/home/user/d"}, {"root", "f", "/root/f"}, {"root", "", "/root"},
		{"user", "/home//user/./d", "/home//user/./d"}, {"user", "/", "/"}, {"user", "../user/d", "/home/user/d"},
	} {
		res, err := g.rpc.Stat(gatewaytest.Deadline(t), as(c.user, &envd.StatRequest{Path: c.path}))
		if err != nil || res.Msg.GetEntry().GetPath() != c.want {
			t.Errorf("%q of %s: %v %v, want %s", c.path, c.user, res, err, c.want)
		}
	}
	_, err := g.rpc.Stat(gatewaytest.Deadline(t), as("ghost", &envd.StatRequest{Path: "/"}))
	wantCode(t, "an unknown user", err, connect.CodeUnauthenticated)
	at := newRig(t, settings{workdir: "/tmp"})
	if e, err := at.stat(""); err != nil || e.GetPath() != "/tmp" {
		t.Errorf("an empty path with a working directory: %v %v", e, err)
	}
}

func TestAnEntryIsDescribed(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.has("/home/user/d/")
	g.put("/home/user/f", "twelve bytes")
	e, err := g.stat("f")
	if err != nil {
		t.Fatal(err)
	}
	if e.GetName() != "f" || e.GetPath() != "/home/user/f" || e.GetSize() != 12 || e.GetType() != envd.FileType_FILE_TYPE_FILE || e.GetMode() != 0o644 ||
		e.GetPermissions() != "-rw-r--r--" || e.GetOwner() != "user" || e.GetGroup() != "user" || e.GetModifiedTime().AsTime().IsZero() || e.SymlinkTarget != nil {
		t.Errorf("a file: %v", e)
	}
	if e, err = g.stat("d"); err != nil || e.GetType() != envd.FileType_FILE_TYPE_DIRECTORY || e.GetMode() != 0o755 || e.GetPermissions() != "drwxr-xr-x" {
		t.Errorf("a directory: %v %v", e, err)
	}
	if e, err = g.stat("/"); err != nil || e.GetName() != "/" {
		t.Errorf("the root: %v %v", e, err)
	}
}

func TestWrongPathsAreErrorsOfTheClient(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.has("/home/user/f")
	long := strings.Repeat("n", 256)
	for path, want := range map[string]connect.Code{
		"missing": connect.CodeNotFound, "missing/x": connect.CodeNotFound, "f/x": connect.CodeNotFound, "/home/user/f/x": connect.CodeNotFound,
		"a\x00b": connect.CodeInvalidArgument, long: connect.CodeInvalidArgument, "~root": connect.CodeInvalidArgument, "~root/x": connect.CodeInvalidArgument,
		"/" + strings.Repeat("d/", 2500): connect.CodeInvalidArgument,
	} {
		_, err := g.stat(path)
		wantCode(t, "stat "+path[:min(len(path), 20)], err, want)
	}
	if _, err := g.stat(long[:255]); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("a name of 255 bytes: %v", err)
	}
}

func TestMakeDirCreatesParentsAndRefusesWhatExists(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.has("/home/user/f", "/home/user/d/")
	for _, c := range []struct {
		path string
		want connect.Code
	}{
		{"a/b/c", 0}, {"a/b/c", connect.CodeAlreadyExists}, {"d/", connect.CodeAlreadyExists}, {"/", connect.CodeAlreadyExists}, {"", connect.CodeAlreadyExists},
		{"f", connect.CodeInvalidArgument}, {"f/x", connect.CodeInvalidArgument}, {"new/" + strings.Repeat("n", 256), connect.CodeInvalidArgument},
	} {
		res, err := g.rpc.MakeDir(gatewaytest.Deadline(t), connect.NewRequest(&envd.MakeDirRequest{Path: c.path}))
		wantCode(t, "make "+c.path[:min(len(c.path), 20)], err, c.want)
		if err == nil && (res.Msg.GetEntry().GetOwner() != "user" || res.Msg.GetEntry().GetMode() != 0o755) {
			t.Errorf("made %v", res.Msg)
		}
	}
	if e, err := g.stat("a/b"); err != nil || e.GetOwner() != "user" {
		t.Errorf("the parent: %v %v", e, err)
	}
	if g.exists("/home/user/new") {
		t.Error("a refused directory left its parent")
	}
}

func TestOneOfManySimultaneousMakeDirsWins(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	var all sync.WaitGroup
	codes := make(chan connect.Code, 8)
	for range cap(codes) {
		all.Go(func() {
			_, err := g.rpc.MakeDir(gatewaytest.Deadline(t), connect.NewRequest(&envd.MakeDirRequest{Path: "a/b/c/d"}))
			if err == nil {
				codes <- 0
				return
			}
			codes <- connect.CodeOf(err)
		})
	}
	all.Wait()
	close(codes)
	count := map[connect.Code]int{}
	for c := range codes {
		count[c]++
	}
	if count[0] != 1 || count[connect.CodeAlreadyExists] != 7 {
		t.Errorf("codes %v, want one success and seven already_exists", count)
	}
}

func TestMoveReplacesFilesAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		want     connect.Code
	}{
		{"f", "g", 0}, {"f", "f", 0}, {"f", "new/er/f", 0}, {"d", "e", 0}, {"d", "e/", 0},
		{"missing", "new/x", connect.CodeNotFound}, {"f/x", "new/x", connect.CodeNotFound}, {"d", "g", connect.CodeFailedPrecondition},
		{"f", "d", connect.CodeFailedPrecondition}, {"d", "full", connect.CodeFailedPrecondition}, {"d", "d/x", connect.CodeInvalidArgument},
		{"f", "g/x", connect.CodeInvalidArgument}, {"", "x", connect.CodeInvalidArgument}, {"f", "", connect.CodeInvalidArgument},
		{"/", "x", connect.CodeInvalidArgument}, {"d/.", "x", connect.CodeInvalidArgument}, {"f", "new/" + strings.Repeat("n", 256), connect.CodeInvalidArgument},
	} {
		t.Run(c.from+" to "+c.to[:min(len(c.to), 20)], func(t *testing.T) {
			g := newRig(t, settings{})
			g.has("/home/user/f", "/home/user/g", "/home/user/d/in", "/home/user/full/in")
			res, err := g.rpc.Move(gatewaytest.Deadline(t), connect.NewRequest(&envd.MoveRequest{Source: c.from, Destination: c.to}))
			wantCode(t, "move", err, c.want)
			if err != nil && (g.exists(home+"/new") || g.content(home+"/f") != "content of /home/user/f" || !g.exists(home+"/d/in")) {
				t.Error("a failed move changed something")
			}
			if err == nil && c.from != c.to && (g.exists(home+"/"+c.from) || res.Msg.GetEntry().GetSize() == 0 && c.from == "f") {
				t.Errorf("moved %v, and the source is still there", res.Msg)
			}
		})
	}
}

func TestRemoveRemovesEverythingBelow(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.has("/home/user/d/e/f", "/home/user/f", "/home/user/g")
	for _, c := range []struct {
		path string
		want connect.Code
	}{
		{"d", 0}, {"d", 0}, {"missing/parent", 0}, {"f", 0}, {"g/x", connect.CodeInvalidArgument}, {"/tmp/.", connect.CodeInvalidArgument},
		{"/tmp/..", connect.CodeInvalidArgument}, {"", connect.CodeInvalidArgument}, {"/", connect.CodeInvalidArgument}, {"//.", connect.CodeInvalidArgument},
	} {
		_, err := g.rpc.Remove(gatewaytest.Deadline(t), connect.NewRequest(&envd.RemoveRequest{Path: c.path}))
		wantCode(t, "remove "+c.path, err, c.want)
	}
	if g.exists(home+"/d") || g.exists(home+"/f") || !g.exists(home+"/g") || !g.exists("/tmp") {
		t.Error("the wrong entries are gone")
	}
}
