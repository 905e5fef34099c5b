package darwin

import (
	"time"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

const processorSetLoadInfo = 4

// kernelSource supplies the live numbers of processes and threads. The sysctls
// with the tempting names (kern.num_tasks, kern.num_threads) are limits; the
// default processor set has the counts, for any caller.
type kernelSource struct {
	host   sys.Host
	set    sys.ProcessorSet
	group  *metric.Group
	words  [8]uint32
	answer []byte
}

const (
	colProcs = iota
	colThreads
	colUptime
)

func newKernelSource() *kernelSource { return &kernelSource{host: sys.OpenHost()} }

func (s *kernelSource) Name() string            { return "kernel" }
func (s *kernelSource) Groups() []*metric.Group { return []*metric.Group{s.group} }

func (s *kernelSource) Refresh() error {
	s.group = catalog.Group(catalog.Darwin, "kernel",
		"kernel.all.nprocs", "kernel.all.nthreads", "kernel.all.uptime")
	if s.set == (sys.ProcessorSet{}) {
		set, err := s.host.DefaultProcessorSet()
		if err != nil {
			why := err.Error()
			s.group.Metrics[colProcs].Unsupported = why
			s.group.Metrics[colThreads].Unsupported = why
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
		f.Reset(at)
		row := f.Row(nil)
		// Sleep counts: people mean the time since the machine was started.
		f.SetUint(row, colUptime, uint64(at.Cont/int64(time.Second)))
		if !f.Wants(colProcs, colThreads) {
			continue
		}
		n, err := s.set.Statistics(processorSetLoadInfo, s.words[:])
		if err != nil {
			f.MissRow(row, reasonFor(err))
			continue
		}
		s.answer = decode.Words(s.answer, s.words[:n])
		for col, field := range []*decode.Field{colProcs: decode.SetTaskCount, colThreads: decode.SetThreadCount} {
			if v, ok := field.Uint(s.answer); ok {
				f.SetUint(row, col, v)
			} else {
				f.SetMissing(row, col, badAnswer)
			}
		}
	}
	return nil
}
