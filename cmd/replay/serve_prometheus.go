package main

import (
	"context"
	"time"

	"tachograph/api/tachograph/v1/tachographv1connect"
	"tachograph/cmd/replay/internal/push/remote"
	"tachograph/cmd/replay/internal/scope"
	"tachograph/cmd/replay/internal/serve"
	"tachograph/cmd/replay/internal/serve/ask"
	"tachograph/cmd/replay/internal/serve/scrape"
)

// serveQuestions serves the questions that replay answers.
func (s *serving) serveQuestions() {
	limits := ask.DefaultLimits
	questions := ask.New(s.a.answers(s.served, s.a.Derived, s.a.Now), limits)
	path, handler := questions.Handler(s.server.RPC()...)
	s.server.Add(serve.Part{Path: path, Handler: handler, Service: tachographv1connect.QueryServiceName,
		About: "what replay answers, over what has been recorded", Timeout: limits.Longest + time.Second, AtOnce: limits.AtOnce + limits.Waiting})
	s.server.Add(serve.Part{Path: "/v1/query", Handler: questions, Timeout: limits.Longest + time.Second, AtOnce: limits.AtOnce + limits.Waiting,
		About: "the same as lines of JSON: POST a QueryRequest, such as {\"top\": {\"by\": \"memory\"}}"})
	path, handler = questions.Commands(s.a.lines(scope.Given{Archives: s.served, Derived: s.a.Derived}, s.a.Now), s.server.Stopping()).Handler(s.server.RPC()...)
	s.server.Add(serve.Part{Path: path, Handler: handler, Service: tachographv1connect.CommandServiceName,
		About: "command lines of replay --from-server", AtOnce: mostStreams})
}

// serveMetrics serves present values to Prometheus.
func (s *serving) serveMetrics() {
	s.server.Add(serve.Part{Path: "/metrics", Handler: scrape.Handler(scrape.Options{Present: s.hub.Now, Now: s.a.Now}),
		About: "present values for Prometheus, as OpenMetrics; name[]=GLOB and collect[]=GROUP select", Timeout: presentTimeout})
}

// serveHistory lets Prometheus read archives as if it had scraped them.
func (s *serving) serveHistory() {
	open := func(ctx context.Context) (remote.Archive, error) { return openFor(ctx, s.served...) }
	s.server.Add(serve.Part{Path: "/api/v1/read", Handler: remote.Handler(remote.Options{Open: open}),
		About: "remote read for Prometheus: its archives hold what these hold", Timeout: time.Minute + time.Second, AtOnce: 16})
}
