package launchdtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Limits are what systemd takes from a service, as its unit says: rights of root, calls of the
// kernel, and memory that may be locked.
type Limits struct {
	Capabilities []string // names as systemd writes them, CAP_CHOWN
	Calls        []string // names of the calls that are left
	Locked       uint64   // bytes; 0 where the unit says nothing
	Opened       []string // files that systemd opens for the service, PATH:NAME:OPTIONS
	Keep         string   // a directory below /tmp that stays where it is, as that of the archives does
}

// Settings returns the words of all lines of a unit that set name: systemd adds them up.
func Settings(unit []byte, name string) (words []string) {
	for line := range strings.Lines(string(unit)) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			words = append(words, strings.Fields(value)...)
		}
	}
	return words
}

// LimitsOf reads the limits in a unit. What is in a group of calls (@system-service) is asked of
// the systemd that is installed here.
func LimitsOf(t testing.TB, unit []byte) Limits {
	t.Helper()
	l := Limits{Capabilities: Settings(unit, "CapabilityBoundingSet"), Opened: Settings(unit, "OpenFile")}
	groups := callGroups(t)
	var add func(name string)
	add = func(name string) {
		members, group := groups[name]
		switch {
		case !group && strings.HasPrefix(name, "@"):
			t.Fatalf("this systemd knows no group of calls %s", name)
		case !group:
			l.Calls = append(l.Calls, name)
		}
		for _, m := range members {
			add(m)
		}
	}
	add("@default") // systemd leaves them to every service
	for _, name := range Settings(unit, "SystemCallFilter") {
		add(name)
	}
	if locked := Settings(unit, "LimitMEMLOCK"); len(locked) > 0 {
		mb, err := strconv.ParseUint(strings.TrimSuffix(locked[0], "M"), 10, 32)
		if err != nil {
			t.Fatalf("LimitMEMLOCK is %q: this reads only megabytes", locked)
		}
		l.Locked = mb << 20
	}
	return l
}

// callGroups are systemd's groups of calls, with the groups that are in them.
func callGroups(t testing.TB) map[string][]string {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	out, err := exec.Command(analyze, "syscall-filter", "--no-pager").Output()
	if err != nil {
		t.Fatalf("systemd-analyze syscall-filter: %v", err)
	}
	groups := make(map[string][]string)
	name := ""
	for line := range strings.Lines(string(out)) {
		word := strings.TrimSpace(line)
		switch {
		case word == "" || strings.HasPrefix(word, "#"):
		case line[0] == '@':
			name = word
		default:
			groups[name] = append(groups[name], word)
		}
	}
	return groups
}

// limitsEnv has the limits under which a test's program should begin anew.
const limitsEnv = "TACHOGRAPH_TEST_LIMITS"

// Apply makes cmd, which runs the test's own binary, run under the limits: that binary calls
// TakeOn before anything else.
func (l Limits) Apply(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	words := []string{strconv.FormatUint(l.Locked, 10), numbers(t, "zerrors_linux.go", "CAP_", l.Capabilities), numbers(t, "zsysnum_linux_"+runtime.GOARCH+".go", "SYS_", l.Calls), l.Keep, strings.Join(l.Opened, ",")}
	cmd.Env = append(cmd.Environ(), limitsEnv+"="+strings.Join(words, ";"))
}

// numbers finds the kernel's numbers of what it names, in the source of golang.org/x/sys. What that does
// not have this processor does not have.
func numbers(t testing.TB, file, prefix string, names []string) string {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("go is not installed")
	}
	dir, err := exec.Command(tool, "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatalf("go list golang.org/x/sys: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "unix", file))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[1] != "=" {
			continue
		}
		for _, name := range names {
			if prefix+strings.ToUpper(strings.TrimPrefix(name, prefix)) != f[0] {
				continue
			}
			n, err := strconv.ParseUint(f[2], 0, 16)
			if err != nil {
				t.Fatalf("%s: %q", file, line)
			}
			all = append(all, strconv.FormatUint(n, 10))
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s has none of %q", file, names)
	}
	return strings.Join(all, ",")
}

