package linux

import (
	"bytes"
	"io"
	"os"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/socket"
)

// tcpconn counts TCP connections by state. On this machine it asks the kernel over netlink,
// which costs a fraction of printing and parsing /proc/net/tcp. It reads that file on kernels
// without the netlink module, and for copies of the files.
type tcpconn struct {
	root  string
	group *metric.Group
	diag  diagnoser // nil without netlink
	paths [2]string
	buf   []byte
}

// diagnoser asks the kernel for its TCP sockets.
type diagnoser interface {
	// Count adds the sockets to counts.
	Count(counts *socket.StateCounts) error
	Close() error
}

// tcpStates are the kernel's states with a metric.
var tcpStates = [...]struct {
	number int
	name   string
}{
	{1, "established"}, {2, "syn_sent"}, {3, "syn_recv"}, {4, "fin_wait1"}, {5, "fin_wait2"}, {6, "time_wait"},
	{7, "close"}, {8, "close_wait"}, {9, "last_ack"}, {10, "listen"}, {11, "closing"},
}

// newSynRecv is the state of a requested connection in kernels that keep such requests apart
// from sockets.
const newSynRecv, synRecv = 12, 3

func newTCPConn(root string) (*tcpconn, error) {
	t := &tcpconn{root: root, paths: [2]string{root + "/proc/net/tcp", root + "/proc/net/tcp6"}}
	if root == "" {
		t.diag = openDiagnoser()
	}
	return t, t.Refresh()
}

func (t *tcpconn) Name() string            { return "tcpconn" }
func (t *tcpconn) Groups() []*metric.Group { return []*metric.Group{t.group} }

func (t *tcpconn) Close() error {
	if t.diag != nil {
		return t.diag.Close()
	}
	return nil
}

func (t *tcpconn) Refresh() error {
	var names []string
	for _, s := range tcpStates {
		names = append(names, "network.tcpconn."+s.name)
	}
	t.group = catalog.Group(catalog.Linux, "tcpconn", names...)
	if _, err := os.Stat(t.paths[0]); err != nil && t.diag == nil {
		for _, d := range t.group.Metrics {
			d.Unsupported = lacking("/proc/net/tcp", err)
		}
	}
	return nil
}

func (t *tcpconn) Read(c *sample.Context, frames []*sample.Frame) error {
	var counts socket.StateCounts
	if err := t.count(&counts); err != nil {
		return err
	}
	at := c.Now()
	counts[synRecv] += counts[newSynRecv]
	for _, f := range frames {
		f.Reset(at)
		row := f.Row(nil)
		for i, s := range tcpStates {
			f.SetUint(row, i, counts[s.number])
		}
	}
	return nil
}

func (t *tcpconn) count(counts *socket.StateCounts) error {
	if t.diag != nil {
		if t.diag.Count(counts) == nil {
			return nil
		}
		// The kernel lacks the module: do not ask it again.
		t.diag.Close()
		t.diag = nil
		*counts = socket.StateCounts{}
	}
	for i, path := range t.paths {
		err := t.countFile(path, counts)
		if os.IsNotExist(err) && i > 0 {
			continue // a kernel without IPv6
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// countFile streams a table of sockets through one buffer, because it can be many megabytes
// long.
func (t *tcpconn) countFile(path string, counts *socket.StateCounts) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if t.buf == nil {
		t.buf = make([]byte, 64<<10)
	}
	kept := 0
	for {
		n, err := f.Read(t.buf[kept:])
		kept += n
		used := countLines(t.buf[:kept], counts)
		kept = copy(t.buf, t.buf[used:kept])
		if kept == len(t.buf) {
			kept = 0 // a line longer than the buffer is not from this table
		}
		if err == io.EOF {
			countLine(t.buf[:kept], counts)
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// countLines counts the complete lines of b and returns their length.
func countLines(b []byte, counts *socket.StateCounts) (used int) {
	for {
		i := bytes.IndexByte(b[used:], '\n')
		if i < 0 {
			return used
		}
		countLine(b[used:used+i], counts)
		used += i + 1
	}
}

// countLine counts a line: "0: 0100007F:0016 00000000:0000 0A ...".
func countLine(l []byte, counts *socket.StateCounts) {
	w, _ := word(skip(l, 3))
	if state, ok := hex(w); ok && state < uint64(len(counts)) {
		counts[state]++
	}
}
