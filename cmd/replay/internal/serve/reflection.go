package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"tachograph/cmd/replay/internal/fields"
)

const (
	reflectionPath = "/grpc.reflection.v1.ServerReflection/"
	// Older clients use this path, with the same messages.
	alphaPath = "/grpc.reflection.v1alpha.ServerReflection/"
)

// reflection implements grpc.reflection.v1.ServerReflection, which lists the services with their
// descriptions. Nothing that is compiled into this program is secret.
type reflection struct{ services []string }

func (s reflection) ServerReflectionInfo(_ context.Context, stream *connect.BidiStream[reflectionRequest, reflectionResponse]) error {
	sent := make(map[string]bool)
	for {
		req, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = stream.Send(s.answer(req, sent))
		}
		if err != nil {
			return err
		}
	}
}

// answer answers one request; sent are the files that the client already has.
func (s reflection) answer(req *reflectionRequest, sent map[string]bool) *reflectionResponse {
	var file protoreflect.FileDescriptor
	var err error
	switch req.asks {
	case listServices:
		var list []byte
		for _, name := range s.services {
			list = fields.Bytes(list, 1, fields.Bytes(nil, 1, name))
		}
		return respond(req, listResponse, list)
	case fileByName:
		file, err = protoregistry.GlobalFiles.FindFileByPath(req.name)
	case fileOfSymbol:
		var d protoreflect.Descriptor
		if d, err = protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(req.name)); err == nil {
			file = d.ParentFile()
		}
	default: // no message here has extensions
		err = protoregistry.NotFound
	}
	var files [][]byte
	if err == nil {
		files, err = descriptions(file, sent)
	}
	if err != nil {
		code := connect.CodeInternal
		if errors.Is(err, protoregistry.NotFound) {
			code, err = connect.CodeNotFound, errors.New("there is no such description here")
		}
		return respond(req, errorResponse, fields.Bytes(fields.Uint(nil, 1, uint64(code)), 2, err.Error()))
	}
	var list []byte
	for _, f := range files {
		list = fields.Bytes(list, 1, f)
	}
	return respond(req, fileResponse, list)
}

// Fields of a reflectionResponse.
const (
	validHost     = 1
	originalAsked = 2
	fileResponse  = 4
	listResponse  = 6
	errorResponse = 7
)

// respond returns the response to a request whose answer is one field.
func respond(req *reflectionRequest, field protowire.Number, answer []byte) *reflectionResponse {
	var b reflectionResponse
	if req.host != "" {
		b = fields.Bytes(b, validHost, req.host)
	}
	b = fields.Bytes(fields.Bytes(b, originalAsked, req.raw), field, answer)
	return &b
}

// descriptions returns those of a file and of its imports, without files that were sent before;
// the file itself is always included.
func descriptions(file protoreflect.FileDescriptor, sent map[string]bool) (list [][]byte, err error) {
	var add func(f protoreflect.FileDescriptor) error
	add = func(f protoreflect.FileDescriptor) error {
		sent[f.Path()] = true
		text, err := description(f)
		if err != nil {
			return err
		}
		list = append(list, text)
		imports := f.Imports()
		for i := range imports.Len() {
			if other := imports.Get(i).FileDescriptor; !other.IsPlaceholder() && !sent[other.Path()] {
				if err := add(other); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err = add(file)
	return list, err
}

// description returns the description of a file as its compiler wrote it, from the generated
// code. Making it from the loaded descriptors would take a package that is slow to start.
func description(f protoreflect.FileDescriptor) ([]byte, error) {
	if raw, ok := own[f.Path()]; ok {
		return raw, nil
	}
	if f.Messages().Len() > 0 {
		t, err := protoregistry.GlobalTypes.FindMessageByName(f.Messages().Get(0).FullName())
		if err != nil {
			return nil, err
		}
		if m, ok := t.Zero().Interface().(interface{ Descriptor() ([]byte, []int) }); ok {
			packed, _ := m.Descriptor()
			r, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				return nil, err
			}
			return io.ReadAll(r)
		}
	}
	return nil, fmt.Errorf("there is no description of %s in this program", f.Path())
}

// addReflection adds the service, under its present and its former name.
func (s *Server) addReflection(names []string) {
	slices.Sort(names)
	handler := func(path string) http.Handler {
		return connect.NewBidiStreamHandler(path+"ServerReflectionInfo", reflection{names}.ServerReflectionInfo, s.ownRPC()...)
	}
	s.Add(Part{Path: reflectionPath, Handler: handler(reflectionPath), About: "what services there are (gRPC)"})
	s.Add(Part{Path: alphaPath, Handler: handler(alphaPath)})
}
