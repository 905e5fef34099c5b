package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	reflectionv1 "tachograph/cmd/replay/api/grpc/reflection/v1"
	"tachograph/cmd/replay/api/grpc/reflection/v1/reflectionv1connect"
)

// alphaPath is where older clients ask, with the same messages.
const alphaPath = "/grpc.reflection.v1alpha.ServerReflection/"

// reflection is grpc.reflection.v1.ServerReflection: it tells what is served, and how
// it is described. Whatever this program was made with may be known.
type reflection struct{ services []string }

func (s reflection) ServerReflectionInfo(_ context.Context, stream *connect.BidiStream[reflectionv1.ServerReflectionRequest, reflectionv1.ServerReflectionResponse]) error {
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

// answer answers one request; sent are the files that the client has got already.
func (s reflection) answer(req *reflectionv1.ServerReflectionRequest, sent map[string]bool) *reflectionv1.ServerReflectionResponse {
	res := &reflectionv1.ServerReflectionResponse{ValidHost: req.Host, OriginalRequest: req}
	var file protoreflect.FileDescriptor
	var err error
	switch q := req.MessageRequest.(type) {
	case *reflectionv1.ServerReflectionRequest_ListServices:
		list := &reflectionv1.ListServiceResponse{}
		for _, name := range s.services {
			list.Service = append(list.Service, &reflectionv1.ServiceResponse{Name: name})
		}
		res.MessageResponse = &reflectionv1.ServerReflectionResponse_ListServicesResponse{ListServicesResponse: list}
		return res
	case *reflectionv1.ServerReflectionRequest_FileByFilename:
		file, err = protoregistry.GlobalFiles.FindFileByPath(q.FileByFilename)
	case *reflectionv1.ServerReflectionRequest_FileContainingSymbol:
		var d protoreflect.Descriptor
		if d, err = protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(q.FileContainingSymbol)); err == nil {
			file = d.ParentFile()
		}
	default: // nothing here is extended
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
		res.MessageResponse = &reflectionv1.ServerReflectionResponse_ErrorResponse{
			ErrorResponse: &reflectionv1.ErrorResponse{ErrorCode: int32(code), ErrorMessage: err.Error()}}
		return res
	}
	res.MessageResponse = &reflectionv1.ServerReflectionResponse_FileDescriptorResponse{
		FileDescriptorResponse: &reflectionv1.FileDescriptorResponse{FileDescriptorProto: files}}
	return res
}

// descriptions are those of a file and of what it imports, without those that were
// sent before, but always its own.
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

// description is a file as its compiler described it, which the code that was made
// of it has. To make it anew of what is in memory would take a package that is slow
// to start.
func description(f protoreflect.FileDescriptor) ([]byte, error) {
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

// addReflection adds the service, under its name and the one that it had before.
func (s *Server) addReflection(names []string) {
	slices.Sort(names)
	path, handler := reflectionv1connect.NewServerReflectionHandler(reflection{names}, s.RPC()...)
	s.Add(Part{Path: path, Handler: handler, About: "what services there are (gRPC)"})
	method := alphaPath + "ServerReflectionInfo"
	s.Add(Part{Path: alphaPath, Handler: connect.NewBidiStreamHandler(method, reflection{names}.ServerReflectionInfo, s.RPC()...)})
}
