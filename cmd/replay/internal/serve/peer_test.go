package serve

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tachograph/cmd/internal/listen"
)

func TestWhoMayAsk(t *testing.T) {
	dir := t.TempDir()
	open, closed, file := filepath.Join(dir, "open"), filepath.Join(dir, "closed"), filepath.Join(dir, "file.tacho")
	if err := os.Mkdir(open, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	group := os.Getgid()
	stranger := Peer{UID: 54321, Groups: []int{54321}}
	member := Peer{UID: 54321, Groups: []int{54321, group}}
	for _, c := range []struct {
		what string
		Access
		Peer
		want bool
	}{
		{"root", Access{}, Peer{UID: 0}, true},
		{"whoever runs it", Access{}, Peer{UID: os.Getuid()}, true},
		{"a stranger", Access{Paths: []string{open}}, stranger, false},
		{"a stranger, nothing there", Access{}, stranger, false},
		{"a member", Access{Paths: []string{open}}, member, true},
		{"a member, file", Access{Paths: []string{file}}, member, true},
		{"a member whose group may not read", Access{Paths: []string{closed}}, member, false},
		{"a member who may read one only", Access{Paths: []string{open, closed}}, member, false},
		{"a member, not there yet", Access{Paths: []string{filepath.Join(dir, "later")}}, member, false},
		{"one who is named", Access{Paths: []string{closed}, Users: []string{"54321"}}, stranger, true},
		{"one of a group that is named", Access{Paths: []string{closed}, Groups: []string{"54321"}}, stranger, true},
	} {
		g, err := newGatekeeper(c.Access)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.admits(&c.Peer); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
	if _, err := newGatekeeper(Access{Users: []string{"no-such-user"}}); err == nil {
		t.Error("a user who is not there")
	}
}

func TestPeerIsWhoTheKernelSays(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(shortDir(t), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	there, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	here, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	p, err := listen.PeerOf(here.(*net.UnixConn))
	if err != nil {
		t.Fatal(err)
	}
	groups, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	if p.UID != os.Geteuid() || !slices.Contains(p.Groups, os.Getegid()) {
		t.Errorf("%+v", p)
	}
	for _, g := range groups {
		if !slices.Contains(p.Groups, g) && runtime.GOOS == "linux" {
			t.Errorf("group %d is not among %v", g, p.Groups)
		}
	}
}

// Another user is refused in the language that he asks in, whatever the mode of
// the socket lets him connect to.
func TestOtherUsersAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	dir := shortDir(t)
	os.Chmod(dir, 0o755)
	archive := filepath.Join(dir, "archive")
	if err := os.Mkdir(archive, 0o750); err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{Listen: "unix:" + filepath.Join(dir, "s"), Access: Access{Paths: []string{archive}}})
	ask := func(uid, gid uint32, groups []uint32, args ...string) string {
		cmd := exec.Command(curl, append([]string{"-sS", "-i", "--max-time", "20", "--unix-socket", s.listen.Path}, args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid, Groups: groups}}
		// That a refusal comes before all of the request was sent is an error to curl.
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	gid := uint32(os.Getgid())
	for _, c := range []struct {
		uid, gid uint32
		groups   []uint32
		args     []string
		want     string
	}{
		{65534, 65534, nil, []string{"http://x/"}, "403 Forbidden"},
		{65534, 65534, nil, []string{"-H", "content-type: application/json", "-d", "{}", "http://x/grpc.health.v1.Health/Check"}, `"permission_denied"`},
		{65534, 65534, nil, []string{"--http2-prior-knowledge", "-H", "content-type: application/grpc", "--data-binary", "x", "http://x/grpc.health.v1.Health/Check"}, "grpc-status: 7"},
		{65534, gid, nil, []string{"http://x/"}, "200 OK"},
		{65534, 65534, []uint32{4, gid}, []string{"http://x/"}, "200 OK"},
		{0, 0, nil, []string{"http://x/"}, "200 OK"},
	} {
		if c.groups != nil && runtime.GOOS == "darwin" && runtime.GOARCH == "arm64" {
			continue // the emulator of the simulated Mac does not know of them
		}
		if got := ask(c.uid, c.gid, c.groups, c.args...); !strings.Contains(got, c.want) {
			t.Errorf("user %d %v %v: want %s\n%s", c.uid, c.groups, c.args, c.want, got)
		}
	}
}

// Root becomes somebody who may read the archives and nothing else.
func TestBecome(t *testing.T) {
	if os.Geteuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("needs root, to become another user")
	}
	if name, ok := os.LookupEnv("TACHO_BECOME"); ok {
		become(t, name)
		return
	}
	dir := shortDir(t)
	os.Chmod(dir, 0o755)
	readable, secret := filepath.Join(dir, "readable"), filepath.Join(dir, "secret")
	os.Mkdir(readable, 0o750)
	os.Chown(readable, 0, 54321)
	os.Mkdir(secret, 0o700)
	for _, c := range []struct{ name, path, want string }{
		{"", readable, "uid 65534 gid 54321 groups [54321]"},
		{"", secret, "nobody may not read " + secret},
		{"nobody", readable, "nobody may not read " + readable},
		{"root", secret, "uid 0"},
		{"no-such-user", readable, "there is no user"},
		{"54321", readable, "there is no user with the number"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBecome$", "-test.v")
		cmd.Env = append(os.Environ(), "TACHO_BECOME="+c.name, "TACHO_ARCHIVE="+c.path)
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), c.want) {
			t.Errorf("%q for %s: want %q, %v\n%s", c.name, c.path, c.want, err, out)
		}
	}
}

func become(t *testing.T, name string) {
	if err := Become(name, []string{os.Getenv("TACHO_ARCHIVE")}); err != nil {
		t.Log(err)
		return
	}
	groups, _ := os.Getgroups()
	t.Log("uid "+strconv.Itoa(os.Getuid()), "gid "+strconv.Itoa(os.Getgid()), "groups", groups)
	if os.Getuid() != 0 && syscall.Setuid(0) == nil {
		t.Error("root again")
	}
}
