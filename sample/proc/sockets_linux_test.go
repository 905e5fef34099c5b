package proc

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"testing"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// If a process has not run, its files are the same, and its links are not read again. If it
// has run, it is read again, also if a descriptor was closed and used for another file.
func TestLinksOfIdleProcessesAreReadOnce(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("this needs bash")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skipf("this machine has no loopback: %v", err)
	}
	defer l.Close()
	address, port, _ := net.SplitHostPort(l.Addr().String())
	connect := fmt.Sprintf("<>/dev/tcp/%s/%s", address, port)
	cmd := exec.Command(shell, "-c", `while read -r l; do eval "$l"; echo; done`)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	answers := bufio.NewReader(out)
	r := openReader(t, Options{}, func(d *metric.Desc) bool {
		return d.Name == "proc.fd.count" || d.Name == "proc.net.tcp_count" || d.Name == "proc.net.udp_count"
	})
	files := 0 // at first
	for _, step := range []struct {
		do       string
		tcp, udp string
		more     int // files more than at first
	}{
		{":", "0", "0", 0}, {"exec 5" + connect, "1", "0", 1}, {"exec 6" + connect, "2", "0", 2},
		{"exec 5>&-; exec 5</dev/null", "1", "0", 2}, {"exec 5<>/dev/udp/127.0.0.1/9", "1", "1", 2}, {"exec 6>&-", "0", "1", 1},
	} {
		if _, err := io.WriteString(in, step.do+"\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := answers.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		awaitSleep(t, cmd.Process.Pid) // the process waits for its input
		r.read("proc")
		q := &r.kernel().table.lookup(int32(cmd.Process.Pid)).platform
		if !q.opened.known || q.stat.State != 'S' {
			t.Fatalf("after %q its links are known: %v, its state is %c", step.do, q.opened.known, q.stat.State)
		}
		if files == 0 {
			files = int(q.opened.count)
		}
		key := procfs.Key(int32(cmd.Process.Pid), q.stat.StartTime)
		want := map[string]string{"proc.net.tcp_count": step.tcp, "proc.net.udp_count": step.udp, "proc.fd.count": strconv.Itoa(files + step.more)}
		r.expect("proc", key, want)
		r.expect("proc", key, want)
		q.opened.sockets = nil // only reading the links again could restore them
		r.read("proc")
		r.expect("proc", key, map[string]string{"proc.net.tcp_count": "0", "proc.net.udp_count": "0", "proc.fd.count": want["proc.fd.count"]})
		q.opened.known = false
	}
}
