package linux

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
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

// message writes a netlink message.
func message(kind uint16, seq uint32, body []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(nlHeader+len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, 2)
	b = binary.NativeEndian.AppendUint32(b, seq)
	b = append(binary.NativeEndian.AppendUint32(b, 0), body...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func socket(state byte) []byte {
	body := make([]byte, 72)
	body[0], body[1] = 2, state
	return body
}

func TestDiagAnswer(t *testing.T) {
	var counts stateCounts
	b := append(message(diagTCP, 7, socket(1)), message(diagTCP, 7, socket(10))...)
	b = append(b, message(diagTCP, 6, socket(10))...) // answers an earlier request
	b = append(b, message(diagTCP, 7, socket(99))...)
	if done, errno := diagAnswer(b, 7, &counts); done || errno != 0 {
		t.Errorf("done %v, errno %d before the end", done, errno)
	}
	if counts[1] != 1 || counts[10] != 1 {
		t.Errorf("counts %v", counts)
	}
	if done, errno := diagAnswer(message(nlDone, 7, make([]byte, 4)), 7, &counts); !done || errno != 0 {
		t.Errorf("at the end: done %v, errno %d", done, errno)
	}
	refusal := binary.NativeEndian.AppendUint32(nil, ^uint32(2)+1)
	if done, errno := diagAnswer(message(nlError, 7, refusal), 7, &counts); !done || errno != 2 {
		t.Errorf("refused: done %v, errno %d", done, errno)
	}
	if done, errno := diagAnswer([]byte{200, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 7, &counts); !done || errno != malformed {
		t.Errorf("cut off: done %v, errno %d", done, errno)
	}
}

func TestDiagQuery(t *testing.T) {
	q := diagQuery(nil, 9)
	ne := binary.NativeEndian
	if len(q) != 76 || ne.Uint32(q) != 76 || ne.Uint16(q[4:]) != 18 || ne.Uint32(q[8:]) != 9 || ne.Uint32(q[68:]) != 0x1fff {
		t.Errorf("query %x", q)
	}
}

func FuzzDiagAnswer(f *testing.F) {
	f.Add(message(diagTCP, 7, socket(1)))
	f.Add(message(nlError, 7, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var counts stateCounts
		diagAnswer(b, 7, &counts)
	})
}

func FuzzTCPTable(f *testing.F) {
	f.Add([]byte(tcpTable(1, 6)))
	f.Fuzz(func(t *testing.T, b []byte) {
		var counts stateCounts
		if used := countLines(b, &counts); used > len(b) {
			t.Errorf("used %d of %d", used, len(b))
		}
	})
}
