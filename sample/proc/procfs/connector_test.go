package procfs

import (
	"encoding/hex"
	"testing"
)

// Messages of a kernel 6.18 while a shell ran a command and ended with exit 3.
var connectorMessages = []struct {
	name string
	text string
	want ProcEvent
}{
	{"answer", "4c00000003000000000000000000000001000000010000000000000001000000280000000000000001000000b29d0c8a90000000000000000000000000000000000000000000000000000000",
		ProcEvent{What: ConnectorAnswer}},
	{"fork", "4c00000003000000010000000000000001000000010000000100000000000000280000000100000001000000258e0e8a90000000ae3d0000ae3d0000d73d0000d73d00000000000000000000",
		ProcEvent{What: ConnectorFork, PID: 15831, TGID: 15831, ParentTGID: 15790}},
	{"exec", "4c00000003000000000000000000000001000000010000000000000000000000280000000200000000000000a468128a90000000d73d0000d73d000000000000000000000000000000000000",
		ProcEvent{What: ConnectorExec, PID: 15831, TGID: 15831}},
	{"exit", "4c0000000300000002000000000000000100000001000000020000000000000028000000000000800000000097ca2b8a90000000d73d0000d73d00000003000011000000ae3d0000ae3d0000",
		ProcEvent{What: ConnectorExit, PID: 15831, TGID: 15831, ParentTGID: 15790, Status: 768}},
}

func TestConnectorMessages(t *testing.T) {
	for _, c := range connectorMessages {
		t.Run(c.name, func(t *testing.T) {
			b, err := hex.DecodeString(c.text)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			Messages(b, func(_ uint16, payload []byte) {
				n++
				var e ProcEvent
				if !e.Parse(payload) {
					t.Errorf("%s was not understood", c.text)
				}
				if e.Time>>36 != 9 {
					t.Errorf("time %d", e.Time)
				}
				e.Time = 0
				if e != c.want {
					t.Errorf("%+v, want %+v", e, c.want)
				}
			})
			if n != 1 {
				t.Errorf("%d messages in one", n)
			}
		})
	}
}

func FuzzConnector(f *testing.F) {
	for _, c := range connectorMessages {
		b, _ := hex.DecodeString(c.text)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		new(ProcEvent).Parse(b)
		Messages(b, func(_ uint16, payload []byte) { new(ProcEvent).Parse(payload) })
	})
}
