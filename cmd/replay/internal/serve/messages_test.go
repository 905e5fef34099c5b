package serve

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// described is an empty message that is as the server describes it.
func described(name protoreflect.FullName) *dynamicpb.Message {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		panic(err)
	}
	return dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor))
}

type healthCalls struct {
	check, watch *connect.Client[dynamicpb.Message, dynamicpb.Message]
}

// healthClient asks with messages that the protobuf library makes from the description.
func healthClient(c connect.HTTPClient, opts ...connect.ClientOption) healthCalls {
	opts = append(opts, connect.WithResponseInitializer(func(_ connect.Spec, m any) error {
		*m.(*dynamicpb.Message) = *described("grpc.health.v1.HealthCheckResponse")
		return nil
	}))
	client := func(method string) *connect.Client[dynamicpb.Message, dynamicpb.Message] {
		return connect.NewClient[dynamicpb.Message, dynamicpb.Message](c, "http://localhost/grpc.health.v1.Health/"+method, opts...)
	}
	return healthCalls{client("Check"), client("Watch")}
}

func asked(service string) *connect.Request[dynamicpb.Message] {
	m := described("grpc.health.v1.HealthCheckRequest")
	m.Set(m.Descriptor().Fields().ByName("service"), protoreflect.ValueOfString(service))
	return connect.NewRequest(m)
}

// said is the name of the status in a response.
func said(m *dynamicpb.Message) string {
	status := m.Descriptor().Fields().ByName("status")
	return string(status.Enum().Values().ByNumber(m.Get(status).Enum()).Name())
}

// Every protocol and format that connect has is answered.
func TestHealthInEveryFormat(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	for name, opts := range map[string][]connect.ClientOption{
		"Connect": nil, "Connect, JSON": {connect.WithProtoJSON()}, "gRPC, JSON": {connect.WithGRPC(), connect.WithProtoJSON()}, "gRPC-Web": {connect.WithGRPCWeb()},
	} {
		c := healthClient(h2cOf(s.Server), opts...)
		if res, err := c.check.CallUnary(context.Background(), asked("test.v1.Test")); err != nil || said(res.Msg) != "SERVING" {
			t.Errorf("%s: %v, %v", name, res, err)
		}
		if _, err := c.check.CallUnary(context.Background(), asked("nothing")); connect.CodeOf(err) != connect.CodeNotFound {
			t.Errorf("%s: nothing: %v", name, err)
		}
	}
	for _, c := range []struct {
		kind, body string
		status     int
		want       string
	}{
		{"application/json", `{}`, 200, `{"status":"SERVING"}`},
		{"application/json; charset=utf-8", `{"service": "test.v1.Test", "more": 1}`, 200, `{"status":"SERVING"}`},
		{"application/json", `{"service": 1}`, 400, "invalid_argument"},
		{"application/json", `{`, 400, "invalid_argument"},
		{"application/proto", "\x0a\x05ab", 400, "invalid_argument"},
		{"application/proto", "\x0a\x01\xff", 400, "not UTF-8"},
		{"application/proto", "", 200, "\x08\x01"},
	} {
		res, err := h2cOf(s.Server).Post("http://localhost/grpc.health.v1.Health/Check", c.kind, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != c.status || !bytes.Contains(body, []byte(c.want)) {
			t.Errorf("%s %q: %d, %q, %v", c.kind, c.body, res.StatusCode, body, err)
		}
	}
	if res, err := h2cOf(s.Server).Post("http://localhost/grpc.health.v1.Health/Heal", "application/json", strings.NewReader("{}")); err != nil || res.StatusCode != http.StatusNotFound {
		t.Errorf("%v, %v", res, err)
	}
}

// What is read and written here is what the descriptions say.
func TestMessagesAreAsDescribed(t *testing.T) {
	for _, c := range []struct {
		json string
		want reflectionRequest
	}{
		{`{}`, reflectionRequest{}},
		{`{"host": "h", "listServices": "*"}`, reflectionRequest{host: "h", asks: listServices, name: "*"}},
		{`{"fileByFilename": "a.proto"}`, reflectionRequest{asks: fileByName, name: "a.proto"}},
		{`{"fileContainingSymbol": "a.B"}`, reflectionRequest{asks: fileOfSymbol, name: "a.B"}},
		{`{"fileContainingExtension": {"containingType": "a.B", "extensionNumber": 7}}`, reflectionRequest{asks: fileOfExtended}},
		{`{"allExtensionNumbersOfType": "a.B"}`, reflectionRequest{asks: extensions, name: "a.B"}},
	} {
		m := described("grpc.reflection.v1.ServerReflectionRequest")
		if err := protojson.Unmarshal([]byte(c.json), m); err != nil {
			t.Fatal(err)
		}
		raw, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var got reflectionRequest
		if err := got.parse(raw); err != nil || !bytes.Equal(got.raw, raw) {
			t.Errorf("%s: %x, %v", c.json, got.raw, err)
		}
		got.raw = nil
		if got.host != c.want.host || got.asks != c.want.asks || got.name != c.want.name {
			t.Errorf("%s: %+v", c.json, got)
		}
		res := described("grpc.reflection.v1.ServerReflectionResponse")
		if err := proto.Unmarshal((reflection{services: []string{"a", "b"}}).answer(&reflectionRequest{host: got.host, asks: got.asks, name: got.name, raw: raw}, map[string]bool{}).encode(), res); err != nil {
			t.Fatal(err)
		}
		if len(res.GetUnknown()) > 0 || !proto.Equal(res.Get(res.Descriptor().Fields().ByName("original_request")).Message().Interface(), m) {
			t.Errorf("%s: the answer is %v", c.json, res)
		}
	}
}

func FuzzRequests(f *testing.F) {
	f.Add([]byte("\x0a\x01h\x3a\x00"))
	f.Add([]byte("\x22\x03a.B"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = new(healthRequest).parse(b)
		var r reflectionRequest
		if r.parse(b) == nil {
			reflection{}.answer(&r, map[string]bool{})
		}
	})
}
