package querytest

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Load reads the description in a file.
func Load(path string) ([]*Part, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	parts, err := Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return parts, nil
}

// Parse reads a description of a recording. A line is a statement; # begins a
// comment. Times are offsets ("90s", "1h3m") from the start line's instant.
//
//	start 2026-11-20T03:00:00Z
//	host web-1 os=Linux release=6.18 arch=amd64 platform=linux model=box memory=8GB zone=UTC
//	boot b1 -1h                      boots at an offset; begins an archive
//	archive                          begins another archive in the same boot
//	interval fast 1s
//	metric NAME TYPE SEMANTICS INDOM|- CLASS [UNITS...]
//	  help TEXT | width N | clamped | restarts never | formula EXPR | unsupported TEXT | source TEXT
//	instance INDOM KEY NAME... [label=value...] [label="several words"...]
//	clock 30s                        the wall clock jumps ahead by so much
//	tick CLASS AT
//	  METRIC[KEY] VALUE              a number, "text", or !why-absent
//	every STEP FROM TO CLASS
//	  METRIC[KEY] FORM               see form.go
//	event AT KIND... | TEXT | label=value...
func Parse(r io.Reader) ([]*Part, error) {
	p := &parser{
		host:      metric.Host{ID: "host", Name: "host"},
		metrics:   make(map[string]*metric.Desc),
		instances: make(map[[2]string]*metric.Instance),
		state:     make(map[string]float64),
	}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if i := strings.Index(line, "#"); i >= 0 && (i == 0 || line[i-1] == ' ') {
			line = line[:i]
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if err := p.flush(); err != nil {
		return nil, err
	}
	p.endPart()
	return p.parts, nil
}

type parser struct {
	start     int64
	host      metric.Host
	zone      string // time zone of its clock
	boot      string
	bootAt    int64
	shift     int64
	intervals metric.Intervals
	order     []*metric.Desc
	metrics   map[string]*metric.Desc
	instances map[[2]string]*metric.Instance
	state     map[string]float64 // last value of each generated series
	parts     []*Part
	part      *Part
	last      *metric.Desc // the metric that indented lines describe
	block     *block       // the tick or every that indented lines fill
}

// block is a tick, or a run of ticks, being described.
type block struct {
	class          metric.Class
	from, to, step int64
	cells          []cell
}

type cell struct {
	desc *metric.Desc
	in   *metric.Instance
	form form
	key  string
}

func (p *parser) line(line string) error {
	words := strings.Fields(line)
	if line[0] == ' ' || line[0] == '\t' {
		switch {
		case p.block != nil:
			return p.cell(words)
		case p.last != nil:
			return p.attribute(words[0], strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), words[0])))
		}
		return fmt.Errorf("indented line belongs to nothing")
	}
	if err := p.flush(); err != nil {
		return err
	}
	p.last = nil
	args := words[1:]
	need := map[string]int{"start": 1, "host": 1, "boot": 2, "interval": 2, "metric": 5, "instance": 3, "clock": 1, "tick": 2, "every": 4, "event": 2}
	if len(args) < need[words[0]] {
		return fmt.Errorf("%s: needs %d words", words[0], need[words[0]])
	}
	switch words[0] {
	case "start":
		t, err := time.Parse(time.RFC3339Nano, args[0])
		p.start = t.UnixNano()
		return err
	case "host":
		p.setHost(args)
		return nil
	case "boot":
		at, err := p.at(args[1])
		p.boot, p.bootAt = args[0], at
		p.beginPart()
		return err
	case "archive":
		p.beginPart()
		return nil
	case "interval":
		c, err := metric.ParseClass(args[0])
		if err != nil {
			return err
		}
		d, err := time.ParseDuration(args[1])
		p.intervals[c] = d
		return err
	case "metric":
		return p.metric(args)
	case "instance":
		return p.instance(args)
	case "clock":
		d, err := time.ParseDuration(args[0])
		p.shift += int64(d)
		return err
	case "tick":
		at, err := p.at(args[1])
		if err != nil {
			return err
		}
		return p.open(args[0], at, at, 1)
	case "every":
		step, err := time.ParseDuration(args[0])
		if err != nil {
			return err
		}
		from, err := p.at(args[1])
		if err != nil {
			return err
		}
		to, err := p.at(args[2])
		if err != nil {
			return err
		}
		return p.open(args[3], from, to, int64(step))
	case "event":
		return p.event(strings.TrimSpace(strings.TrimPrefix(line, "event")))
	}
	return fmt.Errorf("unknown statement %q", words[0])
}

func (p *parser) at(s string) (int64, error) {
	d, err := time.ParseDuration(s)
	return p.start + int64(d), err
}

func (p *parser) stamp(at int64) metric.Stamp {
	return metric.Stamp{Wall: at + p.shift, Cont: at - p.bootAt, Awake: at - p.bootAt}
}

