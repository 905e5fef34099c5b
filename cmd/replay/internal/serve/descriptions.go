package serve

import (
	"embed"
	"io/fs"

	"google.golang.org/protobuf/runtime/protoimpl"
)

// The two services as their compiler described them, of github.com/grpc/grpc-proto.
//
//go:embed descriptions/*.binpb
var ownDescriptions embed.FS

// own are these descriptions by the name of the file that each is of.
var own = registered()

// registered lets the protobuf library know of the descriptions, as generated code would.
func registered() map[string][]byte {
	list := make(map[string][]byte)
	names, err := fs.Glob(ownDescriptions, "descriptions/*")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		raw, err := ownDescriptions.ReadFile(name)
		if err != nil {
			panic(err)
		}
		list[protoimpl.DescBuilder{GoPackagePath: "tachograph/cmd/replay/internal/serve", RawDescriptor: raw}.Build().File.Path()] = raw
	}
	return list
}
