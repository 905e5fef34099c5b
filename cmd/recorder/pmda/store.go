package pmda

import (
	"context"
	"fmt"

	"tachograph/cmd/internal/pcpserve"
	"tachograph/sample/metric"
)

// allThreads is the metric that says, and sets, whether the threads of all processes
// are read: PCP's name for it, in PCP's own agents too.
const allThreads = "proc.control.all.threads"

// everyProcess is the pattern of processes that selects them all.
const everyProcess = "*"

// Store sets what may be set. Who may is for the caller to know.
func (m *Machine) Store(ctx context.Context, d *metric.Desc, in *metric.Instance, v metric.Value) error {
	if d.Name != allThreads || m.opt.SetThreads == nil {
		return fmt.Errorf("%s: %w", d.Name, pcpserve.ErrReadOnly)
	}
	var patterns []string
	if v.Bits != 0 {
		patterns = []string{everyProcess}
	}
	// Who reads a source keeps it until it has been read.
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
				m.reader.Forget(d) // what was read of others' is young, and no answer any more
			}
		}
		return err
	case <-ctx.Done():
		return fmt.Errorf("%s: the source of processes is busy: %w", d.Name, ctx.Err())
	}
}
