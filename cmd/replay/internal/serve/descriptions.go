package serve

import (
	_ "embed"

	"google.golang.org/protobuf/runtime/protoimpl"
)

// The descriptions of gRPC's two services: the FileDescriptorProto that protoc makes from
// health.proto and from reflection.proto of github.com/grpc/grpc-proto, without its options.
var (
	//go:embed descriptions/health.binpb
	healthDescription []byte
	//go:embed descriptions/reflection.binpb
	reflectionDescription []byte
)

// own maps the path of each described file to its description.
var own = registered(healthDescription, reflectionDescription)

// registered makes descriptions known to the protobuf library, as generated code does.
func registered(list ...[]byte) map[string][]byte {
	byPath := make(map[string][]byte)
	for _, raw := range list {
		built := protoimpl.DescBuilder{GoPackagePath: "tachograph/cmd/replay/internal/serve", RawDescriptor: raw}.Build()
		byPath[built.File.Path()] = raw
	}
	return byPath
}
