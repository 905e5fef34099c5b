package report

import (
	"bytes"
	"strings"
	"testing"
)

// Where the clock was set back before a boot, two boots have processes of one key at one instant: the page lists
// them in the same order every time.
func TestOrderOfBoots(t *testing.T) {
	const boots = `boot b1 -1h
instance process 612 000612 before pid=612 parent=1 start=2026-11-20T02:14:00Z
tick process 0s
  proc.psinfo.utime[612] 0
tick process 5s
  proc.psinfo.utime[612] 500
tick process 10s
  proc.psinfo.utime[612] 1000
boot b2 -30m
instance process 612 000612 after pid=612 parent=1 start=2026-11-20T02:44:00Z
tick process 0s
  proc.psinfo.utime[612] 0
tick process 5s
  proc.psinfo.utime[612] 100
tick process 10s
  proc.psinfo.utime[612] 200
`
	head, _, _ := strings.Cut(processesHead, "boot b1")
	a := described(t, head+boots)
	var first []byte
	for i := range 30 {
		p := collect(t, a, Request{})
		var data bytes.Buffer
		if err := p.WriteData(&data); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = data.Bytes()
			if n := len(p.doc.Processes.Name); n != 2 {
				t.Fatalf("%d processes in the tables, want 2", n)
			}
		} else if !bytes.Equal(data.Bytes(), first) {
			t.Fatalf("page %d differs from the first one", i+1)
		}
	}
}
