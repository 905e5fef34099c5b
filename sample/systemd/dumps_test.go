package systemd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

const bootID = "11112222333344445555666677778888"

// place writes a file that was changed at a time.
func place(t testing.TB, path, content string, at time.Time) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestParseDump(t *testing.T) {
	for name, want := range map[string]string{
		"core.nginx.33." + bootID + ".4242.1763900009500000.zst":              "nginx 33 4242 2025-11-23T12:13:29.5Z",
		"core.nginx.33." + bootID + ".4242.1763900009000000":                  "nginx 33 4242 2025-11-23T12:13:29Z",
		`core.my\x2eapp\x20\x281\x29.0.` + bootID + `.1.1763900009000000.lz4`: "my.app (1) 0 1 2025-11-23T12:13:29Z",
		`core.a\x.0.` + bootID + `.1.1763900009000000.xz`:                     `a\x 0 1 2025-11-23T12:13:29Z`,
		`core.\x1b\x5bm\xff.0.` + bootID + `.1.1763900009000000`:              "?[m� 0 1 2025-11-23T12:13:29Z",
		"core.nginx.33." + bootID + ".4242.1763900009500000.gz":               "",
		"core.nginx.33." + bootID + ".4242.1763900009500000.zst.tmp":          "",
		"core.nginx.33." + bootID[1:] + ".4242.1763900009500000":              "",
		"core.nginx.-1." + bootID + ".4242.1763900009500000":                  "",
		"core.nginx.33." + bootID + ".0.1763900009500000":                     "",
		"core.nginx.33." + bootID + ".4242.x":                                 "",
		"core.nginx.33." + bootID + ".4242.99999999999999999999":              "",
		".#core.nginx.33." + bootID + ".4242.1763900009500000.zst3a1f":        "",
		"core": "", "": "",
	} {
		got := ""
		if d, ok := parseDump(name); ok {
			got = fmt.Sprintf("%s %d %d %s", d.Comm, d.UID, d.PID, d.Time.Format(time.RFC3339Nano))
			if d.Boot.String() != bootID {
				t.Errorf("%s: boot %s", name, d.Boot)
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestListDumps(t *testing.T) {
	dir := t.TempDir()
	if dumps, err := ListDumps(filepath.Join(dir, "nowhere")); len(dumps) != 0 || err != nil {
		t.Errorf("%v, %v", dumps, err)
	}
	name := func(i int) string { return fmt.Sprintf("core.a.0.%s.%d.%d.zst", bootID, i, 1763900000000000+i) }
	for i := 1; i <= maxDumps+10; i++ {
		place(t, filepath.Join(dir, name(i)), strings.Repeat("x", i%7), time.Now())
	}
	last := filepath.Join(dir, name(maxDumps+10))
	if err := os.Remove(last); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", last); err != nil {
		t.Fatal(err)
	}
	dumps, err := ListDumps(dir)
	if err != nil || len(dumps) != maxDumps-1 || dumps[0].PID != 11 || dumps[0].Size != 4 || dumps[0].Path != filepath.Join(dir, name(11)) || dumps[len(dumps)-1].PID != maxDumps+9 {
		t.Errorf("%d dumps, %+v, %v", len(dumps), dumps[0], err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if dumps, err := ListDumps(link); len(dumps) != 0 || err == nil {
		t.Errorf("%d dumps behind a link, %v", len(dumps), err)
	}
}

const crashFile = `ProblemType: Crash
Architecture: amd64
Date: Sun Nov 23 12:13:29 2025
DistroRelease: Ubuntu 24.04
ExecutablePath: /usr/bin/foo
Package: foo 1.2-3ubuntu1
ProcCmdline: foo --password=hunter2
ProcEnviron:
 PATH=/bin
 PASSWORD=hunter2
ProcStatus:
 Name:	foo
 Pid:	77
Signal: 11
StacktraceTop:
 main_loop (ctx=0x0) at loop.c:33
 ?? ()
 main () at main.c:7
Uid: 1000
CoreDump: base64
 H4sICAAAAAAC/0NvcmVEdW1wAA==
 Signal: 99
`

func TestListCrashFiles(t *testing.T) {
	dir := t.TempDir()
	at := time.Unix(1763900010, 0)
	place(t, filepath.Join(dir, "_usr_bin_foo.1000.crash"), crashFile, at)
	place(t, filepath.Join(dir, "_usr_bin_bar.33.crash"), "ProblemType: Crash\nExecutablePath: /usr/bin/bar\x1b[31m\nSignal: 6\nPid: 5\n", at.Add(-time.Hour))
	place(t, filepath.Join(dir, "huge.0.crash"), "ProblemType: KernelOops\nOopsText:\n"+strings.Repeat(" line\n", maxHead), at.Add(time.Hour))
	place(t, filepath.Join(dir, "other.crash"), "\x7fELF\x00\x00", at)
	place(t, filepath.Join(dir, "empty.crash"), "", at)
	place(t, filepath.Join(dir, "_usr_bin_foo.1000.upload"), crashFile, at)
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.crash")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.crash"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ListCrashFiles(dir)
	for i, kept := range []struct {
		text  string
		whole bool
	}{
		{"ProblemType: Crash\nExecutablePath: /usr/bin/bar\x1b[31m\nSignal: 6\nPid: 5\n", true},
		{strings.Replace(strings.Split(crashFile, "CoreDump")[0], "ProcCmdline: foo --password=hunter2\nProcEnviron:\n PATH=/bin\n PASSWORD=hunter2\n", "", 1), true},
		{("ProblemType: KernelOops\nOopsText:\n" + strings.Repeat(" line\n", maxHead))[:maxHead], false},
	} {
		if i >= len(got) || got[i].Text != kept.text || got[i].Whole != kept.whole {
			t.Fatalf("the text of file %d is not what comes before the core", i)
		}
		got[i].Text, got[i].Whole = "", false
	}
	want := []CrashFile{
		{Path: filepath.Join(dir, "_usr_bin_bar.33.crash"), Executable: "/usr/bin/bar?[31m", Signal: 6, Problem: "Crash", Time: at.Add(-time.Hour), UID: 33, PID: 5},
		{Path: filepath.Join(dir, "_usr_bin_foo.1000.crash"), Executable: "/usr/bin/foo", Signal: 11, Problem: "Crash", Package: "foo 1.2-3ubuntu1", Time: at, UID: 1000, PID: Unknown,
			Stack: []string{"main_loop (ctx=0x0) at loop.c:33", "?? ()", "main () at main.c:7"}},
		{Path: filepath.Join(dir, "huge.0.crash"), Signal: Unknown, Problem: "KernelOops", Time: at.Add(time.Hour), UID: 0, PID: Unknown},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}
	for n := range len(crashFile) {
		if c, ok := parseCrash([]byte(crashFile[:n])); ok && strings.Contains(fmt.Sprint(c), "hunter2") {
			t.Fatalf("cut at %d: %+v", n, c)
		}
	}
}

const oops = `Panic#1 Part1
<6>[  120.100000][    C0] usb 1-2: USB disconnect, device number 5
<1>[  123.400000][  T412] BUG: kernel NULL pointer dereference, address: 0000000000000010
<4>[  123.400100][  T412] RIP: 0010:nvme_queue_rq+0x12/0x40 [nvme]
<4>[  123.400200][  T412] Call Trace:
<4>[  123.400300][  T412]  <TASK>
<4>[  123.400400][  T412]  blk_mq_dispatch_rq_list+0x1a0/0x820
<0>[  123.500000][  T412] Kernel panic - not syncing: Fatal exception in interrupt
<0>[  123.600000][  T412] Kernel Offset: 0x1e000000 from 0xffffffff81000000
<0>[  123.700000][  T412] ---[ end Kernel panic - not syncing: Fatal exception in interrupt ]---
`

func TestListPanics(t *testing.T) {
	dir := t.TempDir()
	at := time.Unix(1763900010, 0)
	place(t, filepath.Join(dir, "1763900000", "dmesg.txt"), oops, at)
	place(t, filepath.Join(dir, "1763900000", "dmesg-efi-176390000001001"), "only a part", at)
	place(t, filepath.Join(dir, "1763800000", "001", "dmesg.txt"), strings.Repeat("[    1.000000] before\n", maxPanic/10)+"[ 9876.5] general protection fault, probably for non-canonical address 0x1: 0000 [#1] SMP\n[ 9876.6] last\n", at.Add(-time.Hour))
	place(t, filepath.Join(dir, "dmesg-erst-1"), "no times\nin this one\n", at.Add(time.Hour))
	place(t, filepath.Join(dir, "console-ramoops-0"), oops, at)
	place(t, filepath.Join(dir, "a", "b", "c", "dmesg.txt"), oops, at)
	if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	got, err := ListPanics(dir)
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []Panic{
		{Path: filepath.Join(dir, "1763800000", "001", "dmesg.txt"), Time: at.Add(-time.Hour), Uptime: 9876500 * time.Millisecond,
			Reason: "general protection fault, probably for non-canonical address 0x1: 0000 [#1] SMP",
			Lines:  []string{"general protection fault, probably for non-canonical address 0x1: 0000 [#1] SMP", "last"}},
		{Path: filepath.Join(dir, "1763900000", "dmesg.txt"), Time: at, Uptime: 123500 * time.Millisecond, Reason: "Kernel panic - not syncing: Fatal exception in interrupt",
			Lines: []string{
				"BUG: kernel NULL pointer dereference, address: 0000000000000010", "RIP: 0010:nvme_queue_rq+0x12/0x40 [nvme]", "Call Trace:", "<TASK>", "blk_mq_dispatch_rq_list+0x1a0/0x820",
				"Kernel panic - not syncing: Fatal exception in interrupt", "Kernel Offset: 0x1e000000 from 0xffffffff81000000", "---[ end Kernel panic - not syncing: Fatal exception in interrupt ]---",
			}},
		{Path: filepath.Join(dir, "dmesg-erst-1"), Time: at.Add(time.Hour), Lines: []string{"no times", "in this one"}},
	} {
		if !reflect.DeepEqual(got[i], want) {
			t.Errorf("%+v\nwant %+v", got[i], want)
		}
	}
	if got, err := ListPanics(filepath.Join(dir, "nowhere")); len(got) != 0 || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ListPanics(filepath.Join(dir, "link")); !errors.Is(err, syscall.ELOOP) && !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("behind a link: %v", err)
	}
}

func FuzzCrashFile(f *testing.F) {
	f.Add([]byte(crashFile))
	f.Fuzz(func(t *testing.T, head []byte) {
		c, _ := parseCrash(head)
		if len(c.Executable) > maxText || len(c.Package) > maxFieldText || len(c.Stack) > maxFrames {
			t.Fatalf("%+v", c)
		}
	})
}

func FuzzPanic(f *testing.F) {
	f.Add([]byte(oops))
	f.Fuzz(func(t *testing.T, text []byte) {
		p := parsePanic(text)
		size := 0
		for _, line := range p.Lines {
			size += len(line)
		}
		if size > maxText || len(p.Lines) > maxPanicLines || p.Uptime < 0 {
			t.Fatalf("%+v", p)
		}
	})
}

func FuzzDump(f *testing.F) {
	f.Add("core.nginx.33." + bootID + ".4242.1763900009500000.zst")
	f.Fuzz(func(t *testing.T, name string) {
		if d, ok := parseDump(name); ok && (d.PID <= 0 || d.UID < 0 || len(d.Comm) > maxFieldText) {
			t.Fatalf("%+v", d)
		}
	})
}
