// Package telemetry answers as accretional/sysctl does, a telemetry service for the Mac: present
// values by the names, types and categories of that service, and changes as the bytes that the
// kernel gave. The values are those that the catalogue's service has of the followed archive.
package telemetry

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"tachograph/api/sysctl"
	"tachograph/cmd/replay/internal/serve/budget"
	"tachograph/cmd/replay/internal/serve/catalogue"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/cmd/replay/internal/serve/selection"
	"tachograph/cmd/replay/internal/serve/status"
)

// A Source has the metrics that can be requested, and their present values: a *catalogue.Service.
type Source interface {
	Known() (*catalogue.Known, error)
	Present(context.Context) (*live.State, error)
}

// Options say what a Service answers.
type Options struct {
	Source Source
	Now    func() time.Time
	// Patience is how long a request waits for the present values.
	Patience time.Duration
	// Stopping ends when the server stops: streams end with it.
	Stopping context.Context
}

// A Service implements SysctlService.
type Service struct{ opt Options }

// New returns a service.
func New(opt Options) *Service { return &Service{opt} }

// inMemory is how many bytes of memory a byte of an answer takes until it is sent.
const inMemory = 8

// present returns what is known and its present values.
func (s *Service) present(ctx context.Context) (*present, error) {
	known, err := s.opt.Source.Known()
	if err != nil || known.Info == nil {
		return &present{known: known}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Patience)
	defer cancel()
	state, err := s.opt.Source.Present(ctx)
	return &present{known, state, s.opt.Now()}, err
}

// check refuses a request with too many names.
func check(names []string) error {
	if n := len(names); n > selection.MostItems {
		return status.Invalid("names", "%d are more than the %d that one request may have: use several requests", n, selection.MostItems)
	}
	return nil
}

// GetMetrics reads metrics by name.
func (s *Service) GetMetrics(ctx context.Context, r *connect.Request[sysctl.GetMetricsRequest]) (*connect.Response[sysctl.GetMetricsResponse], error) {
	if err := check(r.Msg.Names); err != nil {
		return nil, err
	}
	return s.metrics(ctx, r.Msg.Names)
}

// GetMetricsByCategory reads all metrics of a category.
func (s *Service) GetMetricsByCategory(ctx context.Context, r *connect.Request[sysctl.GetMetricsByCategoryRequest]) (*connect.Response[sysctl.GetMetricsResponse], error) {
	var names []string
	for _, k := range theirs() {
		if k.Category == r.Msg.Category {
			names = append(names, k.name)
		}
	}
	return s.metrics(ctx, names)
}

func (s *Service) metrics(ctx context.Context, names []string) (*connect.Response[sysctl.GetMetricsResponse], error) {
	p, err := s.present(ctx)
	if err != nil {
		return nil, err
	}
	out := &sysctl.GetMetricsResponse{}
	for _, name := range names {
		m := p.metric(name)
		if err := budget.Take(ctx, int64(proto.Size(m)+6)*inMemory); err != nil {
			return nil, err
		}
		out.Metrics = append(out.Metrics, m)
	}
	return connect.NewResponse(out), nil
}

// ListKnownMetrics describes the metrics of a category, or all.
func (s *Service) ListKnownMetrics(ctx context.Context, r *connect.Request[sysctl.ListKnownMetricsRequest]) (*connect.Response[sysctl.ListKnownMetricsResponse], error) {
	list, err := s.registry(ctx, r.Msg.Category)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&sysctl.ListKnownMetricsResponse{Registry: list}), nil
}

// GetKernelRegistry describes all metrics, and says how often Subscribe sends at most.
func (s *Service) GetKernelRegistry(ctx context.Context, _ *connect.Request[sysctl.GetKernelRegistryRequest]) (*connect.Response[sysctl.GetKernelRegistryResponse], error) {
	list, err := s.registry(ctx, "")
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&sysctl.GetKernelRegistryResponse{Registry: list, MinIntervalNs: int64(shortest)}), nil
}

func (s *Service) registry(ctx context.Context, category string) (*sysctl.KernelMetricRegistry, error) {
	known, err := s.opt.Source.Known()
	if err != nil {
		return nil, err
	}
	list := registry(known, category)
	return list, budget.Take(ctx, int64(proto.Size(list))*inMemory)
}

// ListCategories lists the categories.
func (s *Service) ListCategories(context.Context, *connect.Request[sysctl.ListCategoriesRequest]) (*connect.Response[sysctl.ListCategoriesResponse], error) {
	out := &sysctl.ListCategoriesResponse{}
	for _, k := range theirs() {
		if n := len(out.Categories); n == 0 || out.Categories[n-1].Name != k.Category {
			out.Categories = append(out.Categories, &sysctl.CategoryInfo{Name: k.Category})
		}
		out.Categories[len(out.Categories)-1].MetricCount++
	}
	return connect.NewResponse(out), nil
}
