package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"tachograph/cmd/replay/internal/fields"
)

// gRPC itself defines two of the services. Their messages are written by hand: the server uses
// few of their fields, and generated code for them would be 1,242 lines in four packages.

// healthRequest is grpc.health.v1.HealthCheckRequest.
type healthRequest struct {
	Service string `json:"service"`
}

func (r *healthRequest) parse(b []byte) error {
	return fields.Each(b, func(field protowire.Number, bytes []byte, _ uint64) error {
		if field == 1 && bytes != nil {
			return setText(&r.Service, bytes)
		}
		return nil
	})
}

// servingStatus is grpc.health.v1.HealthCheckResponse.ServingStatus.
type servingStatus int32

const (
	statusUnknown servingStatus = iota
	serving
	notServing
	serviceUnknown
)

// MarshalText returns the name that the status has in JSON.
func (s servingStatus) MarshalText() ([]byte, error) {
	return []byte([...]string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"}[s]), nil
}

// healthResponse is grpc.health.v1.HealthCheckResponse.
type healthResponse struct {
	Status servingStatus `json:"status"`
}

func (r *healthResponse) encode() []byte { return fields.Uint(nil, 1, uint64(r.Status)) }

// The possible requests in a reflectionRequest.
const (
	fileByName     protowire.Number = 3
	fileOfSymbol   protowire.Number = 4
	fileOfExtended protowire.Number = 5
	extensions     protowire.Number = 6
	listServices   protowire.Number = 7
)

// reflectionRequest is grpc.reflection.v1.ServerReflectionRequest.
type reflectionRequest struct {
	host string
	asks protowire.Number // 0 if it asks for nothing
	name string           // of the file or the symbol
	raw  []byte
}

func (r *reflectionRequest) parse(b []byte) error {
	r.raw = append([]byte(nil), b...)
	return fields.Each(b, func(field protowire.Number, bytes []byte, _ uint64) error {
		switch {
		case bytes == nil:
		case field == 1:
			return setText(&r.host, bytes)
		case field == fileOfExtended: // a message
			r.asks = field
		case field >= fileByName && field <= listServices:
			r.asks = field
			return setText(&r.name, bytes)
		}
		return nil
	})
}

// reflectionResponse is grpc.reflection.v1.ServerReflectionResponse, as it is sent.
type reflectionResponse []byte

func (r *reflectionResponse) encode() []byte { return *r }

// setText sets a string, if b is one: strings are UTF-8.
func setText(s *string, b []byte) error {
	if !utf8.Valid(b) {
		return errors.New("a string is not UTF-8")
	}
	*s = string(b)
	return nil
}

// wireCodec is connect's codec for these messages. Connect uses it for its own errors, too.
type wireCodec struct{}

func (wireCodec) Name() string { return "proto" }

func (wireCodec) Marshal(m any) ([]byte, error) {
	switch m := m.(type) {
	case interface{ encode() []byte }:
		return m.encode(), nil
	case proto.Message:
		return proto.Marshal(m)
	}
	return nil, fmt.Errorf("a %T is not a message", m)
}

func (wireCodec) Unmarshal(b []byte, m any) error {
	if m, ok := m.(interface{ parse([]byte) error }); ok {
		return m.parse(b)
	}
	return fmt.Errorf("a %T is not a request", m)
}

// jsonCodec is connect's codec for the messages of the health service, for clients that use
// curl.
type jsonCodec struct{ name string }

func (c jsonCodec) Name() string                  { return c.name }
func (jsonCodec) Marshal(m any) ([]byte, error)   { return json.Marshal(m) }
func (jsonCodec) Unmarshal(b []byte, m any) error { return json.Unmarshal(b, m) }

// ownRPC returns the options for the handlers of these services.
func (s *Server) ownRPC() []connect.HandlerOption {
	return append(s.RPC(), connect.WithCodec(wireCodec{}))
}
