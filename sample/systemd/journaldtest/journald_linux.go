// Package journaldtest runs systemd's own journald for tests, in a directory of its own, which it
// takes for the whole file system. The machine's journald, if there is one, is not involved.
//
// Tests do not wait for a time: journald answers when it has written everything that it was sent.
package journaldtest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/testdata/patience"
)

// Machine is the number of the machine that journald believes to run on.
const Machine = "0123456789abcdef0123456789abcdef"

// Programs of systemd are in one of these directories.
var folders = []string{"/usr/lib/systemd", "/lib/systemd"}

// A Daemon is a journald.
type Daemon struct {
	Root string // its file system
	env  []string
	cmd  *exec.Cmd
	said *os.File
}

// settings have journald write everything that it is sent, by nobody but the test, to small files, of
// which it removes none.
const settings = `[Journal]
Storage=persistent
RateLimitBurst=0
SystemMaxFileSize=2M
RuntimeMaxFileSize=2M
SystemMaxFiles=10000
ReadKMsg=no
Audit=
ForwardToSyslog=no
ForwardToWall=no
`

// mounts makes a file system of a directory, with the machine's programs, processes and two of its
// devices, and with one in memory at /run. It is there until the input ends.
const mounts = `
mount --bind "$0" "$0"
cd "$0"
for d in usr lib lib64 bin sbin proc sys; do [ ! -d /$d ] || mount --rbind /$d $d; done
for f in dev/null dev/urandom; do mount --bind /$f $f; done
mount -t tmpfs tmpfs run
mkdir run/systemd
pivot_root . .
umount -l .
echo ready
exec cat
`

// Program returns the path of one of systemd's programs that are not for users. It skips the test
// where there is none.
func Program(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range folders {
		if path := filepath.Join(dir, name); executable(path) {
			return path
		}
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// Need skips a test where one of the programs is missing that users have.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if !executable(p) {
			t.Skipf("%s is not installed", p)
		}
	}
}

func executable(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}

// Start starts a journald, which keeps its journal in memory until Flush, as it does at the start of
// a machine. It ends with the test, which is skipped where there can be none.
func Start(t testing.TB, env ...string) *Daemon {
	t.Helper()
	program := Program(t, "systemd-journald")
	Need(t, "unshare", "nsenter", "mount", "umount", "pivot_root", "journalctl")
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	d := &Daemon{env: env}
	dir := t.TempDir()
	for _, name := range strings.Fields("etc/systemd run var/log/journal var/lib/systemd/coredump tmp proc sys dev usr lib lib64 bin sbin") {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"etc/machine-id": Machine + "\n", "etc/systemd/journald.conf": settings, "etc/passwd": "root:x:0:0::/:/bin/sh\n", "dev/null": "", "dev/urandom": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d.Root = mounted(t, dir)
	t.Cleanup(d.Kill)
	var err error
	if d.said, err = os.Create(filepath.Join(dir, "said")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(d.said.Name())
			t.Logf("journald said last:\n%s", text[max(len(text)-4096, 0):])
		}
		d.said.Close()
	})
	d.start(t, program)
	return d
}

// mounted returns the path of a directory whose mounts are there, until the end of the test.
func mounted(t testing.TB, dir string) string {
	t.Helper()
	cmd := exec.Command("unshare", "--mount", "sh", "-ec", mounts, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		cmd.Wait()
		t.Skipf("needs root with mounts of its own: %s", said.String())
	}
	root := fmt.Sprintf("/proc/%d/root", cmd.Process.Pid)
	if id, err := os.ReadFile(filepath.Join(root, "etc/machine-id")); string(id) != Machine+"\n" {
		t.Fatalf("%s is not the directory of the test: %q, %v", root, id, err)
	}
	return root
}

