package darwintest

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// World is a simulated Mac at the instant T.
type World struct {
	T float64

	names   []string // of sysctls, in the order of the tree
	sysctls map[string]*sysctl
	structs map[string]map[string]*expr

	ncpu, pageSize int64
	cpu            [256][4]*expr
	loads          [3]*expr
	vm, set        map[string]*expr
	root           bool

	interfaces, mounts, powerSources []*thing
	logins, tcp, udp                 []*thing
	flows                            []*flow
	notify                           map[string]*expr
	smc                              map[string]smcValue
	registry                         *object

	processes           []*process
	births              []birth
	numer, denom        int64 // ticks to nanoseconds
	uptime, slept, wall float64
}

type sysctl struct {
	kind   byte // i u q Q s o t l S, as in the host
	value  *expr
	second *expr
	// absentFrom and absentUntil limit the time in which the name does not exist.
	absentFrom, absentUntil float64
}

func (x *sysctl) absent(t float64) bool { return t >= x.absentFrom && t < x.absentUntil }

type smcValue struct {
	encoding string
	value    *expr
}

// thing is an object with fields and a limited life.
type thing struct {
	name       string
	words      []token
	fields     map[string]*expr
	props      []*property
	start, end float64
}

func newThing(name string) *thing {
	return &thing{name: name, fields: make(map[string]*expr), start: math.Inf(-1), end: math.Inf(1)}
}

// Load reads the scenario in path. shipped is the host's own folder, with the scenarios to
// include and, beside it, the tree of sysctls.
func Load(path, shipped string) (*World, error) {
	w := &World{
		sysctls: make(map[string]*sysctl), structs: make(map[string]map[string]*expr),
		vm: make(map[string]*expr), set: make(map[string]*expr), notify: make(map[string]*expr),
		smc: make(map[string]smcValue), registry: &object{thing: *newThing("Root")}, root: true,
		numer: 1, denom: 1, uptime: 3600,
	}
	if err := w.readTree(filepath.Join(shipped, "..", "data", "sysctl_tree.tsv")); err != nil {
		return nil, err
	}
	list, err := parseFile(path, shipped)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if err := w.statement(s); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *World) readTree(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		c := strings.Split(lines.Text(), "\t")
		if len(c) == 4 && !strings.HasPrefix(c[0], "#") {
			w.sysctl(c[0]).kind = c[2][0]
		}
	}
	// Names that the host has in addition to the tree, or differently.
	for _, name := range strings.Fields("kern.osrevision kern.posix1version kern.saved_ids kern.job_control kern.ngroups " +
		"hw.physmem hw.usermem hw.pagesize_compat hw.epoch hw.vectorunit hw.busfrequency_compat hw.cpufrequency_compat hw.packages kern.hostid") {
		w.sysctl(name).kind = 'i'
	}
	for _, name := range strings.Fields("hw.machine hw.model hw.product") {
		w.sysctl(name).kind = 's'
	}
	w.sysctl("kern.usrstack64").kind = 'q'
	for _, name := range strings.Fields("kern.boottime kern.sleeptime kern.waketime " +
		"net.link.generic.system.port_used.wakeuuid_last_update_time net.link.generic.system.port_used.wakeuuid_not_set_last_time") {
		w.sysctl(name).kind = 't'
	}
	w.sysctl("vm.loadavg").kind = 'l'
	return lines.Err()
}

func (w *World) sysctl(name string) *sysctl {
	x := w.sysctls[name]
	if x == nil {
		x = &sysctl{kind: 'i', absentFrom: math.Inf(1)}
		w.sysctls[name] = x
		w.names = append(w.names, name)
	}
	return x
}

var sysctlKinds = map[string]byte{
	"int": 'i', "int32": 'i', "uint": 'u', "uint32": 'u', "quad": 'q', "int64": 'q', "uint64": 'Q', "uquad": 'Q',
	"string": 's', "hex": 'o', "opaque": 'o', "timeval": 't', "loadavg": 'l',
}

