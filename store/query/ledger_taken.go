package query

import (
	"maps"
	"math/bits"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

const taskEnergyMetric = "proc.energy.cpu"

// Metrics of what applications and services took besides the processor.
const (
	gpuMetric = "coalition.energy.gpu"
	aneMetric = "coalition.energy.ane"
)

// A period is a time without a break in which something gave energy.
type period struct {
	from, to int64       // wall
	energy   MicroJoules // given while the machine was awake
	awake    int64       // for how long, in nanoseconds
}

// A taking adds up what owners took.
type taking struct {
	a      Archive
	host   string
	by     Grouping
	takers map[takerKey]*Taker
	owned  bool // some process has an owner that was asked for
}

// all fills in what was taken in the periods.
func (t *taking) all(l *Ledger, periods []*period) error {
	whole := Window{Hosts: []string{t.host}, From: periods[0].from, To: periods[len(periods)-1].to}
	fields, why := t.counted(whole)
	estimated := len(fields.names) == 0
	if !estimated {
		known, err := t.processes(periods, whole, fields, (*taking).count)
		if err != nil {
			return err
		}
		estimated = !known
	}
	if estimated {
		l.Estimated = why
		clear(t.takers)
		fields = mapFields(t.a, []ProcessCounter{UserTime, SystemTime}, nil)
		cores := Cores(t.a, whole)
		_, err := t.processes(periods, whole, fields, func(t *taking, p *period, list []*Consumer) { t.estimate(p, list, cores) })
		if err != nil {
			return err
		}
	}
	if t.by.OfOwners() && !t.owned && (t.by == PerOwner || !OwnersRecorded(t.a)) {
		// Nobody has an owner: what the processes are called is the best name.
		l.Ownerless, t.by = true, PerName
		clear(t.takers)
		return t.all(l, periods)
	}
	for _, p := range periods {
		t.parts(p)
	}
	return nil
}

// counted returns the field of the energy that the kernel counts for processes, and why it might
// have no values.
func (t *taking) counted(w Window) (fields *fieldMap, why string) {
	fields = mapFields(t.a, []ProcessCounter{Energy}, nil)
	fields.names = slices.DeleteFunc(fields.names, func(name string) bool { return name != taskEnergyMetric })
	for _, f := range fields.byArchive {
		maps.DeleteFunc(f.counters, func(name string, _ ProcessCounter) bool { return name != taskEnergyMetric })
	}
	why = "the energy of processes was not recorded"
	_, _, list := Covered(t.a, w)
	for _, info := range list {
		if d := t.a.LookupIn(info, taskEnergyMetric); d != nil && d.Unsupported != "" {
			why = d.Unsupported
		}
	}
	return fields, why
}

// processes adds up the processes of each owner, period by period, and passes the sums to take. It reports whether any
// of the fields had a value.
func (t *taking) processes(periods []*period, whole Window, fields *fieldMap, take func(*taking, *period, []*Consumer)) (known bool, err error) {
	var sums map[groupKey]*Consumer
	for _, p := range periods {
		if sums, err = t.sums(Window{Hosts: whole.Hosts, From: p.from, To: p.to}, fields); err != nil {
			return false, err
		}
		var list []*Consumer
		for _, c := range sums {
			for _, gain := range c.Gains {
				known = known || gain == gain
			}
			list = append(list, c)
		}
		take(t, p, list)
	}
	if len(periods) > 1 { // A process of several periods is one.
		if sums, err = t.sums(whole, fields); err != nil {
			return false, err
		}
	}
	for _, c := range sums {
		if k := t.takers[t.keyOf(c.Instance)]; k != nil {
			k.Processes = c.Count
		}
	}
	return known, nil
}

// sums returns what the processes of each owner used in a window.
func (t *taking) sums(w Window, fields *fieldMap) (map[groupKey]*Consumer, error) {
	top := &topper{a: t.a, group: t.by, digested: true}
	if err := top.bounds(w); err != nil {
		return nil, err
	}
	top.add(fields, nil)
	for k := range top.groups {
		t.owned = t.owned || k.name != ""
	}
	return top.groups, nil
}

// keyOf returns the key of the taker that a process or a coalition belongs to.
func (t *taking) keyOf(in *metric.Instance) takerKey {
	kind, name := t.by.name(in)
	return takerKey{kind, name}
}

// taker finds or begins a taker.
func (t *taking) taker(k takerKey) *Taker {
	if t.takers[k] == nil {
		t.takers[k] = &Taker{Kind: k.kind, Name: k.name}
	}
	return t.takers[k]
}

// count adds what the kernel counted for the processes.
func (t *taking) count(_ *period, list []*Consumer) {
	for _, c := range list {
		t.taker(t.keyOf(c.Instance)).add(micro(c.Gains[Energy]))
	}
}

func (k *Taker) add(e MicroJoules) {
	k.CPU += e
	k.Energy += e
}

// estimate gives each owner the share of a period's energy that its processor time is of the time
// that all processors had.
func (t *taking) estimate(p *period, list []*Consumer, cores float64) {
	if p.energy <= 0 {
		return
	}
	used := uint64(0)
	for _, c := range list {
		used += uint64(micro(c.CPUTime()))
	}
	// Processor times are read a little later than clocks, and may exceed what there was.
	all := max(used, uint64(cores*float64(p.awake/1000)), 1)
	for _, c := range list {
		hi, lo := bits.Mul64(uint64(p.energy), uint64(micro(c.CPUTime())))
		share, _ := bits.Div64(hi, lo, all)
		t.taker(t.keyOf(c.Instance)).add(MicroJoules(share))
	}
}

// parts adds what graphics and neural engines used for applications and services in a period.
func (t *taking) parts(p *period) {
	type series struct{ metric, boot, key string }
	last := make(map[series]store.Point)
	gains := make(map[takerKey]map[string]float64)
	sel := Window{Hosts: []string{t.host}, From: p.from, To: p.to}.Selection(gpuMetric, aneMetric)
	sel.Prior = true
	for run := range t.a.Select(sel) {
		if run.Instance == nil {
			continue
		}
		k := t.keyOf(run.Instance)
		if k.kind == "" {
			continue // It stays in the residual.
		}
		id := series{run.Metric.Name, run.Archive.BootID, run.Instance.Key}
		gain := 0.0
		for i, cont := range run.Cont {
			if _, ok := present(run, i); !ok {
				continue
			}
			if prev, ok := last[id]; ok {
				inc, _ := metric.Increase(run.Metric, prev.Bits, run.Bits[i], float64(cont-prev.Cont)/1e9)
				gain += inc
			}
			last[id] = store.Point{Wall: run.Wall[i], Cont: cont, Bits: run.Bits[i]}
		}
		if gains[k] == nil {
			gains[k] = make(map[string]float64)
		}
		gains[k][run.Metric.Name] += float64(gain * base(run.Metric.Units))
	}
	for k, of := range gains {
		if len(of) == 0 {
			continue
		}
		to := t.taker(k)
		for name, joules := range of {
			e := micro(joules)
			to.Energy += e
			if name == gpuMetric {
				to.GPU, to.HasGPU = to.GPU+e, true
			} else {
				to.ANE, to.HasANE = to.ANE+e, true
			}
		}
	}
}

// Largest returns the n takers that took most, and the others as one; n is 0 for all.
func (l *Ledger) Largest(n int) (list []*Taker, others *Taker) {
	if n == 0 || len(l.Takers) <= n {
		return l.Takers, nil
	}
	others = &Taker{}
	for _, k := range l.Takers[n:] {
		others.Processes += k.Processes
		others.Energy += k.Energy
		others.CPU += k.CPU
		others.GPU += k.GPU
		others.ANE += k.ANE
		others.HasGPU, others.HasANE = others.HasGPU || k.HasGPU, others.HasANE || k.HasANE
	}
	return l.Takers[:n], others
}
