package software

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func at(s string) time.Time {
	t, err := time.Parse(time.DateTime, s)
	if err != nil {
		panic(err)
	}
	return t
}

func in(zone *time.Location) func() *time.Location { return func() *time.Location { return zone } }

func TestLines(t *testing.T) {
	zone := in(time.FixedZone("", 3600))
	for _, c := range []struct {
		parser parser
		lines  string
		want   []Change
	}{
		{oneByOne(dpkg{zone}.line), "2025-06-24 14:36:25 upgrade libsystemd0:amd64 252.36-1~deb12u1 252.38-1~deb12u1", []Change{{at("2025-06-24 13:36:25"), Changed, "libsystemd0", "252.36-1~deb12u1", "252.38-1~deb12u1", ""}}},
		{oneByOne(dpkg{zone}.line), "2025-06-24 14:36:25 install nginx:amd64 <none> 1.28.0-1", []Change{{at("2025-06-24 13:36:25"), Installed, "nginx", "", "1.28.0-1", ""}}},
		{oneByOne(dpkg{zone}.line), "2025-06-24 14:36:25 install nginx:amd64 1.28.0-1 1.28.0-1", []Change{{at("2025-06-24 13:36:25"), Reinstalled, "nginx", "1.28.0-1", "1.28.0-1", ""}}},
		{oneByOne(dpkg{zone}.line), "2025-06-24 14:36:25 remove nginx:amd64 1.28.0-1 <none>", []Change{{at("2025-06-24 13:36:25"), Removed, "nginx", "1.28.0-1", "", ""}}},
		{oneByOne(dpkg{zone}.line), "2025-06-24 14:36:25 status installed nginx:amd64 1.28.0-1\n2025-06-24 14:36:25 startup archives unpack\n2025-06-24 14:36:25 configure nginx:amd64 1 <none>\n2025-06-24 upgrade a b c d", nil},

		{oneByOne(pacman{zone}.line), "[2026-01-02T03:04:05+0000] [ALPM] upgraded linux (6.1-1 -> 6.2-1)", []Change{{at("2026-01-02 03:04:05"), Changed, "linux", "6.1-1", "6.2-1", ""}}},
		{oneByOne(pacman{zone}.line), "[2026-01-02 03:04] [ALPM] installed a-b (1.0-1)", []Change{{at("2026-01-02 02:04:00"), Installed, "a-b", "", "1.0-1", ""}}},
		{oneByOne(pacman{zone}.line), "[2026-01-02T03:04:05+0000] [ALPM] removed a (1.0-1)", []Change{{at("2026-01-02 03:04:05"), Removed, "a", "1.0-1", "", ""}}},
		{oneByOne(pacman{zone}.line), "[2026-01-02T03:04:05+0000] [ALPM] downgraded a (2 -> 1)", []Change{{at("2026-01-02 03:04:05"), Changed, "a", "2", "1", ""}}},
		{oneByOne(pacman{zone}.line), "[2026-01-02T03:04:05+0000] [ALPM] transaction started\n[2026-01-02T03:04:05+0000] [PACMAN] Running 'pacman -Syu'\n[2026-01-02T03:04:05+0000] [ALPM] upgraded linux 6.1", nil},

		{oneByOne(zypper{zone}.line), "# a comment\n2026-01-02 03:04:05|install|nginx|1.27-1.1|x86_64|root@host|repo|sum|\n2026-01-02 03:04:06|remove |nginx|1.26-1.1|x86_64|root@host|\n2026-01-02 03:04:06|command|root@host|'zypper' 'in'|",
			[]Change{{at("2026-01-02 02:04:05"), Installed, "nginx", "", "1.27-1.1", ""}, {at("2026-01-02 02:04:06"), Removed, "nginx", "1.26-1.1", "", ""}}},

		{oneByOne((&dnf{}).line), "2026-01-02T03:04:05+0000 SUBDEBUG Upgrade: nginx-1:1.28.0-1.el9.x86_64\n2026-01-02T03:04:06+0000 SUBDEBUG Upgrade: zlib-1.3-1.el9.x86_64\n" +
			"2026-01-02T03:04:07+0000 SUBDEBUG Upgraded: zlib-1.2-1.el9.x86_64\n2026-01-02T03:04:08+0000 SUBDEBUG Upgraded: nginx-1:1.26.3-1.el9.x86_64\n2026-01-02T03:04:08+0000 INFO --- logging initialized ---",
			[]Change{{at("2026-01-02 03:04:06"), Changed, "zlib", "1.2-1.el9", "1.3-1.el9", ""}, {at("2026-01-02 03:04:05"), Changed, "nginx", "1:1.26.3-1.el9", "1:1.28.0-1.el9", ""}}},
		{oneByOne((&dnf{}).line), "2026-01-02T03:04:05Z SUBDEBUG Installed: python3-libs-3.9.1-1.el9.x86_64\n2026-01-02T03:04:05+0000 SUBDEBUG Erase: a-0:1-2.noarch",
			[]Change{{at("2026-01-02 03:04:05"), Installed, "python3-libs", "", "3.9.1-1.el9", ""}, {at("2026-01-02 03:04:05"), Removed, "a", "1-2", "", ""}}},
		{oneByOne((&dnf{}).line), "2026-01-02T03:04:05Z SUBDEBUG Upgraded: a-1-2.noarch\n2026-01-02T03:04:05Z SUBDEBUG Installed: nonsense", nil},

		// An upgrade of two packages, one of them for two architectures, then a removal.
		{&dnf5{}, dnf5Lines("101", "install zlib-0:1.3-1.fc43.x86_64", "install glibc-0:2.42-1.fc43.x86_64", "install glibc-0:2.42-1.fc43.i686", "uninstall glibc-0:2.41-1.fc43.i686", "uninstall glibc-0:2.41-1.fc43.x86_64", "uninstall zlib-0:1.2-1.fc43.x86_64") +
			dnf5Lines("102", "uninstall nginx-1:1.26.3-1.fc43.x86_64"),
			[]Change{{at("2026-04-30 01:56:52"), Changed, "glibc", "2.41-1.fc43", "2.42-1.fc43", ""}, {at("2026-04-30 01:56:52"), Changed, "zlib", "1.2-1.fc43", "1.3-1.fc43", ""}, {at("2026-04-30 01:56:52"), Removed, "nginx", "1:1.26.3-1.fc43", "", ""}}},
		// What was installed for the first time is known when the next transaction begins.
		{&dnf5{}, dnf5Lines("101", "install nginx-1:1.28.0-1.fc43.x86_64") + dnf5Lines("102", "install curl-0:8.15.0-1.fc43.x86_64", "uninstall curl-0:8.15.0-1.fc43.x86_64"),
			[]Change{{at("2026-04-30 01:56:52"), Installed, "nginx", "", "1:1.28.0-1.fc43", ""}, {at("2026-04-30 01:56:52"), Reinstalled, "curl", "8.15.0-1.fc43", "8.15.0-1.fc43", ""}}},
		{&dnf5{}, `2026-04-30T03:56:52+0000 [18165] INFO --- DNF5 launched with arguments: "yum remove a -y" ---
2026-04-30T03:56:52+0000 [18165] INFO RPM callback start %post scriptlet "openssh-0:10.0p1-9.fc43.x86_64"
2026-04-30T03:56:52+0000 [18165] INFO RPM callback uninstall stop "unfinished
2026-04-30T03:56:52+0000 [18165] INFO [scriptlet] RPM callback uninstall stop "a-0:1-2.noarch"
2026-04-30T03:56:52+0000 [18165] INFO RPM callback uninstall stop "no version"`, nil},
	} {
		var got []Change
		for _, l := range strings.Split(c.lines, "\n") {
			c.parser.line(l, func(c Change) {
				c.At = c.At.UTC()
				got = append(got, c)
			})
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%T %s\n got %v\nwant %v", c.parser, c.lines, got, c.want)
		}
	}
}