func (w *World) statement(s *statement) error {
	switch s.word(0) {
	case "":
		return nil
	case "freeze":
		v, _ := number(s.word(1))
		w.T = v.f
	case "clock":
		return w.clockStatement(s)
	case "process":
		return w.processStatement(s)
	case "self":
		return w.selfStatement(s)
	case "sleep", "fail", "reboot", "panic", "powercut", "coalition":
		// Breaks, failures and coalitions have separate tests.
	case "sysctl":
		return w.sysctlStatement(s)
	case "stats":
		return fieldBlock(s, w.structOf(s.word(1)), "")
	case "host":
		return w.hostStatement(s)
	case "interface":
		x := find(&w.interfaces, s.word(1), s.words)
		return x.fill(s.block)
	case "mount":
		return find(&w.mounts, s.word(1), s.words).fill(s.block)
	case "tcp", "udp", "utmpx":
		x := newThing(s.word(0))
		x.words = s.words
		list := map[string]*[]*thing{"tcp": &w.tcp, "udp": &w.udp, "utmpx": &w.logins}[s.word(0)]
		*list = append(*list, x)
		return x.fill(s.block)
	case "flow":
		return w.flowStatement(s)
	case "notify":
		e, _, err := s.expr(2)
		w.notify[s.word(1)] = e
		return err
	case "smc":
		e, _, err := s.expr(3)
		w.smc[s.word(1)] = smcValue{(s.word(2) + "    ")[:4], e}
		return err
	case "powersource":
		return find(&w.powerSources, s.word(1), s.words).fillProps(s.block)
	case "ioreg":
		return w.registry.fill(w, s.block)
	case "clear":
		w.clear(s)
	default:
		return s.fail("the oracle does not know %q", s.word(0))
	}
	return nil
}

func (w *World) clockStatement(s *statement) error {
	v, _ := number(s.word(2))
	switch s.word(1) {
	case "timebase":
		w.numer = v.n
		v, _ = number(s.word(3))
		w.denom = v.n
	case "uptime":
		w.uptime = v.f
	case "slept":
		w.slept = v.f
	case "wall":
		if t, err := time.Parse("2006-01-02T15:04:05", s.word(2)); err == nil {
			w.wall = float64(t.Unix())
		} else {
			w.wall = v.f
		}
	case "step":
		// Steps have separate tests.
	default:
		return s.fail("the oracle does not know the clock's %q", s.word(1))
	}
	return nil
}

func (w *World) clear(s *statement) {
	for _, word := range s.words[1:] {
		switch word.text {
		case "interface":
			w.interfaces = nil
		case "tcp":
			w.tcp = nil
		case "udp":
			w.udp = nil
		case "flow":
			w.flows = nil
		case "mount":
			w.mounts = nil
		case "utmpx":
			w.logins = nil
		case "notify":
			w.notify = make(map[string]*expr)
		case "smc":
			w.smc = make(map[string]smcValue)
		case "powersource":
			w.powerSources = nil
		case "ioreg":
			w.registry = &object{thing: *newThing("Root")}
		case "process":
			w.processes = slices.DeleteFunc(w.processes, func(p *process) bool { return !p.self })
		}
	}
}

func (w *World) structOf(name string) map[string]*expr {
	if w.structs[name] == nil {
		w.structs[name] = make(map[string]*expr)
	}
	w.sysctl(name).kind = 'S'
	return w.structs[name]
}