func (p *parser) setHost(args []string) {
	p.host = metric.Host{ID: args[0], Name: args[0], Platform: "linux", OS: "Linux"}
	p.zone = "UTC"
	for _, a := range args[1:] {
		k, v, _ := strings.Cut(a, "=")
		v = strings.ReplaceAll(v, "_", " ")
		switch k {
		case "id":
			p.host.ID = v
		case "os":
			p.host.OS = v
		case "release":
			p.host.Release = v
		case "arch":
			p.host.Arch = v
		case "model":
			p.host.Model = v
		case "platform":
			p.host.Platform = v
		case "zone":
			p.zone = strings.TrimPrefix(a, "zone=")
		default:
			p.host.Labels = append(p.host.Labels, metric.Label{Name: k, Value: v})
		}
	}
	p.instances = make(map[[2]string]*metric.Instance)
	p.state = make(map[string]float64)
}

func (p *parser) beginPart() {
	p.endPart()
	p.part = &Part{Info: store.ArchiveInfo{
		ID: fmt.Sprintf("%04d", len(p.parts)+1), Path: fmt.Sprintf("part%d.tacho", len(p.parts)+1), Format: 1,
		Host: p.host, BootID: p.boot, TimeZone: p.zone, Recorder: "test", Intervals: p.intervals,
	}}
}

func (p *parser) endPart() {
	if p.part == nil {
		return
	}
	p.part.Catalog = append(p.part.Catalog, p.order...)
	p.part.Info.Intervals = p.intervals
	p.parts = append(p.parts, p.part)
	p.part = nil
}

// named returns the element of all whose name is name.
func named[T fmt.Stringer](name string, all ...T) (T, error) {
	for _, v := range all {
		if v.String() == name {
			return v, nil
		}
	}
	var none T
	return none, fmt.Errorf("no %T is called %q", none, name)
}

func (p *parser) metric(args []string) error {
	d := &metric.Desc{Name: args[0]}
	var err error
	if d.Type, err = named(args[1], metric.I32, metric.U32, metric.I64, metric.U64, metric.F32, metric.F64, metric.String); err != nil {
		return err
	}
	if d.Sem, err = named(args[2], metric.Counter, metric.Instant, metric.Discrete); err != nil {
		return err
	}
	if args[3] != "-" {
		d.Indom = args[3]
	}
	if d.Class, err = metric.ParseClass(args[4]); err != nil {
		return err
	}
	if d.Units, err = metric.ParseUnits(strings.Join(args[5:], " ")); err != nil {
		return err
	}
	d.PMID = metric.NewPMID(metric.OwnDomain, 1, uint32(len(p.order)))
	p.metrics[d.Name] = d
	p.order = append(p.order, d)
	p.last = d
	return nil
}

func (p *parser) attribute(name, text string) error {
	switch name {
	case "help":
		p.last.Help = text
	case "long":
		p.last.LongHelp = text
	case "source":
		p.last.Source = text
	case "formula":
		p.last.Formula = text
	case "unsupported":
		p.last.Unsupported = text
	case "clamped":
		p.last.Clamped = true
	case "restarts":
		if text != "never" {
			return fmt.Errorf("what restarts is not %q but never", text)
		}
		p.last.Falls = metric.NeverRestarts
	case "width":
		n, err := strconv.ParseUint(text, 10, 8)
		p.last.Width = uint8(n)
		return err
	default:
		return fmt.Errorf("unknown attribute %q of a metric", name)
	}
	return nil
}

func (p *parser) instance(args []string) error {
	in := &metric.Instance{ID: uint64(len(p.instances) + 1), Key: args[1]}
	var name []string
	for i := 2; i < len(args); i++ {
		a := args[i]
		if k, v, ok := strings.Cut(a, `="`); ok {
			for !strings.HasSuffix(v, `"`) && i+1 < len(args) {
				i++
				v += " " + args[i]
			}
			a = k + "=" + strings.TrimSuffix(v, `"`)
		}
		if k, v, ok := strings.Cut(a, "="); ok {
			in.Labels = append(in.Labels, metric.Label{Name: k, Value: v})
		} else {
			name = append(name, a)
		}
	}
	in.Name = strings.Join(name, " ")
	p.instances[[2]string{args[0], args[1]}] = in
	return nil
}

func (p *parser) event(text string) error {
	fields := strings.Split(text, "|")
	at, kind, _ := strings.Cut(strings.TrimSpace(fields[0]), " ")
	wall, err := p.at(at)
	if err != nil {
		return err
	}
	e := metric.Event{At: p.stamp(wall), Kind: metric.EventKind(strings.TrimSpace(kind))}
	if len(fields) > 1 {
		e.Text = strings.TrimSpace(fields[1])
	}
	if len(fields) > 2 {
		for _, l := range strings.Fields(fields[2]) {
			k, v, _ := strings.Cut(l, "=")
			switch k {
			case "indom":
				e.Indom = v
			case "key":
				e.Key = v
			default:
				e.Labels = append(e.Labels, metric.Label{Name: k, Value: strings.ReplaceAll(v, "_", " ")})
			}
		}
	}
	if p.part == nil {
		p.beginPart()
	}
	p.part.Events = append(p.part.Events, e)
	return nil
}

func (p *parser) open(class string, from, to, step int64) error {
	c, err := metric.ParseClass(class)
	if err != nil {
		return err
	}
	if step <= 0 || math.MaxInt64-step < to {
		return fmt.Errorf("bad step")
	}
	p.block = &block{class: c, from: from, to: to, step: step}
	return nil
}
