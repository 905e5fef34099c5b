package said

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/catalog"
	"tachograph/sample/klog"
	"tachograph/sample/metric"
)

// New returns the source of what this machine wrote down, or what is below a root directory.
func New(root string, now time.Time, m Machine) *Source {
	lines := openKmsg(root)
	dumps := newDumps(root + "/")
	readers := []reader{&journal{root: root + "/", kernel: lines == nil, dumps: dumps}, dumps, newPackages(root, m.Zone)}
	if lines != nil {
		readers = append(readers, lines)
	}
	return newSource(catalog.Linux, now, m.Whose, readers...)
}

// kmsg reads the kernel's lines. Reading takes nothing away from others.
type kmsg struct {
	fd    int
	buf   []byte
	lines klog.Reader
	next  uint64 // number of the next line, 0 if unknown
}

// openKmsg returns nil where the kernel keeps its lines from this program, which then are in the
// journal, if there is one.
func openKmsg(root string) *kmsg {
	if root != "" {
		return nil
	}
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return &kmsg{fd: fd, buf: make([]byte, 16<<10)}
}

func (k *kmsg) close() { unix.Close(k.fd) }

// mostLines is how many lines one look reads: the kernel keeps the rest until the next one.
const mostLines = 10_000

func (k *kmsg) look(now metric.Stamp, since time.Time, found func(Fact)) error {
	for range mostLines {
		n, err := unix.Read(k.fd, k.buf)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.EINTR), errors.Is(err, unix.EINVAL):
			continue // lines were overwritten, or one is longer than any that matters
		case err != nil:
			return fmt.Errorf("/dev/kmsg: %w", err)
		}
		l, ok := klog.Parse(string(k.buf[:n]))
		if !ok {
			continue
		}
		at := lineTime(now, l.Since)
		if k.next != 0 && l.Sequence > k.next && !at.Before(since) {
			found(lostLines(l.Sequence-k.next, at))
		}
		k.next = l.Sequence + 1
		if f, ok := k.lines.Read(l); ok && !at.Before(since) {
			found(line("kernel", f, at))
		}
	}
	return nil
}

// lineTime returns when a line was written. The kernel's clock for lines stops in sleep.
func lineTime(now metric.Stamp, since time.Duration) time.Time {
	return time.Unix(0, now.Wall-max(0, now.Awake-int64(since)))
}

func lostLines(n uint64, at time.Time) Fact {
	f := Fact{Kind: metric.EventKernel, At: at, Text: fmt.Sprintf("%d lines of the kernel were overwritten before they were read", n)}
	f.add("source", "kernel")
	f.add("rule", "lines lost")
	return f
}
