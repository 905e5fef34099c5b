package linux

import (
	"strconv"
	"strings"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// nfs reads /proc/net/rpc: the kernel's NFS client and server. Each file exists only while its
// module is loaded.
type nfs struct {
	root  string
	total *metric.Group
	byOp  *metric.Group
	ops   [len(nfsOps)]metric.Instance
	sides [2]nfsSide
}

// nfsSide is the client's or the server's file.
type nfsSide struct {
	shown string
	file  *file
	calls int // column of the sum over all operations
	uses  []nfsUse
	nums  []uint64
	err   error
	// absent is set where the module is not loaded.
	absent bool
}

// nfsUse is a metric that is one number of a line: "rpc value 2".
type nfsUse struct {
	col   int
	label string
	field int
}

// nfsOps are the operations of NFS version 3, in the protocol's order.
var nfsOps = [...]string{
	"null", "getattr", "setattr", "lookup", "access", "readlink", "read", "write", "create", "mkdir", "symlink",
	"mknod", "remove", "rmdir", "rename", "link", "readdir", "readdirplus", "fsstat", "fsinfo", "pathconf", "commit",
}

func newNFS(root string) (*nfs, error) {
	n := &nfs{root: root}
	for i, name := range nfsOps {
		n.ops[i] = metric.Instance{ID: uint64(i + 1), Key: name, Name: name}
	}
	for i, name := range [...]string{"nfs", "nfsd"} {
		shown := "/proc/net/rpc/" + name
		n.sides[i] = nfsSide{shown: shown, file: newFile(root + shown), nums: make([]uint64, 1+len(nfsOps)+8)}
	}
	return n, n.Refresh()
}

func (n *nfs) Name() string            { return "nfs" }
func (n *nfs) Groups() []*metric.Group { return []*metric.Group{n.total, n.byOp} }

func (n *nfs) Close() error {
	for i := range n.sides {
		n.sides[i].file.close()
	}
	return nil
}

func (n *nfs) Refresh() error {
	n.total = catalog.Group(catalog.Linux, "nfs", "nfs3.client.calls", "nfs3.server.calls")
	n.byOp = catalog.Group(catalog.Linux, "nfs operations", "nfs3.client.reqs", "nfs3.server.reqs")
	for i := range n.sides {
		s := &n.sides[i]
		s.calls = i
		s.uses = nil
		ds, rest := rowsOf(metric.NoIndom, s.shown+" ")
		for j, d := range ds {
			label, nth, ok := strings.Cut(rest[j], " value ")
			field, err := strconv.Atoi(nth)
			if !ok || err != nil || field < 1 || field > len(s.nums) {
				continue // the sums, which are in the group already
			}
			s.uses = append(s.uses, nfsUse{len(n.total.Metrics), label, field - 1})
			n.total.Metrics = append(n.total.Metrics, d)
		}
		_, err := s.file.read()
		if s.absent = err != nil; s.absent {
			text := "no NFS " + [...]string{"client", "server"}[i] + " is loaded: " + lacking(s.shown, err)
			n.total.Metrics[i].Unsupported, n.byOp.Metrics[i].Unsupported = text, text
			for _, u := range s.uses {
				n.total.Metrics[u.col].Unsupported = text
			}
		}
	}
	return nil
}

func (n *nfs) Read(c *sample.Context, frames []*sample.Frame) error {
	var data [2][]byte
	for i := range n.sides {
		if s := &n.sides[i]; !s.absent {
			data[i], s.err = s.file.read()
		}
	}
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
		if f.Full() == n.total {
			f.Row(nil)
			for i := range n.sides {
				n.sides[i].fillTotal(f, data[i])
			}
			continue
		}
		for i := range n.ops {
			f.Row(&n.ops[i])
		}
		for i := range n.sides {
			n.sides[i].fillOps(f, i, data[i])
		}
	}
	return nil
}

// find returns the numbers of the line that begins with label.
func (s *nfsSide) find(data []byte, label string) []uint64 {
	for len(data) > 0 {
		var l []byte
		l, data = line(data)
		w, l := word(l)
		if string(w) == label {
			return s.nums[:words(l, s.nums)]
		}
	}
	return nil
}

// operations returns the numbers of the line proc3 after the first, which is their count.
func (s *nfsSide) operations(data []byte) []uint64 {
	nums := s.find(data, "proc3")
	if len(nums) == 0 {
		return nil
	}
	return nums[1:]
}

func (s *nfsSide) fillTotal(f *sample.Frame, data []byte) {
	if s.absent {
		return
	}
	if s.err != nil {
		f.SetMissing(0, s.calls, why(s.err))
		for _, u := range s.uses {
			f.SetMissing(0, u.col, why(s.err))
		}
		return
	}
	if ops := s.operations(data); ops != nil {
		sum := uint64(0)
		for _, v := range ops {
			sum += v
		}
		f.SetUint(0, s.calls, sum&(1<<32-1))
	}
	for _, u := range s.uses {
		if nums := s.find(data, u.label); u.field < len(nums) {
			f.SetUint(0, u.col, nums[u.field])
		} else {
			f.SetMissing(0, u.col, metric.Unsupported)
		}
	}
}

func (s *nfsSide) fillOps(f *sample.Frame, col int, data []byte) {
	var ops []uint64
	if s.absent {
		return
	}
	if s.err == nil {
		ops = s.operations(data)
	}
	for row := range f.Block().Rows {
		switch {
		case s.err != nil:
			f.SetMissing(row, col, why(s.err))
		case row < len(ops):
			f.SetUint(row, col, ops[row])
		}
	}
}
