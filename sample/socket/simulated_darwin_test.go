package socket

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/darwin/sys"
)

// TestSimulated is the half of the tests on a simulated Mac that runs on it. It lists the sockets
// at given instants of the scenario, whose clock follows a file that it writes, and prints what it
// heard until then.
func TestSimulated(t *testing.T) {
	instants := os.Getenv("TACHO_SOCKET_AT")
	if instants == "" {
		t.Skip("only on behalf of the tests on a simulated Mac")
	}
	clock, err := os.OpenFile(os.Getenv("TACHO_SOCKET_CLOCK"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer clock.Close()
	out := json.NewEncoder(os.Stdout)
	var h collected
	l, err := Open(&h)
	if err != nil {
		out.Encode(simulatedLook{Refused: err.Error(), Withheld: errors.Is(err, errWithheld)})
		return
	}
	numer, denom := sys.Timebase()
	begin := sys.AbsoluteTime()
	now := func() float64 { return float64(sys.AbsoluteTime()-begin) * float64(numer) / float64(denom) / 1e9 }
	patient := os.Getenv("TACHO_SOCKET_PATIENT") != ""
	told := time.Duration(0)
	for _, text := range strings.Fields(instants) {
		at, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		for now() < at {
			told += 10 * time.Millisecond
			if _, err := clock.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(told)), 0); err != nil {
				t.Fatal(err)
			}
			if patient {
				waitForReader(t, l.(*macLister))
			}
		}
		look := simulatedLook{}
		if err := l.List(&h); err != nil {
			look.Refused = err.Error()
		}
		look.Notice = l.Notice()
		look.Heard = h.take()
		if err := out.Encode(look); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// waitForReader has the kernel report what has closed, and waits until the goroutine of the lister
// has read it.
func waitForReader(t *testing.T, l *macLister) {
	var unknown [24]byte
	ntRequest(unknown[:], 0, 0xffff, 0)
	if err := l.ctl.send(unknown[:]); err != nil {
		t.Fatal(err)
	}
	for l.kq >= 0 {
		ready := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(ready, 0); err == nil && n == 0 {
			return
		}
		runtime.Gosched()
	}
}

// collected keeps what it hears.
type collected struct {
	sync.Mutex
	all []Socket
}

func (c *collected) Hear(s *Socket) {
	c.Lock()
	defer c.Unlock()
	c.all = append(c.all, *s)
}

func (c *collected) take() []Socket {
	c.Lock()
	defer c.Unlock()
	all := c.all
	c.all = nil
	return all
}
