package catalogue

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/cmd/replay/internal/serve/budget"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/cmd/replay/internal/serve/status"
	"tachograph/cmd/replay/internal/serve/wire"
	"tachograph/sample/metric"
)

// mostBytes is the size of the largest answer with values: the default limit of gRPC clients,
// less some room for the rest.
const mostBytes = 4<<20 - 64<<10

// inMemory is how many bytes of memory a byte of an answer takes until it is sent: as messages,
// and encoded.
const inMemory = 8

// ListInstances lists the members of a domain.
func (s *Service) ListInstances(ctx context.Context, r *connect.Request[tachographv1.ListInstancesRequest]) (*connect.Response[tachographv1.ListInstancesResponse], error) {
	name := r.Msg.InstanceDomain
	if !s.isDomain(name) {
		return nil, status.Errorf(connect.CodeNotFound, "NO_DOMAIN", "there is no instance domain %q: ListMetrics says which domain a metric has", name)
	}
	state, err := s.Present(ctx)
	if err != nil {
		return nil, err
	}
	out := &tachographv1.ListInstancesResponse{}
	size := 0
	for _, in := range state.Instances(name) {
		i := wire.Instance(in)
		bytes := proto.Size(i) + 6
		if size += bytes; size > mostBytes {
			return nil, tooLarge("instances")
		}
		if err := budget.Take(ctx, int64(bytes)*inMemory); err != nil {
			return nil, err
		}
		out.Instances = append(out.Instances, i)
	}
	return connect.NewResponse(out), nil
}

// isDomain reports whether any metric has the instance domain.
func (s *Service) isDomain(name string) bool {
	known, err := s.keeper.Known()
	if err != nil || name == metric.NoIndom {
		return false
	}
	for _, list := range known.Categories() {
		for _, d := range list {
			if d.Indom == name {
				return true
			}
		}
	}
	return false
}

func tooLarge(what string) error {
	return status.Errorf(connect.CodeResourceExhausted, "ANSWER_TOO_LARGE", "these %s are more than fit into one answer of 4 MB: select fewer, or subscribe to them", what)
}

// Present returns the present state, or the error for a client.
func (s *Service) Present(ctx context.Context) (*live.State, error) {
	state, err := s.hub.Now(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return state, unreadable(err)
}

// GetValues returns present values.
func (s *Service) GetValues(ctx context.Context, r *connect.Request[tachographv1.GetValuesRequest]) (*connect.Response[tachographv1.GetValuesResponse], error) {
	known, err := s.Known()
	if err != nil {
		return nil, err
	}
	chosen, err := known.Choose(r.Msg.Selection, false)
	if err != nil {
		return nil, err
	}
	state := new(live.State) // an empty one
	if known.Info != nil {
		if state, err = s.Present(ctx); err != nil {
			return nil, err
		}
	}
	now := s.keeper.now()
	out := &tachographv1.GetValuesResponse{Errors: chosen.Errors, Position: state.Position.String()}
	size := proto.Size(out)
	for _, d := range chosen.Metrics {
		m := &tachographv1.MetricValues{Name: wire.Text(d.Name), Units: wire.Text(d.Units.String())}
		if reading, ok := lookup(state, d); ok {
			if fill(m, state, &reading, chosen.Instance, now, mostBytes-size) != nil {
				return nil, tooLarge("values")
			}
		} else {
			m.Absent = wire.Text(state.Why(d))
		}
		bytes := proto.Size(m) + 6
		if size += bytes; size > mostBytes {
			return nil, tooLarge("values")
		}
		if err := budget.Take(ctx, int64(bytes)*inMemory); err != nil {
			return nil, err
		}
		out.Metrics = append(out.Metrics, m)
	}
	return connect.NewResponse(out), nil
}

// lookup returns the reading of d, if there is one.
func lookup(state *live.State, d *metric.Desc) (live.Reading, bool) {
	if d.Unsupported != "" {
		return live.Reading{}, false
	}
	return state.Lookup(d.Name)
}

// fill adds the values of a reading; it returns an error if they take more than room.
func fill(m *tachographv1.MetricValues, s *live.State, r *live.Reading, accept func(string, *metric.Instance) bool, now time.Time, room int) error {
	m.Units = wire.Text(r.Metric.Units.String())
	m.Time = wire.Time(r.Block.At.Wall)
	m.Age = durationpb.New(r.Age(now))
	for in, v := range r.Values() {
		if in != nil && accept != nil && !accept(r.Metric.Indom, in) {
			continue
		}
		value := &tachographv1.InstanceValue{Value: wire.Value(v)}
		if in != nil {
			value.Instance = wire.Instance(in)
		}
		if d := s.Distrust(r.Metric, in); d != nil {
			value.Distrusted = &tachographv1.Distrust{Since: wire.Time(d.From), Because: wire.Text(d.Because)}
		}
		if room -= proto.Size(value) + 4; room < 0 {
			return tooLarge("values")
		}
		m.Values = append(m.Values, value)
	}
	return nil
}