// Command is a program that has the file system of journald.
func (d *Daemon) Command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command("nsenter", append([]string{"--mount=" + filepath.Join(filepath.Dir(d.Root), "ns/mnt"), program}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

func (d *Daemon) start(t testing.TB, program string) {
	t.Helper()
	d.cmd = d.Command(program)
	d.cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET // from where the machine's audit is not reached
	d.cmd.Env = append(os.Environ(), d.env...)
	d.cmd.Stderr = d.said
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "journald answers", func() bool { return d.call("Synchronize") == nil })
}

// Kill ends journald without giving it the time to close its files.
func (d *Daemon) Kill() {
	if d.cmd != nil {
		d.cmd.Process.Kill()
		d.cmd.Wait()
		d.cmd = nil
	}
}

// Signal sends journald a signal.
func (d *Daemon) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// Again starts a journald that was killed.
func (d *Daemon) Again(t testing.TB) {
	t.Helper()
	d.start(t, Program(t, "systemd-journald"))
}

// Sync returns when everything is in the files that was sent before.
func (d *Daemon) Sync(t testing.TB) { d.must(t, "Synchronize") }

// Flush moves the journal from memory to the disk, where it is kept from now on.
func (d *Daemon) Flush(t testing.TB) { d.must(t, "FlushToVar") }

// Rotate has journald go on in new files.
func (d *Daemon) Rotate(t testing.TB) { d.must(t, "Rotate") }

func (d *Daemon) must(t testing.TB, method string) {
	t.Helper()
	if err := d.call(method); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

// call asks journald to do something and waits until it has done it.
func (d *Daemon) call(method string) error {
	c, err := net.Dial("unix", d.socket("io.systemd.journal"))
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience.Stretch(time.Minute)))
	if _, err := fmt.Fprintf(c, `{"method":"io.systemd.Journal.%s","parameters":{}}`+"\x00", method); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, err := c.Read(answer)
	if err == nil && bytes.Contains(answer[:n], []byte(`"error"`)) {
		err = errors.New(string(answer[:n]))
	}
	return err
}

func (d *Daemon) socket(name string) string {
	return filepath.Join(d.Root, "run/systemd/journal", name)
}

// Folder is the directory of the journal on disk.
func (d *Daemon) Folder() string { return filepath.Join(d.Root, "var/log/journal", Machine) }

// A Sender is the process of whom journald believes that it logs.
type Sender struct{ PID, UID int32 }

// Me is the test.
func Me() Sender { return Sender{PID: int32(os.Getpid())} }

// Send sends an entry: fields NAME=value.
func (d *Daemon) Send(t testing.TB, from Sender, fields ...string) {
	t.Helper()
	var text bytes.Buffer
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		if !strings.Contains(value, "\n") {
			fmt.Fprintln(&text, f)
			continue
		}
		fmt.Fprintln(&text, name)
		binary.Write(&text, binary.LittleEndian, uint64(len(value)))
		fmt.Fprintln(&text, value)
	}
	d.send(t, from, "socket", text.Bytes())
}

// Syslog sends a line as programs do that know syslog only.
func (d *Daemon) Syslog(t testing.TB, from Sender, line string) {
	t.Helper()
	d.send(t, from, "dev-log", []byte(line))
}

// Stream returns what systemd makes the standard error of a service, as which an entry of each line
// is made, and the JOURNAL_STREAM of its environment.
func (d *Daemon) Stream(t testing.TB, identifier string) (stderr *os.File, env string) {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: d.socket("stdout"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// No unit; lines without a priority have 6; those with one are read so; nothing is forwarded.
	if _, err := fmt.Fprintf(c, "%s\n\n6\n1\n0\n0\n0\n", identifier); err != nil {
		t.Fatal(err)
	}
	f, err := c.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		t.Fatal(err)
	}
	return f, fmt.Sprintf("JOURNAL_STREAM=%d:%d", stat.Dev, stat.Ino)
}

// longest is what is sent as one message; what is longer is sent as a file.
const longest = 64 << 10

func (d *Daemon) send(t testing.TB, from Sender, socket string, text []byte) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	rights := unix.UnixCredentials(&unix.Ucred{Pid: from.PID, Uid: uint32(from.UID), Gid: uint32(from.UID)})
	if len(text) > longest {
		f, err := memory(text)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rights, text = append(rights, unix.UnixRights(int(f.Fd()))...), nil
	}
	if err := unix.Sendmsg(fd, text, rights, &unix.SockaddrUnix{Name: d.socket(socket)}, 0); err != nil {
		t.Fatal(err)
	}
}

// memory returns a file in memory that nobody can change any more, as journald wants it.
func memory(text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("entry", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "entry")
	_, err = f.Write(text)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	return f, err
}
