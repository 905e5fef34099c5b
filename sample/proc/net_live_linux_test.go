package proc

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/sample/socket"
	"tachograph/testdata/patience"
)

// talk is the role of a process that does what its input says: it listens, connects, sends, and
// hands connections on. The process that listens answers with half as many bytes as it received.
func talk() {
	var conns []net.Conn
	if f := os.NewFile(3, "handed"); f != nil {
		if c, err := net.FileConn(f); err == nil {
			conns = append(conns, c)
			f.Close()
		}
	}
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	connect := func(port string) net.Conn {
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
		must(err)
		return c
	}
	send := func(c net.Conn, size string) {
		n, err := strconv.Atoi(size)
		must(err)
		_, err = c.Write(append(binary.BigEndian.AppendUint64(nil, uint64(n-8)), make([]byte, n-8)...))
		must(err)
		_, err = io.ReadFull(c, make([]byte, n/2))
		must(err)
	}
	var child *exec.Cmd
	var toChild io.Writer
	var fromChild *bufio.Reader
	at := func(i string) int {
		n, err := strconv.Atoi(i)
		must(err)
		return n
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		w := strings.Fields(in.Text())
		switch w[0] {
		case "listen":
			l, err := net.Listen("tcp", "127.0.0.1:0")
			must(err)
			go reply(l)
			_, port, _ := net.SplitHostPort(l.Addr().String())
			fmt.Println(port)
			continue
		case "connect":
			conns = append(conns, connect(w[1]))
		case "send":
			send(conns[at(w[1])], w[2])
		case "short":
			for range at(w[2]) {
				c := connect(w[1])
				send(c, w[3])
				c.Close()
			}
		case "close":
			conns[at(w[1])].Close()
		case "hand": // to a child, and close it
			f, err := conns[at(w[1])].(*net.TCPConn).File()
			must(err)
			child = exec.Command("/proc/self/exe")
			child.Env = append(os.Environ(), roleVariable+"=talk")
			child.ExtraFiles = []*os.File{f}
			toChild, err = child.StdinPipe()
			must(err)
			out, err := child.StdoutPipe()
			must(err)
			fromChild = bufio.NewReader(out)
			must(child.Start())
			f.Close()
			conns[at(w[1])].Close()
			_, err = fromChild.ReadString('\n')
			must(err)
			fmt.Println(child.Process.Pid)
			continue
		case "child":
			_, err := io.WriteString(toChild, strings.Join(w[1:], " ")+"\n")
			must(err)
			_, err = fromChild.ReadString('\n')
			must(err)
		}
		fmt.Println("done")
	}
}

// reply accepts connections and answers what they send.
func reply(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			for {
				var size [8]byte
				if _, err := io.ReadFull(c, size[:]); err != nil {
					return
				}
				n := int64(binary.BigEndian.Uint64(size[:]))
				if _, err := io.CopyN(io.Discard, c, n); err != nil {
					return
				}
				if _, err := c.Write(make([]byte, (n+8)/2)); err != nil {
					return
				}
			}
		}()
	}
}

