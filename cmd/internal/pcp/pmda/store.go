package pmda

import (
	"context"
	"fmt"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/sample/metric"
)

// allThreads is the metric that says, and sets, whether the threads of all processes are read:
// its name in PCP's own agents too.
const allThreads = "proc.control.all.threads"

// everyProcess is the pattern that selects all processes.
const everyProcess = "*"

// Store sets a metric that may be set. The caller checks who may do that.
func (m *Machine) Store(ctx context.Context, d *metric.Desc, in *metric.Instance, v metric.Value) error {
	if d.Name != allThreads || m.opt.SetThreads == nil {
		return fmt.Errorf("%s: %w", d.Name, pcpserve.ErrReadOnly)
	}
	var patterns []string
	if v.Bits != 0 {
		patterns = []string{everyProcess}
	}
	// SetThreads waits while the source is being read.
	set := make(chan error, 1)
	go func() {
		m.storing.Lock()
		defer m.storing.Unlock()
		set <- m.opt.SetThreads(patterns)
	}()
	select {
	case err := <-set:
		m.reader.Forget(d)
		for _, d := range m.catalog.Load().Descs {
			if d.Indom == "thread" {
				m.reader.Forget(d) // the values are recent, but read with the old selection
			}
		}
		return err
	case <-ctx.Done():
		return fmt.Errorf("%s: the source of processes is busy: %w", d.Name, ctx.Err())
	}
}
