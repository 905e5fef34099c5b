package linux

import (
	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// softnet reads /proc/net/softnet_stat: a line of hexadecimal numbers for each processor that
// receives packets from the network cards.
type softnet struct {
	root     string
	file     *file
	per, all *metric.Group
	cpus     roster[struct{}]
	key      []byte
}

// softnetColumns are the columns with metrics, counted from 0.
var softnetColumns = []struct {
	name  string
	field int
}{
	{"processed", 0}, {"dropped", 1}, {"time_squeeze", 2}, {"cpu_collision", 8}, {"received_rps", 9}, {"flow_limit_count", 10},
}

// softnetCPU is the column with the processor's number, on kernels that have it; on others the
// lines are those of the online processors, in order.
const softnetCPU = 12

func newSoftnet(root string) (*softnet, error) {
	s := &softnet{root: root, file: newFile(root + "/proc/net/softnet_stat")}
	return s, s.Refresh()
}

func (s *softnet) Name() string            { return "softnet" }
func (s *softnet) Groups() []*metric.Group { return []*metric.Group{s.all, s.per} }
func (s *softnet) Close() error            { s.file.close(); return nil }

func (s *softnet) Refresh() error {
	var all, per []string
	for _, c := range softnetColumns {
		all = append(all, "network.softnet."+c.name)
		per = append(per, "network.softnet.percpu."+c.name)
	}
	s.all = catalog.Group(catalog.Linux, "softnet total", all...)
	s.per = catalog.Group(catalog.Linux, "softnet", per...)
	data, err := s.file.read()
	var nums [16]uint64
	l, _ := line(data)
	n := hexes(l, nums[:])
	for i, c := range softnetColumns {
		if err == nil && c.field < n {
			continue
		}
		text := "this kernel does not count it"
		if err != nil {
			text = lacking("/proc/net/softnet_stat", err)
		}
		s.all.Metrics[i].Unsupported, s.per.Metrics[i].Unsupported = text, text
	}
	return nil
}

// hexes reads hexadecimal numbers, like words for decimal ones.
func hexes(b []byte, dst []uint64) int {
	for i := range dst {
		var w []byte
		w, b = word(b)
		v, ok := hex(w)
		if !ok {
			return i
		}
		dst[i] = v
	}
	return len(dst)
}

func (s *softnet) Read(c *sample.Context, frames []*sample.Frame) error {
	data, err := s.file.read()
	if err != nil {
		return err
	}
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
	}
	var sums [16]uint64
	s.cpus.begin()
	for nth := uint64(0); len(data) > 0; nth++ {
		var l []byte
		l, data = line(data)
		var nums [16]uint64
		n := hexes(l, nums[:])
		if n == 0 {
			continue
		}
		cpu := nth
		if n > softnetCPU {
			cpu = nums[softnetCPU]
		}
		s.key = appendCPU(s.key[:0], cpu)
		m := s.cpus.see(s.key)
		if m.first {
			m.in.ID = cpu + 1
			m.in.Labels = cpuLabels(s.root, m.in.Name)
		}
		for i, v := range nums[:n] {
			sums[i] += v
		}
		for _, f := range frames {
			if f.Full() == s.per {
				row := f.Row(&m.in)
				for i, c := range softnetColumns {
					if c.field < n {
						f.SetUint(row, i, nums[c.field])
					}
				}
			}
		}
	}
	s.cpus.end(nil)
	for _, f := range frames {
		if f.Full() == s.all {
			row := f.Row(nil)
			for i, c := range softnetColumns {
				// Each processor's counter has 32 bits; so has the sum.
				f.SetUint(row, i, sums[c.field]&(1<<32-1))
			}
		}
	}
	return nil
}

// appendCPU appends the name of a processor: cpu7.
func appendCPU(b []byte, n uint64) []byte {
	b = append(b, cpuPrefix...)
	at := len(b)
	for {
		b = append(b, byte('0'+n%10))
		if n /= 10; n == 0 {
			break
		}
	}
	for i, j := at, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return b
}