// dnf5Lines are the lines of dnf5 about packages.
func dnf5Lines(process string, packages ...string) string {
	var b strings.Builder
	for _, p := range packages {
		verb, name, _ := strings.Cut(p, " ")
		fmt.Fprintf(&b, "2026-04-30T03:56:52+0200 [%s] INFO RPM callback %s start %q total 9084\n2026-04-30T03:56:52+0200 [%s] INFO RPM callback %s stop %q amount 9084 total 9084\n", process, verb, name, process, verb, name)
	}
	return b.String()
}

func TestLists(t *testing.T) {
	was, err := Apk(strings.NewReader("P:musl\nV:1.2.4-r2\nA:x86_64\n\nP:busybox\nV:1.36-r1\n\nP:curl\nV:8.1\n"))
	if err != nil {
		t.Fatal(err)
	}
	is, _ := Apk(strings.NewReader("P:musl\nV:1.2.5-r0\n\nC:x\nP:busybox\nV:1.36-r1\n\nP:zlib\nV:1.3\n"))
	now := at("2026-01-02 03:04:05")
	want := []Change{{now, Removed, "curl", "8.1", "", ""}, {now, Changed, "musl", "1.2.4-r2", "1.2.5-r0", ""}, {now, Installed, "zlib", "", "1.3", ""}}
	if got := Compare(was, is, now.Add(-time.Minute), now); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

// A kernel comes beside the others, another package in the place of the one before. What the list
// says about the time is believed if it can be.
func TestListsOfRPM(t *testing.T) {
	began, now := time.Unix(1000, 0), time.Unix(2000, 0)
	was, err := rpmList(strings.NewReader("kernel-core\t6.6-1\t900\nkernel-core\t6.7-1\t901\nglibc\t2.41-1\t900\nglibc\t2.41-1\t901\nnginx\t1:1.26-1\t900\nold\t1-1\t900\n"))
	if err != nil {
		t.Fatal(err)
	}
	is, _ := rpmList(strings.NewReader("kernel-core\t6.7-1\t901\nkernel-core\t6.8-1\t1500\nglibc\t2.42-1\t1501\nglibc\t2.42-1\t1502\nnginx\t1:1.28-1\t5\nnew\t0:1-1\t(none)\nnonsense\n\t\t\n"))
	want := []Change{{time.Unix(1501, 0), Changed, "glibc", "2.41-1", "2.42-1", ""}, {time.Unix(1500, 0), Installed, "kernel-core", "", "6.8-1", ""}, {now, Removed, "kernel-core", "6.6-1", "", ""},
		{now, Installed, "new", "", "1-1", ""}, {now, Changed, "nginx", "1:1.26-1", "1:1.28-1", ""}, {now, Removed, "old", "1-1", "", ""}}
	if got := Compare(was, is, began, now); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if _, err := rpmList(strings.NewReader(strings.Repeat("a\tb\t"+strings.Repeat("1", 64<<10)+"\n", largestList>>16))); err == nil {
		t.Error("a list that never ends is a list")
	}
}

const history = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><array>
<dict><key>contentType</key><string>config-data</string><key>date</key><date>2026-09-16T01:02:03Z</date><key>displayName</key><string>XProtectPlistConfigData</string>
<key>displayVersion</key><string>5312</string><key>packageIdentifiers</key><array><string>com.example.a</string></array><key>processName</key><string>softwareupdated</string></dict>
<dict><key>date</key><date>2026-09-17T01:02:03Z</date><key>displayName</key><string>macOS 27.0.1 &amp; more</string><key>displayVersion</key><string>27.0.1</string></dict>
<dict><key>displayName</key><string>without a date</string></dict>
</array></plist>`

func TestInstallHistory(t *testing.T) {
	want := []Change{
		{at("2026-09-16 01:02:03"), Installed, "XProtectPlistConfigData", "", "5312", "softwareupdated"},
		{at("2026-09-17 01:02:03"), Installed, "macOS 27.0.1 & more", "", "27.0.1", ""},
	}
	if got, err := InstallHistory(strings.NewReader(history)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := InstallHistory(strings.NewReader(strings.Repeat("<array>", 100))); err == nil {
		t.Error("a hundred lists within each other are a history")
	}
}

// A log is read on from where it was read to: also while it is written, when it was rotated, and
// when it was cut.
func TestFollow(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "var/log/dpkg.log")
	os.MkdirAll(filepath.Dir(path), 0o755)
	write := func(how int, text string) {
		t.Helper()
		f, err := os.OpenFile(path, how|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(text)
		f.Close()
	}
	line := func(name string) string { return "2026-01-02 03:04:05 install " + name + ":all <none> 1\n" }
	logs := NewLogs(root, in(time.UTC))
	expect := func(want string) {
		t.Helper()
		var got []string
		if err := logs.Follow(at("2026-01-01 00:00:00"), func(log string, c Change) { got = append(got, c.Package) }); err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	expect("") // no log at all
	write(os.O_APPEND, "2025-01-02 03:04:05 install old:all <none> 1\n"+line("a")+line("b")[:20])
	expect("a")
	expect("")
	write(os.O_APPEND, line("b")[20:]+line("c"))
	expect("b c")
	write(os.O_APPEND, line("d"))
	os.Rename(path, path+".1")
	write(os.O_APPEND, line("eeee"))
	expect("d eeee")
	write(os.O_TRUNC, line("f"))
	expect("f")
	write(os.O_APPEND, strings.Repeat("x", 100<<10)+"\n"+line("g"))
	expect("g")

	// What was written before the first look is read even if the log was rotated since.
	os.WriteFile(path+".1", []byte(line("h")), 0o644)
	os.WriteFile(path, []byte(line("i")), 0o644)
	logs = NewLogs(root, in(time.UTC))
	expect("h i")
}

// Hours without a zone are those of the machine: in summer others than in winter, and the hour that
// there is twice is one of the two.
func TestHoursOfTheMachine(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for local, want := range map[string][]string{
		"2026-01-15 02:11:00": {"2026-01-15 01:11:00"}, "2026-07-15 02:11:00": {"2026-07-15 00:11:00"},
		"2026-03-29 03:00:01": {"2026-03-29 01:00:01"}, "2026-10-25 02:30:00": {"2026-10-25 00:30:00", "2026-10-25 01:30:00"},
	} {
		c, ok := dpkg{in(zone)}.line(local + " install nginx:amd64 <none> 1")
		if got := c.At.UTC().Format(time.DateTime); !ok || !slices.Contains(want, got) {
			t.Errorf("%s is %s", local, got)
		}
	}
}

// A machine that travels writes in the hours of where it is.
func TestZoneIsChanged(t *testing.T) {
	root := t.TempDir()
	os.MkdirAll(filepath.Join(root, "var/log"), 0o755)
	zone := time.UTC
	logs := NewLogs(root, func() *time.Location { return zone })
	for i := range 2 {
		os.WriteFile(filepath.Join(root, "var/log/dpkg.log"), []byte(strings.Repeat("2026-01-02 03:04:05 install a:all <none> 1\n", i+1)), 0o644)
		logs.Follow(time.Time{}, func(_ string, c Change) {
			if want := at("2026-01-02 03:04:05").Add(-time.Duration(i) * time.Hour); !c.At.Equal(want) {
				t.Errorf("%s, want %s", c.At, want)
			}
		})
		zone = time.FixedZone("", 3600)
	}
}

// The first look at a large log reads its last part, and a log that grows quickly is read in steps.
func TestFollowIsBounded(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "var/log/dpkg.log")
	os.MkdirAll(filepath.Dir(path), 0o755)
	var b strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&b, "2026-01-02 03:04:05 install p%d:all <none> 1\n", i)
	}
	os.WriteFile(path, []byte(b.String()), 0o644)
	logs := NewLogs(root, in(time.UTC))
	count := func() (n int) {
		if err := logs.Follow(time.Time{}, func(string, Change) { n++ }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(); n < mostOld/60 || n > mostOld/40 {
		t.Errorf("%d changes in the last part", n)
	}
	os.WriteFile(path, []byte(b.String()[:100]), 0o644)
	count()
	os.WriteFile(path, []byte(b.String()), 0o644)
	total := 0
	for n := count(); n > 0; n = count() {
		if total += n; n*45 > most+most/2 {
			t.Errorf("%d changes in one look", n)
		}
	}
	if total < 39_990 {
		t.Errorf("%d changes", total)
	}
}

// endless is a log of one line of a gigabyte, which counts what is read of it.
type endless struct{ read int }

func (e *endless) ReadAt(b []byte, _ int64) (int, error) {
	e.read += len(b)
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func TestEndlessLine(t *testing.T) {
	var e endless
	l := &log{parser: oneByOne(dpkg{in(time.UTC)}.line)}
	at, err := l.read(&e, 0, 1<<30, false, func(c Change) { t.Error(c) })
	if err != nil || at < most || e.read > most+len(l.buf) {
		t.Errorf("read %d bytes up to %d, %v", e.read, at, err)
	}
}

// Nothing leads the reader elsewhere, and nothing makes it wait.
func TestOnlyFiles(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "var/log")
	os.MkdirAll(dir, 0o755)
	os.WriteFile(filepath.Join(root, "elsewhere"), []byte("2026-01-02 03:04:05 install a:all <none> 1\n"), 0o644)
	os.Symlink(filepath.Join(root, "elsewhere"), filepath.Join(dir, "dpkg.log"))
	if err := syscall.Mkfifo(filepath.Join(dir, "pacman.log"), 0o644); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := NewLogs(root, in(time.UTC)).Follow(time.Time{}, func(string, Change) { n++ })
	if err == nil || n != 0 {
		t.Errorf("%v, %d changes", err, n)
	}
}

func FuzzLogs(f *testing.F) {
	f.Add("2025-06-24 14:36:25 upgrade a:amd64 1 2")
	f.Add("[2026-01-02T03:04:05+0000] [ALPM] upgraded linux (6.1-1 -> 6.2-1)")
	f.Add("2026-01-02 03:04:05|install|nginx|1.27-1.1|x86_64|")
	f.Add("2026-01-02T03:04:05+0000 SUBDEBUG Installed: nginx-1:1.28.0-1.el9.x86_64")
	f.Add(dnf5Lines("7", "install nginx-1:1.28.0-1.fc43.x86_64", "uninstall nginx-1:1.26.0-1.fc43.x86_64"))
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range NewLogs("/nowhere", in(time.UTC)).logs {
			check := func(c Change) {
				for _, s := range []string{c.Package, c.Was, c.Is} {
					if len(s) > longestWord+3 || strings.ContainsAny(s, "\x1b\n\x00") {
						t.Errorf("%s: %q", l.name, s)
					}
				}
			}
			for line := range strings.Lines(text) {
				l.parser.line(line, check)
			}
			if h, ok := l.parser.(holder); ok && h.ended() {
				h.settle(check)
			}
		}
	})
}

func FuzzInstallHistory(f *testing.F) {
	f.Add(history)
	f.Fuzz(func(t *testing.T, text string) { InstallHistory(strings.NewReader(text)) })
}

func FuzzRPMList(f *testing.F) {
	f.Add("nginx\t1:1.28-1\t1000\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, _ := rpmList(strings.NewReader(text))
		for _, c := range Compare(nil, list, time.Time{}, time.Now()) {
			if strings.ContainsAny(c.Package+c.Is, "\x1b\n\x00") {
				t.Errorf("%q", c)
			}
		}
	})
}
