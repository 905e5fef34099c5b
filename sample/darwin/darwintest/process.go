package darwintest

import (
	"math"
	"slices"
	"strconv"
)

// process is one of the simulated processes. One of them is the program that runs on the
// simulated Mac; its pid is 0 if the scenario does not set it.
type process struct {
	thing
	pid   int64
	self  bool
	order int // in the scenario

	args           []string
	rusage, task   map[string]*expr
	kinfo          map[string]*expr
	threads        []*thing
	descriptors    []descriptor
	path, comm     string
	cwd            string
	tdev           int64
	unique, parent uint64
}

type descriptor struct {
	kind   string
	fields map[string]*expr
}

// birth is a period in which short-lived processes are born unseen.
type birth struct{ rate, from, until float64 }

func newProcess(pid int64, order int) *process {
	p := &process{
		thing: *newThing("proc" + strconv.FormatInt(pid, 10)), pid: pid, order: order, tdev: -1,
		rusage: make(map[string]*expr), task: make(map[string]*expr), kinfo: make(map[string]*expr),
	}
	p.start = longAgo
	return p
}

// longAgo is the start of a process without a given start: at the boot.
const longAgo = -1e9

func (w *World) processStatement(s *statement) error {
	pid, err := strconv.ParseInt(s.word(1), 0, 64)
	if err != nil {
		return s.fail("%q is not a pid", s.word(1))
	}
	var p *process
	for _, q := range w.processes {
		if q.pid == pid && !q.self {
			p = q
		}
	}
	if s.word(2) == "gone" {
		if p != nil {
			p.start = math.Inf(1)
		}
		return nil
	}
	if p == nil || s.word(2) == "new" {
		p = newProcess(pid, len(w.processes))
		w.processes = append(w.processes, p)
	}
	return p.describe(s.block)
}

func (w *World) selfStatement(s *statement) error {
	p := w.self()
	for _, c := range s.block {
		switch c.word(0) {
		case "as_uid":
			w.root = c.word(1) == "0"
		case "pid":
			p.pid, _ = strconv.ParseInt(c.word(1), 0, 64)
		}
	}
	return nil
}

func (w *World) self() *process {
	for _, p := range w.processes {
		if p.self {
			return p
		}
	}
	p := newProcess(0, len(w.processes))
	p.self, p.start = true, -0.25
	w.processes = append(w.processes, p)
	return p
}

func (p *process) describe(block []*statement) error {
	for _, c := range block {
		var err error
		switch c.word(0) {
		case "name":
			p.name = c.word(1)
		case "comm":
			p.comm = c.word(1)
		case "path":
			p.path = c.word(1)
		case "cwd":
			p.cwd = c.word(1)
		case "tdev":
			p.tdev, err = strconv.ParseInt(c.word(1), 0, 64)
		case "args":
			p.args = nil
			for _, t := range c.words[1:] {
				p.args = append(p.args, t.text)
			}
		case "rusage":
			err = fieldBlock(c, p.rusage, "")
		case "taskinfo":
			err = fieldBlock(c, p.task, "")
		case "kinfo":
			err = fieldBlock(c, p.kinfo, "")
		case "thread":
			t := newThing(c.word(1))
			p.threads = append(p.threads, t)
			err = t.describeThread(c.block)
		case "fd":
			d := descriptor{kind: c.word(2), fields: make(map[string]*expr)}
			err = fieldBlock(c, d.fields, "")
			p.descriptors = append(p.descriptors, d)
		case "exec", "bsdinfo", "shortbsdinfo", "uniqidinfo", "uniqueid":
			err = c.fail("the oracle does not follow %q", c.word(0))
		case "env", "memory", "protected", "coalition", "vminfo", "taskbasic", "zombie":
			// No metric of processes shows these.
		case "state":
			state := map[string]int64{"idle": 1, "run": 2, "sleep": 3, "stop": 4, "zombie": 5}[c.word(1)]
			p.fields["state"] = &expr{at0: value{n: state, f: float64(state)}}
		default:
			if p.life(c) {
				continue
			}
			var e *expr
			e, _, err = c.expr(1)
			p.fields[c.word(0)] = e
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *thing) describeThread(block []*statement) error {
	for _, c := range block {
		e, _, err := c.expr(1)
		if err != nil {
			return err
		}
		t.fields[c.word(0)] = e
	}
	return nil
}

func (w *World) birthStatement(s *statement) {
	b := birth{from: math.Inf(-1), until: math.Inf(1)}
	v, _ := number(s.word(1))
	b.rate = v.f
	for i := 2; i+1 < len(s.words); i += 2 {
		v, _ := number(s.word(i + 1))
		if s.word(i) == "from" {
			b.from = v.f
		} else {
			b.until = v.f
		}
	}
	w.births = append(w.births, b)
}

// number gives the processes their unique numbers: one for each birth since the boot, in order
// of time, including unseen births.
func (w *World) number() {
	w.self()
	ordered := slices.Clone(w.processes)
	slices.SortFunc(ordered, func(a, b *process) int {
		switch {
		case a.start < b.start:
			return -1
		case a.start > b.start:
			return 1
		}
		return a.order - b.order
	})
	seen := uint64(0)
	for _, p := range ordered {
		if p.pid == 0 && !p.self || math.IsInf(p.start, 1) {
			continue
		}
		seen++
		unseen := 0.0
		for _, b := range w.births {
			if from, until := max(b.from, -w.uptime), min(b.until, p.start); until > from {
				unseen += b.rate * (until - from)
			}
		}
		p.unique = seen + uint64(math.Floor(unseen+1e-9))
	}
	for _, p := range w.processes {
		ppid := int64(1)
		if e := p.fields["ppid"]; e != nil {
			ppid = e.at(p.start).n
		}
		var parent *process
		for _, q := range w.processes {
			if q != p && !q.self && q.pid == ppid && q.alive(p.start) {
				parent = q
			}
		}
		switch {
		case parent != nil:
			p.parent = parent.unique
		case p.pid != 0 && ppid == 1:
			p.parent = 1
		}
	}
}
