package said

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tachograph/sample/systemd/journaldtest"
	"tachograph/testdata/patience"
)

// crashing reads what is not there.
const crashing = `
static int inner(int *p) { return *p; }
int outer(long n) { return inner((int *)n) + 1; }
int main(int argc, char **argv) { return outer(argc); }
`

// TestSystemdCoredump has a program crash, and its core taken by systemd's own programs: the file
// that they keep and the entry that they write are one event, with the stack.
func TestSystemdCoredump(t *testing.T) {
	program := journaldtest.Program(t, "systemd-coredump")
	journaldtest.Need(t, "gdb", "cc")
	d := journaldtest.Start(t)
	d.Flush(t)
	cc := exec.Command("cc", "-g", "-O0", "-x", "c", "-o", filepath.Join(d.Root, "tmp/crashing.program"), "-")
	cc.Stdin = strings.NewReader(crashing)
	run(t, cc)
	began := time.Now()
	r := newRig(t, nil)
	r.source, r.now.Wall = New(d.Root, began.Add(-time.Second), Machine{}), began.UnixNano()
	defer r.source.Close()
	if r.read(0); len(r.events) > 0 {
		t.Fatalf("%+v", r.events)
	}

	// Until journald goes on, the file is there and the entry is not.
	d.Signal(t, syscall.SIGSTOP)
	dumpCore(t, d, program, began.Unix())
	files, err := filepath.Glob(filepath.Join(d.Root, "var/lib/systemd/coredump/core.*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	if r.read(10 * time.Second); len(r.events) > 0 {
		t.Errorf("an event before its entry: %+v", r.events)
	}
	d.Signal(t, syscall.SIGCONT)
	d.Sync(t)
	if r.read(10 * time.Second); len(r.events) != 1 {
		t.Fatalf("%+v", r.events)
	}
	e := r.events[0]
	text := fmt.Sprintf("crashing.progra (pid %s) dumped core: SIGSEGV, in inner (crashing.program + 0x", e.Label("pid"))
	if frames := strings.Split(e.Label("frames"), "; "); !strings.HasPrefix(e.Text, text) || len(frames) < 3 ||
		!strings.HasPrefix(frames[1], "outer (") || !strings.HasPrefix(frames[2], "main (") || e.At.Wall/1e9 != began.Unix() {
		t.Errorf("%+v", e)
	}
	if r.read(time.Hour); len(r.events) > 0 {
		t.Errorf("again: %+v", r.events)
	}
}

// dumpCore has a program crash at a time. The kernel would start systemd-coredump while the process
// is still there, which the debugger sees to here; that hands the core to a second one, which
// systemd would start at a socket.
func dumpCore(t *testing.T, d *journaldtest.Daemon, program string, seconds int64) {
	t.Helper()
	at, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: filepath.Join(d.Root, "run/systemd/coredump"), Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	const kernel = `python gdb.execute("shell %s %%d 0 0 11 %d 18446744073709551615 host < /tmp/core" %% gdb.selected_inferior().pid)`
	run(t, d.Command("gdb", "-nx", "-batch", "-ex", "run", "-ex", "generate-core-file /tmp/core", "-ex", fmt.Sprintf(kernel, program, seconds), "--args", "/tmp/crashing.program"))
	at.SetDeadline(time.Now().Add(patience.Stretch(10 * time.Second))) // it has connected, or never will
	c, err := at.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f, err := c.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	second := d.Command("sh", "-c", `LISTEN_FDS=1 LISTEN_PID=$$ exec "$0"`, program)
	second.ExtraFiles = []*os.File{f}
	run(t, second)
}

func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}
