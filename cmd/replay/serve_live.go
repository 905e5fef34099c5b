package main

import (
	"context"

	"connectrpc.com/connect"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/api/tachograph/v1/tachographv1connect"
	"tachograph/cmd/replay/internal/serve"
	"tachograph/cmd/replay/internal/serve/catalogue"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/follow"
)

func (s *serving) serveCatalogue() {
	path, handler := tachographv1connect.NewCatalogServiceHandler(s.present(), s.server.RPC()...)
	s.server.Add(serve.Part{Path: path, Handler: handler, Service: tachographv1connect.CatalogServiceName,
		About: "what there is to ask for: metrics, categories, instances, archives", Timeout: presentTimeout})
}

// present returns the service that answers what metrics and archives exist, and their present
// values.
func (s *serving) present() *catalogue.Service { return catalogue.NewService(s.keeper, s.hub) }

// liveService is LiveService, made of the two services that answer its methods.
type liveService struct {
	*catalogue.Service
	*live.Publisher
}

// GetValues returns present values.
func (l liveService) GetValues(ctx context.Context, r *connect.Request[tachographv1.GetValuesRequest]) (*connect.Response[tachographv1.GetValuesResponse], error) {
	ctx, cancel := context.WithTimeout(ctx, presentTimeout)
	defer cancel()
	return l.Service.GetValues(ctx, r)
}

func (s *serving) serveLive() {
	publisher := &live.Publisher{
		Hub:       s.hub,
		Catalogue: s.keeper.Catalogue,
		Follow: func(from follow.Position, classes []metric.Class) (live.Follower, error) {
			return follow.Open(follow.Options{From: from, Standing: true, Classes: classes, Complete: catalog.Complete}, s.served...)
		},
		Oldest: func() (follow.Position, error) { return live.OldestPosition(s.served...) },
		Log:    s.log,
	}
	path, handler := tachographv1connect.NewLiveServiceHandler(liveService{s.present(), publisher}, s.server.RPC()...)
	s.server.Add(serve.Part{Path: path, Handler: handler, Service: tachographv1connect.LiveServiceName,
		About: "present values, and what changes", AtOnce: mostStreams})
	s.server.Add(serve.Part{Path: "/v1/subscribe", Handler: publisher, AtOnce: mostStreams,
		About: "what changes, as lines of JSON: /v1/subscribe?metrics=disk.dev&interval=10s"})
}
