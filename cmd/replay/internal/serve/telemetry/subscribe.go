package telemetry

import (
	"bytes"
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"tachograph/api/sysctl"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/serve/budget"
	"tachograph/cmd/replay/internal/serve/status"
)

// shortest is the shortest interval of Subscribe, that of the service. Values do not change more
// often than they are recorded.
const shortest = 100 * time.Millisecond

// ofMetric is how many bytes a stream keeps for each of its metrics.
const ofMetric = 512

// Subscribe implements SysctlService.Subscribe.
func (s *Service) Subscribe(ctx context.Context, r *connect.Request[sysctl.SubscribeRequest], out *connect.ServerStream[sysctl.SubscribeResponse]) error {
	return s.stream(ctx, r.Msg, out.Send)
}

func (s *Service) stream(ctx context.Context, req *sysctl.SubscribeRequest, send func(*sysctl.SubscribeResponse) error) error {
	every := time.Duration(req.IntervalNs)
	switch {
	case every <= 0:
		every = shortest
	case every < shortest:
		return status.Invalid("interval_ns", "%v is shorter than the shortest interval, %v, which GetKernelRegistry gives as min_interval_ns", every, shortest)
	}
	if err := check(req.Names); err != nil {
		return err
	}
	account := budget.Of(ctx)
	if err := account.Keep(int64(len(req.Names)) * ofMetric); err != nil {
		return err
	}
	c := newChanges(req.Names)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		p, err := s.present(ctx)
		if err != nil {
			return err
		}
		m := c.next(p)
		bytes := int64(proto.Size(m)) * inMemory
		if err := account.Wait(ctx, bytes); err != nil {
			return err
		}
		err = send(m)
		account.Give(bytes)
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.opt.Stopping.Done():
			return context.Cause(s.opt.Stopping)
		case <-ticker.C:
		}
	}
}

// changes are what a client has been sent.
type changes struct {
	errors  []string // for the first response
	metrics []*sent
}

// sent is what a client has been sent of a metric: its bytes, or why it has none.
type sent struct {
	*theirMetric
	value []byte
	why   string
}

func newChanges(names []string) *changes {
	c := new(changes)
	had := make(map[string]bool)
	for _, name := range names {
		if had[name] {
			continue
		}
		had[name] = true
		switch k := theirsByName()[name]; {
		case k == nil:
			c.errors = append(c.errors, visible.Text(name)+": unknown metric")
		case k.kind == ofComputed:
			c.errors = append(c.errors, name+": is computed, so no kernel has bytes of it: use GetMetrics")
		default:
			c.metrics = append(c.metrics, &sent{theirMetric: k})
		}
	}
	return c
}

// next returns the response with what has changed.
func (c *changes) next(p *present) *sysctl.SubscribeResponse {
	m := &sysctl.SubscribeResponse{Errors: c.errors}
	c.errors = nil
	if p.state != nil {
		m.TimestampNs = p.state.At.Wall
	}
	for _, had := range c.metrics {
		value, why := p.bytes(had.theirMetric)
		switch {
		case why == "" && (had.value == nil || !bytes.Equal(value, had.value)):
			m.Deltas = append(m.Deltas, &sysctl.MetricDelta{Name: had.name, Value: value})
		case why != "" && why != had.why:
			m.Errors = append(m.Errors, had.name+": "+visible.Text(why))
		}
		had.value, had.why = value, why
	}
	return m
}
