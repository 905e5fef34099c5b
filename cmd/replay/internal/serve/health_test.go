package serve

import (
	"context"
	"testing"

	"connectrpc.com/connect"
)

func TestHealth(t *testing.T) {
	s := start(t, Options{})
	c := healthClient(h2cOf(s.Server), connect.WithGRPC())
	check := func(service string) (string, error) {
		res, err := c.check.CallUnary(context.Background(), asked(service))
		if err != nil {
			return "", err
		}
		return said(res.Msg), nil
	}
	for _, service := range []string{"", "test.v1.Test"} {
		if got, err := check(service); got != "SERVING" {
			t.Errorf("%q: %v %v", service, got, err)
		}
	}
	if _, err := check("nothing"); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("nothing: %v", err)
	}
	stream, err := c.watch.CallServerStream(context.Background(), asked("test.v1.Test"))
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := c.watch.CallServerStream(context.Background(), asked("nothing"))
	if err != nil {
		t.Fatal(err)
	}
	if !unknown.Receive() || said(unknown.Msg()) != "SERVICE_UNKNOWN" {
		t.Errorf("nothing is %v", unknown.Msg())
	}
	unknown.Close()
	next := func(want string) {
		t.Helper()
		if !stream.Receive() || said(stream.Msg()) != want {
			t.Errorf("%v %v, want %v", stream.Msg(), stream.Err(), want)
		}
	}
	next("SERVING")
	s.health.set("test.v1.Test", false)
	next("NOT_SERVING")
	s.health.set("test.v1.Test", true)
	next("SERVING")
	go s.stop()
	for stream.Receive() {
	}
	if connect.CodeOf(stream.Err()) != connect.CodeUnavailable {
		t.Errorf("at the end: %v", stream.Err())
	}
	stream.Close()
}
