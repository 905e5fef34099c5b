package darwin

import (
	"bytes"
	"syscall"

	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// node is one sysctl. It is resolved once and read at most once a round, however many metrics it
// feeds.
type node struct {
	name string
	mib  sys.MIB
	size int // of the answer when the name was resolved

	round  uint64 // in which the answer was read
	buf    []byte
	answer []byte
	errno  syscall.Errno
	reason metric.Reason // for errno

	// last is the previous answer, kept only where it matters whether the value changes.
	last  []byte
	watch bool
	moved bool

	text string // the answer as a string, kept while it does not change
}

// newNode makes a node with room for an answer of size bytes, and a little more in case it is a
// string that grows.
func newNode(name string, mib sys.MIB, size int) *node {
	return &node{name: name, mib: mib, size: size, buf: make([]byte, max(size, 8)+8)}
}

// wide reports whether the answer, if it is a number, has 64 bits.
func (n *node) wide() bool { return n != nil && n.size == 8 }

// read makes sure that the answer is from this round.
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

// string returns the answer as text, and the same string again while that does not change.
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
