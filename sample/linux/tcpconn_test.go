package linux

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/sample/socket"
)

const tcpHead = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

func tcpTable(states ...int) string {
	var b strings.Builder
	b.WriteString(tcpHead)
	for i, s := range states {
		fmt.Fprintf(&b, "%4d: 0100007F:%04X 00000000:0000 %02X 00000000:00000000 00:00000000 00000000     0        0 %d 1 0000000000000000 100 0 0 10 0\n", i, i, s, i)
	}
	return b.String()
}

func TestTCPConnFromFiles(t *testing.T) {
	many := make([]int, 0, 3000)
	for i := range 3000 {
		many = append(many, 1+i%2*5)
	}
	root := tree(t, map[string]string{
		"proc/net/tcp": tcpTable(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), "proc/net/tcp6": tcpTable(many...),
	})
	c, err := newTCPConn(root)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	want := map[cell]string{
		{"network.tcpconn.established", ""}: "1501", {"network.tcpconn.time_wait", ""}: "1501",
		{"network.tcpconn.syn_recv", ""}: "2", {"network.tcpconn.listen", ""}: "1", {"network.tcpconn.closing", ""}: "1",
		{"network.tcpconn.close", ""}: "1", {"network.tcpconn.last_ack", ""}: "1",
	}
	expect(t, readAll(t, clock(nil), c), want)
	c.buf = make([]byte, 200) // lines are cut at every place
	expect(t, readAll(t, clock(nil), c), want)
}

func TestTCPConnWithoutIPv6(t *testing.T) {
	c, err := newTCPConn(tree(t, map[string]string{"proc/net/tcp": strings.TrimSuffix(tcpTable(10, 10), "\n")}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	expect(t, readAll(t, clock(nil), c), map[cell]string{{"network.tcpconn.listen", ""}: "2"})
}

func FuzzTCPTable(f *testing.F) {
	f.Add([]byte(tcpTable(1, 6)))
	f.Fuzz(func(t *testing.T, b []byte) {
		var counts socket.StateCounts
		if used := countLines(b, &counts); used > len(b) {
			t.Errorf("used %d of %d", used, len(b))
		}
	})
}
