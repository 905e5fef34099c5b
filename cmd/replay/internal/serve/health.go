package serve

import (
	"context"
	"net/http"
	"sync"

	"connectrpc.com/connect"

	"tachograph/cmd/replay/internal/serve/status"
)

// health holds the status of services. The server itself has the empty name.
type health struct {
	mu       sync.Mutex
	services map[string]servingStatus
	changed  chan struct{} // closed at the next change
	stopped  bool
}

func newHealth() *health {
	return &health{
		services: map[string]servingStatus{"": serving},
		changed:  make(chan struct{}),
	}
}

func (h *health) set(service string, works bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := notServing
	if works && !h.stopped {
		s = serving
	}
	if h.services[service] != s {
		h.services[service] = s
		h.tell()
	}
}

// stop sets all services to not serving.
func (h *health) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	for name := range h.services {
		h.services[name] = notServing
	}
	h.tell()
}

func (h *health) tell() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// get returns the status of a service, UNKNOWN if there is none, and a channel that is closed
// when it may have changed.
func (h *health) get(service string) (servingStatus, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.services[service], h.changed
}

const healthName = "grpc.health.v1.Health"

// healthService is the standard gRPC health service.
type healthService struct {
	*health
	stopping context.Context
}

func (s healthService) Check(_ context.Context, r *connect.Request[healthRequest]) (*connect.Response[healthResponse], error) {
	now, _ := s.get(r.Msg.Service)
	if now == statusUnknown {
		return nil, status.Errorf(connect.CodeNotFound, "SERVICE_UNKNOWN", "there is no service %q here", shortened(r.Msg.Service))
	}
	return connect.NewResponse(&healthResponse{Status: now}), nil
}

func (s healthService) Watch(ctx context.Context, r *connect.Request[healthRequest], stream *connect.ServerStream[healthResponse]) error {
	told := servingStatus(-1)
	for {
		now, changed := s.get(r.Msg.Service)
		if now == statusUnknown {
			now = serviceUnknown
		}
		if now != told {
			if err := stream.Send(&healthResponse{Status: now}); err != nil {
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

// addOwn adds the server's own services: health and reflection.
func (s *Server) addOwn() {
	var names []string
	for _, p := range s.parts {
		if p.Service != "" {
			names = append(names, p.Service)
			s.health.announce(p.Service)
		}
	}
	const path = "/" + healthName + "/"
	service, mux := healthService{s.health, s.stopping}, http.NewServeMux()
	options := append(s.ownRPC(), connect.WithCodec(jsonCodec{"json"}), connect.WithCodec(jsonCodec{"json; charset=utf-8"}))
	mux.Handle(path+"Check", connect.NewUnaryHandler(path+"Check", service.Check, options...))
	mux.Handle(path+"Watch", connect.NewServerStreamHandler(path+"Watch", service.Watch, options...))
	s.Add(Part{Path: path, Handler: mux, About: "whether services work (gRPC)", AtOnce: mostWatchers})
	s.addReflection(append(names, healthName))
}

// announce sets a service without a status to serving.
func (h *health) announce(service string) {
	if now, _ := h.get(service); now == statusUnknown {
		h.set(service, true)
	}
}
