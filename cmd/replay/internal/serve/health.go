package serve

import (
	"context"
	"sync"

	"connectrpc.com/connect"

	healthv1 "tachograph/cmd/replay/api/grpc/health/v1"
	"tachograph/cmd/replay/api/grpc/health/v1/healthv1connect"
	"tachograph/cmd/replay/internal/status"
)

// health tells how services are. The server itself is the one without a name.
type health struct {
	mu       sync.Mutex
	services map[string]healthv1.HealthCheckResponse_ServingStatus
	changed  chan struct{} // closed at the next change
	stopped  bool
}

func newHealth() *health {
	return &health{
		services: map[string]healthv1.HealthCheckResponse_ServingStatus{"": healthv1.HealthCheckResponse_SERVING},
		changed:  make(chan struct{}),
	}
}

func (h *health) set(service string, serving bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := healthv1.HealthCheckResponse_NOT_SERVING
	if serving && !h.stopped {
		s = healthv1.HealthCheckResponse_SERVING
	}
	if h.services[service] != s {
		h.services[service] = s
		h.tell()
	}
}

// stop says of all services that they do not work any more.
func (h *health) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	for name := range h.services {
		h.services[name] = healthv1.HealthCheckResponse_NOT_SERVING
	}
	h.tell()
}

func (h *health) tell() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// get is how a service is, UNKNOWN where there is none, and what ends when that
// may have changed.
func (h *health) get(service string) (healthv1.HealthCheckResponse_ServingStatus, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.services[service], h.changed
}

// healthService is grpc.health.v1.Health.
type healthService struct {
	*health
	stopping context.Context
}

func (s healthService) Check(_ context.Context, r *connect.Request[healthv1.HealthCheckRequest]) (*connect.Response[healthv1.HealthCheckResponse], error) {
	now, _ := s.get(r.Msg.Service)
	if now == healthv1.HealthCheckResponse_UNKNOWN {
		return nil, status.Errorf(connect.CodeNotFound, "SERVICE_UNKNOWN", "there is no service %q here", shortened(r.Msg.Service))
	}
	return connect.NewResponse(&healthv1.HealthCheckResponse{Status: now}), nil
}

func (s healthService) Watch(ctx context.Context, r *connect.Request[healthv1.HealthCheckRequest], stream *connect.ServerStream[healthv1.HealthCheckResponse]) error {
	told := healthv1.HealthCheckResponse_ServingStatus(-1)
	for {
		now, changed := s.get(r.Msg.Service)
		if now == healthv1.HealthCheckResponse_UNKNOWN {
			now = healthv1.HealthCheckResponse_SERVICE_UNKNOWN
		}
		if now != told {
			if err := stream.Send(&healthv1.HealthCheckResponse{Status: now}); err != nil {
				return err
			}
			told = now
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.stopping.Done():
			return context.Cause(s.stopping)
		}
	}
}

// mostWatchers is how many requests may watch the health of services at a time.
const mostWatchers = 128

// addOwn adds what the server itself tells: health and reflection.
func (s *Server) addOwn() {
	var names []string
	for _, p := range s.parts {
		if p.Service != "" {
			names = append(names, p.Service)
			s.health.announce(p.Service)
		}
	}
	path, handler := healthv1connect.NewHealthHandler(healthService{s.health, s.stopping}, s.RPC()...)
	s.Add(Part{Path: path, Handler: handler, About: "whether services work (gRPC)", AtOnce: mostWatchers})
	s.addReflection(append(names, healthv1connect.HealthName))
}

// announce says of a service of which nothing has been said that it works.
func (h *health) announce(service string) {
	if now, _ := h.get(service); now == healthv1.HealthCheckResponse_UNKNOWN {
		h.set(service, true)
	}
}
