package serve

import (
	"context"
	"testing"

	"connectrpc.com/connect"

	healthv1 "tachograph/cmd/replay/api/grpc/health/v1"
	"tachograph/cmd/replay/api/grpc/health/v1/healthv1connect"
)

func TestHealth(t *testing.T) {
	s := start(t, Options{})
	c := healthv1connect.NewHealthClient(h2cOf(s.Server), "http://localhost", connect.WithGRPC())
	check := func(service string) (healthv1.HealthCheckResponse_ServingStatus, error) {
		res, err := c.Check(context.Background(), connect.NewRequest(&healthv1.HealthCheckRequest{Service: service}))
		if err != nil {
			return 0, err
		}
		return res.Msg.Status, nil
	}
	for _, service := range []string{"", "test.v1.Test"} {
		if got, err := check(service); got != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v %v", service, got, err)
		}
	}
	if _, err := check("nothing"); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("nothing: %v", err)
	}
	stream, err := c.Watch(context.Background(), connect.NewRequest(&healthv1.HealthCheckRequest{Service: "test.v1.Test"}))
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := c.Watch(context.Background(), connect.NewRequest(&healthv1.HealthCheckRequest{Service: "nothing"}))
	if err != nil {
		t.Fatal(err)
	}
	if !unknown.Receive() || unknown.Msg().Status != healthv1.HealthCheckResponse_SERVICE_UNKNOWN {
		t.Errorf("nothing is %v", unknown.Msg())
	}
	unknown.Close()
	next := func(want healthv1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if !stream.Receive() || stream.Msg().Status != want {
			t.Errorf("%v %v, want %v", stream.Msg(), stream.Err(), want)
		}
	}
	next(healthv1.HealthCheckResponse_SERVING)
	s.health.set("test.v1.Test", false)
	next(healthv1.HealthCheckResponse_NOT_SERVING)
	s.health.set("test.v1.Test", true)
	next(healthv1.HealthCheckResponse_SERVING)
	go s.stop()
	for stream.Receive() {
	}
	if connect.CodeOf(stream.Err()) != connect.CodeUnavailable {
		t.Errorf("at the end: %v", stream.Err())
	}
	stream.Close()
}
