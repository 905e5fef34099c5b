package darwin

import (
	"runtime"

	"tachograph/sample"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

const processorSetLoadInfo = 4

// kernelSource supplies the live numbers of processes and threads. The sysctls with the tempting
// names (kern.num_tasks, kern.num_threads) are limits; the default processor set has the counts,
// for any caller.
type kernelSource struct {
	host  sys.Host
	set   sys.ProcessorSet
	rows  *rows.Table
	words [4]uint32 // the whole processor_set_load_info
	loads loads
}

func newKernelSource() *kernelSource { return &kernelSource{host: sys.OpenHost()} }

func (s *kernelSource) Name() string            { return "kernel" }
func (s *kernelSource) Groups() []*metric.Group { return []*metric.Group{s.rows.Group} }

func (s *kernelSource) Refresh() error {
	s.rows = kernelRows()
	s.loads = loadsOf(s.rows, runtime.GOARCH)
	if s.set == (sys.ProcessorSet{}) {
		set, err := s.host.DefaultProcessorSet()
		if err != nil {
			s.rows.Lack(err.Error(), counted)
			return nil
		}
		s.set = set
	}
	return nil
}

func (s *kernelSource) Close() error {
	err := s.set.Close()
	if e := s.host.Close(); err == nil {
		err = e
	}
	return err
}

func (s *kernelSource) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	for _, f := range frames {
		s.loads.uptime = at.Cont
		if s.rows.Wants(f, counted) {
			n, err := s.set.Statistics(processorSetLoadInfo, s.words[:])
			if s.loads.failed = metric.Present; err != nil {
				s.loads.failed = reasonFor(err)
			}
			s.loads.Answer = decode.Words(s.loads.Answer, s.words[:n])
		}
		f.Reset(at)
		s.rows.Fill(f, f.Row(nil), 0, &s.loads)
	}
	return nil
}
