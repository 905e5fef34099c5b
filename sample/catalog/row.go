package catalog

import "tachograph/sample/metric"

// row is one metric. Its bindings hold what differs between platforms; a platform without a
// binding does not have the metric at all.
type row struct {
	name  string
	pmid  metric.PMID
	typ   metric.Type
	sem   metric.Semantics
	units metric.Units
	indom string
	class metric.Class
	help  string
	on    on
}

// on says where each platform finds a metric.
type on []binding

type binding struct {
	platform Platform
	source   string
	changes  []change
}

// change is a difference between a platform and the row.
type change func(*metric.Desc)

// describe writes the description of r under b into d.
func (r *row) describe(d *metric.Desc, b *binding) {
	*d = metric.Desc{
		Name: r.name, PMID: r.pmid, Type: r.typ, Sem: r.sem, Units: r.units,
		Indom: r.indom, Class: r.class, Help: r.help, Source: b.source,
	}
	for _, c := range b.changes {
		c(d)
	}
	d.Falls = fallsOf(d)
}

// mac binds a metric to its source on Darwin.
func mac(source string, changes ...change) binding { return binding{Darwin, source, changes} }

// lin binds a metric to its source on Linux.
func lin(source string, changes ...change) binding { return binding{Linux, source, changes} }

// lacks keeps a metric in the catalogue of a platform that cannot supply it.
func lacks(p Platform, reason string) binding {
	return binding{p, "none", []change{func(d *metric.Desc) { d.Unsupported = reason }}}
}

// as gives the metric another type.
func as(t metric.Type) change { return func(d *metric.Desc) { d.Type = t } }

// in gives the metric other units.
func in(u metric.Units) change { return func(d *metric.Desc) { d.Units = u } }

// class moves the metric to another class.
func class(c metric.Class) change { return func(d *metric.Desc) { d.Class = c } }

// wide sets the true width in bits of a counter that is narrower than its type.
func wide(bits uint8) change { return func(d *metric.Desc) { d.Width = bits } }

// clamped marks a counter that stops at the largest value of so many bits.
func clamped(bits uint8) change {
	return func(d *metric.Desc) { d.Width, d.Clamped = bits, true }
}

// long adds to the longer help.
func long(text string) change {
	return func(d *metric.Desc) {
		if d.LongHelp != "" {
			d.LongHelp += " "
		}
		d.LongHelp += text
	}
}

// computed makes the metric a formula over others, evaluated when it is read back. The syntax is
// that of replay's expressions: metric names, numbers, + - * / and parentheses; rate(x) is a
// counter's increase per second, delta(x) its increase over the interval. Units are computed
// too: the result must have the dimension of the metric's.
func computed(formula string) change { return func(d *metric.Desc) { d.Formula = formula } }

// Short names, so that a row fits on a line.
const (
	i32    = metric.I32
	u32    = metric.U32
	i64    = metric.I64
	u64    = metric.U64
	f32    = metric.F32
	f64    = metric.F64
	text   = metric.String
	counts = metric.Counter
	now    = metric.Instant
	holds  = metric.Discrete

	static      = metric.Static
	constrained = metric.Constrained
	polled      = metric.Polled
	fast        = metric.Fast
	process     = metric.Process
	thread      = metric.Thread
	costly      = metric.Costly
	network     = metric.Network

	single = metric.NoIndom
)

var (
	none        = metric.NoUnits
	bytes       = metric.Bytes
	kbyte       = metric.Kbytes
	mbyte       = metric.Mbytes
	nanosec     = metric.Nanoseconds
	microsec    = metric.Microseconds
	millisec    = metric.Milliseconds
	sec         = metric.Seconds
	count       = metric.Counts
	perSec      = metric.PerSecond
	percent     = metric.Percent
	minutes     = metric.Units{Time: 1, TimeScale: metric.Min}
	bytePerSec  = metric.Units{Space: 1, Time: -1, TimeScale: metric.Sec}
	bitPerSec   = metric.Units{Other: "bit", Time: -1, TimeScale: metric.Sec}
	bytePerOp   = metric.Units{Space: 1, Count: -1}
	kbytePerOp  = metric.Units{Space: 1, SpaceScale: metric.Kbyte, Count: -1}
	nanosecPer  = metric.Units{Time: 1, TimeScale: metric.Nanosec, Count: -1}
	millisecPer = metric.Units{Time: 1, TimeScale: metric.Millisec, Count: -1}
	milliampere = metric.Units{Other: "mA"}
	ampereHours = metric.Units{Other: "mA", Time: 1, TimeScale: metric.Hour}
	millivolt   = metric.Units{Other: "mV"}
	celsius     = metric.Units{Other: "C"}
	rpm         = metric.Units{Other: "rpm"}
	megahertz   = metric.Units{Other: "MHz"}
	nanojoule   = metric.Units{Other: "nanojoule"}
	cycles      = metric.Units{Other: "cycle"}
)

// pcp, pcpProc, pcpLinux, pcpSockets and own make metric identifiers in the domains of PCP's
// agents for Darwin, for processes, for Linux and for sockets, and in our own domain for what PCP
// lacks.
func pcp(cluster, item uint32) metric.PMID      { return metric.NewPMID(78, cluster, item) }
func pcpProc(cluster, item uint32) metric.PMID  { return metric.NewPMID(3, cluster, item) }
func pcpLinux(cluster, item uint32) metric.PMID { return metric.NewPMID(60, cluster, item) }
func pcpSockets(item uint32) metric.PMID        { return metric.NewPMID(154, 1, item) }
func own(cluster, item uint32) metric.PMID {
	return metric.NewPMID(metric.OwnDomain, cluster, item)
}