// say gives an actor in the role talk its next order, and returns the answer.
func (a *actor) say(order string, args ...any) string {
	a.t.Helper()
	if _, err := fmt.Fprintf(a.in, order+"\n", args...); err != nil {
		a.t.Fatal(err)
	}
	line, err := a.out.ReadString('\n')
	if err != nil {
		a.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// netReader reads what processes transfer, and checks in each reading that the parts add up.
type netReader struct {
	*reader
	last map[string][2]uint64 // by process, those that have ended included
}

func openNet(t *testing.T) *netReader {
	r := openReader(t, Options{}, func(d *metric.Desc) bool {
		return d.Class == metric.Process && (strings.HasPrefix(d.Name, "proc.net.") || strings.HasPrefix(d.Name, "network.traffic.") ||
			d.Name == "proc.psinfo.utime")
	})
	if lacks := r.kernel().net.lacks; lacks != "" {
		t.Skip(lacks)
	}
	r.kernel().net.cpu = nil // as many lists as the test wants
	return &netReader{r, make(map[string][2]uint64)}
}

// look reads, after the kernel has reported what has closed by now.
func (r *netReader) look() {
	r.t.Helper()
	r.reader.read("proc")
	b := r.frames["proc"].Block()
	for row, in := range b.Rows {
		before := r.last[in.Key]
		now := before
		for i, name := range []string{"proc.net.in_bytes", "proc.net.out_bytes"} {
			for col, d := range b.Group.Metrics {
				if v := b.Cols[col].At(d.Type, row); d.Name == name && v.Miss == metric.Present {
					now[i] = v.Bits
				}
			}
			if now[i] < before[i] {
				r.t.Errorf("%s of %s fell from %d to %d", name, in.Name, before[i], now[i])
			}
		}
		r.last[in.Key] = now
	}
	if len(r.kernel().finals) > 0 {
		return // a last row is still to come
	}
	for i, name := range []string{"in_bytes", "out_bytes"} {
		sum := r.value("network.traffic", "", "network.traffic.unattributed."+name).Bits
		for _, p := range r.last {
			sum += p[i]
		}
		if all := r.value("network.traffic", "", "network.traffic."+name).Bits; all != sum {
			r.t.Fatalf("the parts have %d %s, all connections %d", sum, name, all)
		}
	}
}

// of returns a number of a process.
func (r *netReader) of(key, name string) uint64 {
	r.t.Helper()
	v := r.value("proc", key, name)
	if v.Miss != metric.Present {
		r.t.Fatalf("%s of %s: %v", name, key, v.Miss)
	}
	return v.Bits
}

// has compares what a process transferred and its connections. Of each connection that has
// closed, one byte more may have arrived: the end counts as one.
func (r *netReader) has(key string, in, out, closed uint64, open, opened, accepted uint64) {
	r.t.Helper()
	if got := r.of(key, "proc.net.in_bytes"); got < in || got > in+closed {
		r.t.Errorf("%s received %d bytes, want %d", key, got, in)
	}
	if got := r.of(key, "proc.net.out_bytes"); got != out {
		r.t.Errorf("%s sent %d bytes, want %d", key, got, out)
	}
	if got := r.of(key, "proc.net.loopback.out_bytes"); got != out {
		r.t.Errorf("%s sent %d bytes to this machine, want %d", key, got, out)
	}
	got := [3]uint64{r.of(key, "proc.net.connections"), r.of(key, "proc.net.opened"), r.of(key, "proc.net.accepted")}
	if got != [3]uint64{open, opened, accepted} {
		r.t.Errorf("%s has %d connections, opened %d, accepted %d; want %d, %d, %d", key, got[0], got[1], got[2], open, opened, accepted)
	}
}

func startTalk(t *testing.T) (a *actor, key string) {
	a = start(t, "talk", nil)
	a.await("ready")
	return a, keyOf(t, a.cmd.Process.Pid)
}

// TestLiveTransfers transfers known numbers of bytes between two processes, from before the
// source is opened until after one of them has ended.
func TestLiveTransfers(t *testing.T) {
	server, serverKey := startTalk(t)
	client, clientKey := startTalk(t)
	port := server.say("listen")
	client.say("connect %s", port)
	client.say("send 0 100000")
	r := openNet(t)
	r.look()
	r.has(serverKey, 100000, 50000, 0, 1, 0, 1)
	r.has(clientKey, 50000, 100000, 0, 1, 1, 0)
	client.say("send 0 1000")
	client.say("connect %s", port)
	patience.Until(t, "the connection is accepted", func() bool { r.look(); return r.of(serverKey, "proc.net.connections") == 2 })
	r.has(serverKey, 101000, 50500, 0, 2, 0, 2)
	r.has(clientKey, 50500, 101000, 0, 2, 2, 0)

	// Connections that no list has: the server's half is known by its port.
	before := r.value("network.traffic", "", "network.traffic.unattributed.out_bytes").Bits
	client.say("short %s 100 500", port)
	client.say("close 1")
	patience.Until(t, "all are reported", func() bool {
		r.look()
		return r.of(serverKey, "proc.net.accepted") == 102 && r.of(serverKey, "proc.net.connections") == 1
	})
	r.has(serverKey, 151000, 75500, 101, 1, 0, 102)
	if got := r.value("network.traffic", "", "network.traffic.unattributed.out_bytes").Bits - before; got < 50000 {
		t.Errorf("nobody has %d bytes more", got)
	}

	// A process ends: its last row has what it sent since the last look.
	client.say("send 0 3000")
	client.finish()
	patience.Until(t, "its last row comes", func() bool { r.look(); return r.last[clientKey][1] >= 104000 })
	if got := r.last[clientKey]; got[1] != 104000 || got[0] < 52000 || got[0] > 52002 {
		t.Errorf("in the end it had received and sent %d bytes", got)
	}
	r.look()
}

// TestLiveHandedOn hands a connection on to a child.
func TestLiveHandedOn(t *testing.T) {
	server, _ := startTalk(t)
	client, clientKey := startTalk(t)
	client.say("connect %s", server.say("listen"))
	client.say("send 0 1000")
	r := openNet(t)
	r.look()
	r.has(clientKey, 500, 1000, 0, 1, 1, 0)
	pid, err := strconv.Atoi(client.say("hand 0"))
	if err != nil {
		t.Fatal(err)
	}
	client.say("child send 0 4000")
	r.look()
	childKey := keyOf(t, pid)
	r.has(clientKey, 500, 1000, 0, 0, 1, 0)
	r.has(childKey, 2000, 4000, 0, 1, 0, 0)
	client.say("child send 0 2000")
	r.look()
	r.has(childKey, 3000, 6000, 0, 1, 0, 0)
}

// TestLiveListener finds a port that is listened on, and whose it is.
func TestLiveListener(t *testing.T) {
	server, serverKey := startTalk(t)
	port := server.say("listen")
	r := openReader(t, Options{Network: socket.Options{Named: 1000}}, func(d *metric.Desc) bool { return d.Class == metric.Network })
	if lacks := r.kernel().net.lacks; lacks != "" {
		t.Skip(lacks)
	}
	client, clientKey := startTalk(t)
	client.say("connect %s", port)
	client.say("send 0 100000")
	r.read("proc")
	key := "tcp 127.0.0.1:" + port
	r.expect("listeners", key, map[string]string{
		"network.listener.backlog": "0", "network.listener.connections": "1", "network.listener.sockets": "1", "network.listener.drops": "0"})
	if in := r.instance("listeners", key); in.Label("process") != serverKey || in.Label("address") != "127.0.0.1" || in.Label("port") != port {
		t.Errorf("%+v", in)
	}
	found := 0
	for _, key := range r.rows("connections") {
		in := r.instance("connections", key)
		switch p := in.Label("process"); {
		case p == clientKey && in.Label("direction") == "out" && in.Label("peer_port") == port:
			found++
			r.expect("connections", key, map[string]string{"network.persocket.bytes_sent": "100000", "network.persocket.bytes_received": "50000",
				"network.persocket.state": "ESTAB", "network.persocket.dst": "localhost:" + port, "network.persocket.process": clientKey})
		case p == serverKey && in.Label("direction") == "in" && in.Label("port") == port:
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d of 2 connections were found among %d", found, len(r.rows("connections")))
	}
}
