package darwin

import (
	"bytes"
	"syscall"

	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// node is one sysctl: resolved once, read at most once a round, whatever
// number of metrics it feeds.
type node struct {
	name string
	mib  sys.MIB
	size int // of the answer when the name was resolved

	round  uint64 // in which the answer was read
	buf    []byte
	answer []byte
	errno  syscall.Errno
	reason metric.Reason // for errno

	// last is the answer before this one, kept only where it matters whether
	// it moves.
	last  []byte
	watch bool
	moved bool

	text string // the answer as a string, while it stands still
}

// newNode makes a node with room for an answer of size bytes, and for a longer
// one should it be a string that grows.
func newNode(name string, mib sys.MIB, size int) *node {
	return &node{name: name, mib: mib, size: size, buf: make([]byte, max(size, 8)+8)}
}

// wide reports whether the answer is a number of 64 bits, if it is one.
func (n *node) wide() bool { return n != nil && n.size == 8 }

// read makes sure that the answer is this round's.
func (n *node) read(round uint64) bool {
	if n.round == round {
		return n.errno == 0
	}
	n.round = round
	size, errno := sys.Sysctl(n.mib, n.buf)
	n.answer = n.buf[:min(size, len(n.buf))]
	if errno == syscall.ENOMEM {
		n.answer, n.buf, errno = sys.SysctlList(n.mib, n.buf)
	}
	if errno != 0 {
		if errno != n.errno {
			n.reason = reasonFor(&sys.Error{Call: "sysctl " + n.name, Err: errno})
		}
		n.errno = errno
		return false
	}
	n.errno = 0
	if n.watch && !bytes.Equal(n.last, n.answer) {
		n.moved = n.moved || n.last != nil
		n.last = append(n.last[:0], n.answer...)
	}
	return true
}

// string is the answer as text; the same string again while it stands still.
func (n *node) string() string {
	b := n.answer
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	if n.text != string(b) {
		n.text = string(b)
	}
	return n.text
}
