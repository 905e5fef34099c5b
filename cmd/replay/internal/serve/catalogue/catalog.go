package catalogue

import (
	"context"
	"maps"
	"slices"
	"sort"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/cmd/replay/internal/serve/status"
	"tachograph/cmd/replay/internal/serve/wire"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/fault"
)

// A Service implements CatalogService, and GetValues of LiveService.
type Service struct {
	keeper *Keeper
	hub    Hub
}

// NewService returns a service with the descriptions of keeper and the values of hub.
func NewService(keeper *Keeper, hub Hub) *Service { return &Service{keeper, hub} }

// mostOnPage is the most metrics on a page.
const mostOnPage = 1000

// ListMetrics describes metrics, by name.
func (s *Service) ListMetrics(_ context.Context, r *connect.Request[tachographv1.ListMetricsRequest]) (*connect.Response[tachographv1.ListMetricsResponse], error) {
	known, err := s.Known()
	if err != nil {
		return nil, err
	}
	size := int(r.Msg.PageSize)
	if size < 0 {
		return nil, status.Invalid("page_size", "%d is less than nothing: leave it out, or write how many", size)
	}
	if size == 0 || size > mostOnPage {
		size = mostOnPage
	}
	chosen, err := known.Choose(r.Msg.Selection, r.Msg.IncludeAbsent)
	if err != nil {
		return nil, err
	}
	// A token is the last name on the previous page, so it stays valid when metrics come and go
	// between two pages.
	list, token := chosen.Metrics, r.Msg.PageToken
	if len(token) > 400 {
		return nil, status.Invalid("page_token", "this is none: use next_page_token of the page before")
	}
	list = list[sort.Search(len(list), func(i int) bool { return list[i].Name > token }):]
	out := &tachographv1.ListMetricsResponse{}
	if token == "" {
		out.Errors = chosen.Errors
	}
	if len(list) > size {
		list = list[:size]
		out.NextPageToken = list[size-1].Name
	}
	for _, d := range list {
		out.Metrics = append(out.Metrics, describe(d, known.Info))
	}
	return connect.NewResponse(out), nil
}

// describe returns the message for a metric.
func describe(d *metric.Desc, info *archive.Info) *tachographv1.Metric {
	m := &tachographv1.Metric{
		Name: wire.Text(d.Name), Type: wire.Type(d.Type), Semantics: wire.Semantics(d.Sem), Units: wire.Text(d.Units.String()),
		InstanceDomain: wire.Text(d.Indom), Class: d.Class.String(), AccessPattern: wire.Pattern(d.Class), Category: wire.Text(catalog.Category(d.Name)),
		Help: wire.Text(d.Help), LongHelp: wire.Text(d.LongHelp), Source: wire.Text(d.Source), Formula: wire.Text(d.Formula),
		Present: d.Unsupported == "", Absent: wire.Text(d.Unsupported),
	}
	if d.Formula != "" {
		m.Type = tachographv1.Type_TYPE_F64 // whatever it is computed from
	}
	if d.PMID != 0 {
		m.Pmid = d.PMID.String()
	}
	if info != nil && d.Class < metric.NumClasses {
		if every := info.Intervals[d.Class]; every > 0 && every < metric.Once && d.Unsupported == "" {
			m.Interval = durationpb.New(every)
		}
	}
	return m
}

// ListCategories lists all categories.
func (s *Service) ListCategories(context.Context, *connect.Request[tachographv1.ListCategoriesRequest]) (*connect.Response[tachographv1.ListCategoriesResponse], error) {
	known, err := s.Known()
	if err != nil {
		return nil, err
	}
	out := &tachographv1.ListCategoriesResponse{}
	all := known.Categories()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := &tachographv1.Category{Name: wire.Text(name), Metrics: int32(len(all[name]))}
		for _, d := range all[name] {
			if d.Unsupported == "" {
				c.Present++
			}
		}
		out.Categories = append(out.Categories, c)
	}
	return connect.NewResponse(out), nil
}

// ListArchives lists the archives.
func (s *Service) ListArchives(context.Context, *connect.Request[tachographv1.ListArchivesRequest]) (*connect.Response[tachographv1.ListArchivesResponse], error) {
	known, err := s.Known()
	if err != nil {
		return nil, err
	}
	out := &tachographv1.ListArchivesResponse{}
	for _, info := range known.Archives {
		out.Archives = append(out.Archives, wire.Archive(info))
	}
	return connect.NewResponse(out), nil
}

// Known returns what is known, or the error for a client.
func (s *Service) Known() (*Known, error) {
	known, err := s.keeper.Known()
	return known, unreadable(err)
}

// unreadable returns the error for a client when archives cannot be read.
func unreadable(err error) error {
	switch {
	case err == nil:
		return nil
	case fault.Of(err) == fault.Denied:
		return status.Errorf(connect.CodePermissionDenied, "ARCHIVE_DENIED", "the server may not read the archives: %v", err)
	}
	return status.Errorf(connect.CodeUnavailable, "ARCHIVE_UNREADABLE", "the archives cannot be read: %v", err)
}
