package serve

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	_ "tachograph/api/tachograph/v1" // what is described
)

func TestReflection(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	c := grpcreflect.NewClient(h2cOf(s.Server), "http://localhost", connect.WithGRPC())
	stream := c.NewStream(context.Background())
	defer stream.Close()
	names, err := stream.ListServices()
	if err != nil || len(names) != 2 || names[0] != "grpc.health.v1.Health" || names[1] != "test.v1.Test" {
		t.Errorf("%v %v", names, err)
	}
	if files, err := stream.FileContainingSymbol("grpc.health.v1.Health"); err != nil || len(files) == 0 {
		t.Errorf("%v %v", files, err)
	}
}

// Clients that know the service by its older name are answered as well.
func TestReflectionByItsOlderName(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	question, err := hex.DecodeString("00000000023a00") // a frame of gRPC: list_services, empty
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, "http://localhost"+alphaPath+"ServerReflectionInfo", bytes.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("TE", "trailers")
	res, err := h2cOf(s.Server).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(body), "test.v1.Test") {
		t.Errorf("status %d, %v: %q", res.StatusCode, err, body)
	}
}

func TestReflectionOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	stream := grpcreflect.NewClient(h2cOf(s.Server), "http://localhost", connect.WithGRPC()).NewStream(context.Background())
	defer stream.Close()
	if _, err := stream.FileContainingSymbol("no.such.Thing"); !grpcreflect.IsReflectionStreamBroken(err) && connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("a symbol: %v", err)
	}
	if _, err := stream.FileByFilename("no/such.proto"); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("a file: %v", err)
	}
	if _, err := stream.AllExtensionNumbers("tachograph.v1.Metric"); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("extensions: %v", err)
	}
}

// What is told of each file of ours, and of all that they import, is what its
// compiler said.
func TestDescriptions(t *testing.T) {
	ours := 0
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(f.Path(), "tachograph/") && !strings.HasPrefix(f.Path(), "grpc/") {
			return true
		}
		ours++
		sent := make(map[string]bool)
		list, err := descriptions(f, sent)
		if err != nil || len(list) != len(sent) {
			t.Errorf("%s: %d files, %v", f.Path(), len(list), err)
			return true
		}
		for i, text := range list {
			var got descriptorpb.FileDescriptorProto
			if err := proto.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			want, err := protoregistry.GlobalFiles.FindFileByPath(got.GetName())
			if err != nil || i == 0 && want.Path() != f.Path() {
				t.Fatalf("%s: file %d is %s, %v", f.Path(), i, got.GetName(), err)
			}
			if !proto.Equal(&got, protodesc.ToFileDescriptorProto(want)) {
				t.Errorf("%s is described otherwise than it was compiled", got.GetName())
			}
		}
		if again, err := descriptions(f, sent); err != nil || len(again) != 1 {
			t.Errorf("%s: asked for again it is %d files, %v", f.Path(), len(again), err)
		}
		return true
	})
	if ours < 4 {
		t.Errorf("%d files are ours", ours)
	}
}