// TakeOn begins the program anew under the limits that Apply gave it, if it did. It has to be
// called while the program has one thread of its own, by an init.
func TakeOn() {
	text, limited := os.LookupEnv(limitsEnv)
	if !limited {
		return
	}
	os.Unsetenv(limitsEnv)
	runtime.LockOSThread()
	if err := takeOn(strings.Split(text, ";")); err != nil {
		fmt.Fprintln(os.Stderr, "the limits of the unit:", err)
		os.Exit(2)
	}
}

func takeOn(words []string) error {
	var lists [3][]uint64
	for i, word := range words[:len(lists)] {
		for part := range strings.SplitSeq(word, ",") {
			n, err := strconv.ParseUint(part, 10, 64)
			if err != nil {
				return err
			}
			lists[i] = append(lists[i], n)
		}
	}
	if err := openFiles(words[len(lists)+1]); err != nil {
		return err
	}
	if err := hide(words[len(lists)]); err != nil {
		return fmt.Errorf("mounts: %w", err)
	}
	if locked := lists[0][0]; locked > 0 {
		// Not every root may raise it.
		var here unix.Rlimit
		err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &here)
		if here.Cur = min(here.Max, locked); err == nil {
			here.Max = here.Cur
			err = unix.Setrlimit(unix.RLIMIT_MEMLOCK, &here)
		}
		if err != nil {
			return fmt.Errorf("locked memory: %w", err)
		}
	}
	for c := range uint64(unix.CAP_LAST_CAP + 1) {
		if !slices.Contains(lists[1], c) {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil && err != unix.EINVAL { // a kernel that does not have it yet
				return fmt.Errorf("capability %d: %w", c, err)
			}
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := allow(lists[2]); err != nil {
		return fmt.Errorf("filter of calls: %w", err)
	}
	// The limits are this thread's, and the other threads end here.
	return unix.Exec("/proc/self/exe", os.Args, os.Environ())
}

// openFiles opens files as systemd does for OpenFile=, and passes them on.
func openFiles(list string) error {
	var names []string
	for i, file := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		path, rest, ok := strings.Cut(file, ":")
		if !ok {
			continue // an option
		}
		fd, err := unix.Open(path, unix.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		const first = 3
		if fd != first+i {
			if err := unix.Dup3(fd, first+i, 0); err != nil {
				return err
			}
			unix.Close(fd)
		}
		name, _, _ := strings.Cut(rest, ":")
		names = append(names, name)
	}
	for name, value := range map[string]string{"LISTEN_PID": strconv.Itoa(os.Getpid()), "LISTEN_FDS": strconv.Itoa(len(names)), "LISTEN_FDNAMES": strings.Join(names, ":")} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// hide does to /proc and /tmp what the unit has systemd do with ProtectProc=invisible,
// ProtectKernelTunables=yes and PrivateTmp=yes. The directory keep stays.
func hide(keep string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	kept, err := unix.Open(keep, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", keep, err)
	}
	defer unix.Close(kept)
	for _, m := range []struct {
		from, to, kind string
		flags          uintptr
		data           string
	}{
		{"none", "/", "", unix.MS_REC | unix.MS_PRIVATE, ""},
		{"proc", "/proc", "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, "hidepid=2"},
		{"/dev/null", "/proc/kallsyms", "", unix.MS_BIND, ""},
		{"/proc/sys", "/proc/sys", "", unix.MS_BIND, ""},
		{"none", "/proc/sys", "", unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY, ""},
		{"tmp", "/tmp", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, ""},
	} {
		if err := unix.Mount(m.from, m.to, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("%s: %w", m.to, err)
		}
	}
	if err := os.MkdirAll(keep, 0o700); err != nil {
		return err
	}
	return unix.Mount(fmt.Sprintf("/proc/self/fd/%d", kept), keep, "", unix.MS_BIND, "")
}
