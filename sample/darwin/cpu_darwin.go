package darwin

import (
	"encoding/binary"
	"fmt"

	"tachograph/sample"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

const processorCPULoadInfo = 2

// cpuSource reads the ticks of all processors in one call, which unlike the host's total is not
// rate limited. The total is the sum of each processor's gains, so that it survives the wrap of
// one of them.
type cpuSource struct {
	host      sys.Host
	each, all *rows.Table
	one, sum  cpuAnswer

	words     []uint32
	cpus      []cpuTicks
	instances []*metric.Instance
}

func newCPUSource() *cpuSource { return &cpuSource{host: sys.OpenHost()} }

func (s *cpuSource) Name() string { return "cpu" }
func (s *cpuSource) Groups() []*metric.Group {
	return []*metric.Group{s.each.Group, s.all.Group}
}
func (s *cpuSource) Close() error { return s.host.Close() }

func (s *cpuSource) Refresh() error {
	s.each, s.all = cpuRows()
	s.one, s.sum = cpuAnswerOf(s.each), cpuAnswerOf(s.all)
	s.instances = nil
	return nil
}

// levels reads the performance levels; a processor whose cores are all alike has none.
func levels() []cluster {
	n, err := sys.SysctlUint("hw.nperflevels")
	if err != nil || n > 16 {
		return nil
	}
	ls := make([]cluster, n)
	for i := range ls {
		cores, err := sys.SysctlUint(fmt.Sprintf("hw.perflevel%d.logicalcpu", i))
		if err != nil {
			return nil
		}
		name, err := sys.SysctlText(fmt.Sprintf("hw.perflevel%d.name", i))
		if err != nil {
			return nil
		}
		ls[i] = cluster{name, int(cores)}
	}
	return ls
}

// clusters reads the kind of each processor from the device tree. On machines made of two dies
// the kinds alternate.
func clusters() map[int]byte {
	number, kind := sys.NewKey("logical-cpu-id"), sys.NewKey("cluster-type")
	defer number.Release()
	defer kind.Release()
	letters := make(map[int]byte)
	err := sys.Services(sys.NewClass("IOPlatformDevice"), func(x sys.Service) bool {
		k := x.Property(kind)
		defer k.Release()
		id := x.Property(number)
		defer id.Release()
		letter, ok := clusterLetter(k)
		if n, known := processorNumber(id); ok && known {
			letters[n] = letter
		}
		return false
	})
	if err != nil {
		return nil
	}
	return letters
}

// clusterLetter returns the first character of a property that is text or bytes.
func clusterLetter(v sys.Value) (byte, bool) {
	var b [8]byte
	text, ok := v.Data(b[:])
	if !ok {
		text, ok = v.Text(b[:])
	}
	if !ok || len(text) == 0 || text[0] <= ' ' || text[0] > '~' {
		return 0, false
	}
	return text[0], true
}

// processorNumber returns a processor's number, which is a number on machines of two dies and
// bytes on others.
func processorNumber(v sys.Value) (int, bool) {
	if n, ok := v.Int(); ok {
		return int(n), true
	}
	var b [8]byte
	digits, ok := v.Data(b[:])
	if !ok || len(digits) < 4 {
		return 0, false
	}
	return int(binary.LittleEndian.Uint32(digits)), true
}

func (s *cpuSource) name(n int) {
	known := levels()
	kinds := treeKinds(clusters(), known, n)
	if kinds == nil {
		kinds = coreKinds(known, n)
	}
	s.instances = make([]*metric.Instance, n)
	for i := range s.instances {
		in := &metric.Instance{ID: uint64(i), Key: cpuName(i), Name: cpuName(i)}
		if kinds != nil {
			in.Labels = []metric.Label{{Name: "level", Value: kinds[i]}}
		}
		s.instances[i] = in
	}
	for len(s.cpus) < n {
		s.cpus = append(s.cpus, cpuTicks{})
	}
}

func (s *cpuSource) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	words, n, err := s.host.ProcessorInfo(processorCPULoadInfo, s.words[:0])
	s.words = words
	if err == nil && (n == 0 || len(words) != n*len(cpuStates)) {
		err = fmt.Errorf("host_processor_info: %d words for %d processors", len(words), n)
	}
	if err != nil {
		return err
	}
	if n != len(s.instances) {
		s.name(n)
	}
	s.sum.ticks, s.sum.processors = stateTicks{}, n
	for i := range n {
		s.cpus[i].add([len(cpuStates)]uint32(words[i*len(cpuStates):]))
		for state, v := range s.cpus[i].total {
			s.sum.ticks[state] += v
		}
	}
	if f := frameOf(frames, s.each.Group); f != nil {
		f.Reset(at)
		for i, in := range s.instances {
			s.one.ticks = s.cpus[i].total
			s.each.Fill(f, f.Row(in), 0, &s.one)
		}
	}
	if f := frameOf(frames, s.all.Group); f != nil {
		f.Reset(at)
		s.all.Fill(f, f.Row(nil), 0, &s.sum)
	}
	return nil
}