func (w *World) sysctlStatement(s *statement) error {
	x := w.sysctl(s.word(1))
	i := 2
	if s.word(i) == "absent" {
		x.absentFrom, x.absentUntil = math.Inf(-1), math.Inf(1)
		for i++; i+1 < len(s.words); i += 2 {
			v, _ := number(s.word(i + 1))
			if s.word(i) == "until" {
				x.absentUntil = v.f
			} else {
				x.absentFrom = v.f
			}
		}
		return nil
	}
	if s.word(i) == "mib" {
		i += 2
	}
	kind := byte(0)
	if i < len(s.words) && !s.words[i].quoted {
		if kind = sysctlKinds[s.word(i)]; kind != 0 {
			i++
		}
	}
	if kind != 0 {
		x.kind = kind
	}
	x.absentFrom = math.Inf(1)
	var err error
	if x.value, i, err = s.expr(i); err == nil && i < len(s.words) {
		x.second, _, err = s.expr(i)
	}
	return err
}

func fieldBlock(s *statement, into map[string]*expr, prefix string) error {
	for _, c := range s.block {
		e, _, err := c.expr(1)
		if err != nil {
			return err
		}
		into[prefix+c.word(0)] = e
	}
	return nil
}

func (w *World) hostStatement(s *statement) error {
	for _, c := range s.block {
		var err error
		switch c.word(0) {
		case "ncpu":
			w.ncpu, _ = strconv.ParseInt(c.word(1), 0, 64)
			w.sameSysctls(w.ncpu, "hw.ncpu", "hw.activecpu", "hw.logicalcpu", "hw.logicalcpu_max")
		case "pagesize":
			w.pageSize, _ = strconv.ParseInt(c.word(1), 0, 64)
			w.sameSysctls(w.pageSize, "hw.pagesize", "hw.pagesize32", "hw.pagesize_compat", "vm.pagesize")
		case "root":
			w.root = c.word(1) != "no"
		case "forks":
			w.birthStatement(c)
		case "vm":
			err = fieldBlock(c, w.vm, "")
		case "processor_set":
			err = fieldBlock(c, w.set, "")
		case "loadavg":
			at := 1
			for i := range w.loads {
				if w.loads[i], at, err = c.expr(at); err != nil {
					return err
				}
			}
		case "cpu":
			err = w.cpuStatement(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *World) sameSysctls(n int64, names ...string) {
	for _, name := range names {
		w.sysctl(name).value = &expr{at0: value{n: n, f: float64(n)}}
	}
}

func (w *World) cpuStatement(c *statement) error {
	from, to := 0, 255
	if c.word(1) != "all" {
		from, _ = strconv.Atoi(c.word(1))
		to = from
	}
	for at := 2; at < len(c.words); {
		state := map[string]int{"user": 0, "system": 1, "idle": 2, "nice": 3}[c.word(at)]
		e, next, err := c.expr(at + 1)
		if err != nil {
			return err
		}
		at = next
		for i := from; i <= to; i++ {
			w.cpu[i][state] = e
		}
	}
	return nil
}

// find returns the thing called name, making it if necessary.
func find(list *[]*thing, name string, words []token) *thing {
	for _, x := range *list {
		if x.name == name {
			return x
		}
	}
	x := newThing(name)
	x.words = words
	*list = append(*list, x)
	return x
}

func (x *thing) life(c *statement) bool {
	v, _ := number(c.word(1))
	switch c.word(0) {
	case "start":
		x.start = v.f
	case "end", "exit":
		x.end = v.f
	default:
		return false
	}
	return true
}

func (x *thing) fill(block []*statement) error {
	for _, c := range block {
		switch c.word(0) {
		case "mac", "addr4", "addr6", "multicast":
			continue
		}
		if x.life(c) {
			continue
		}
		e, _, err := c.expr(1)
		if err != nil {
			return err
		}
		x.fields[c.word(0)] = e
	}
	return nil
}

func (x *thing) fillProps(block []*statement) error {
	for _, c := range block {
		if !c.words[0].quoted && x.life(c) {
			continue
		}
		p, err := parseProperty(c, 0)
		if err != nil {
			return err
		}
		x.props = setProperty(x.props, p, false)
	}
	return nil
}

// alive reports whether x exists at time t.
func (x *thing) alive(t float64) bool { return t >= x.start && t < x.end }
