package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// openapiPath is the file that describes the services as JSON over HTTP.
const openapiPath = "../../docs/openapi.json"

type object = map[string]any

// commentsOf returns the comments of what a .proto file declares, by full names.
func commentsOf(text string) map[string]string {
	comments := make(map[string]string)
	of, outer, about := "", "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" (={;", r) })
		switch {
		case strings.HasPrefix(line, "//"):
			about = strings.TrimSpace(about + " " + strings.TrimSpace(line[2:]))
			continue
		case len(words) < 2:
		case words[0] == "package":
			of = words[1] + "."
		case words[0] == "message" || words[0] == "service" || words[0] == "enum":
			outer = of + words[1]
			comments[outer] = about
		case words[0] == "rpc":
			comments[outer+"."+words[1]] = about
		case strings.Contains(line, "="):
			name, _, _ := strings.Cut(line, "=")
			if fields := strings.Fields(name); len(fields) > 0 {
				comments[outer+"."+fields[len(fields)-1]] = about
			}
		}
		about = ""
	}
	return comments
}

// describer makes the description.
type describer struct {
	comments map[string]string
	schemas  object
}

func (d *describer) message(m protoreflect.MessageDescriptor) object {
	switch m.FullName() {
	case "google.protobuf.Timestamp":
		return object{"type": "string", "format": "date-time"}
	case "google.protobuf.Duration":
		return object{"type": "string", "description": "seconds, such as 1.5s"}
	}
	name := strings.TrimPrefix(string(m.FullName()), "tachograph.v1.")
	ref := object{"$ref": "#/components/schemas/" + name}
	if d.schemas[name] != nil {
		return ref
	}
	properties := object{}
	d.schemas[name] = object{"type": "object", "description": d.comments[string(m.FullName())], "properties": properties, "additionalProperties": false}
	fields := m.Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		var one object
		switch {
		case f.IsMap():
			one = object{"type": "object", "additionalProperties": d.field(f.MapValue())}
		case f.IsList():
			one = object{"type": "array", "items": d.field(f)}
		default:
			one = d.field(f)
		}
		properties[f.JSONName()] = object{"allOf": []any{one}, "description": d.comments[string(f.FullName())]}
	}
	return ref
}

// field is the type of a field in protobuf's JSON.
func (d *describer) field(f protoreflect.FieldDescriptor) object {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return d.message(f.Message())
	case protoreflect.EnumKind:
		var names []string
		for i := range f.Enum().Values().Len() {
			names = append(names, string(f.Enum().Values().Get(i).Name()))
		}
		return object{"type": "string", "enum": names}
	case protoreflect.BoolKind:
		return object{"type": "boolean"}
	case protoreflect.Int64Kind, protoreflect.Uint64Kind:
		return object{"type": "string", "format": f.Kind().String()}
	case protoreflect.Int32Kind, protoreflect.Uint32Kind:
		return object{"type": "integer", "format": f.Kind().String()}
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		return object{"type": []string{"number", "string"}, "format": f.Kind().String()}
	case protoreflect.BytesKind:
		return object{"type": "string", "format": "byte"}
	}
	return object{"type": "string"}
}

// docs/openapi.json is made from the descriptions of the services and the comments in them.
func TestServicesAreDescribed(t *testing.T) {
	t.Parallel()
	d := &describer{comments: make(map[string]string), schemas: object{}}
	for _, pattern := range []string{"../../api/tachograph/v1/*.proto", "../../api/sysctl/*.proto"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(d.comments, commentsOf(string(text)))
		}
	}
	content := func(kind string, s object) object { return object{"content": object{kind: object{"schema": s}}} }
	paths := object{}
	failure := content("application/json", object{"$ref": "#/components/schemas/Failure"})
	failure["description"] = "Why there is no answer."
	described := 0
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			s := file.Services().Get(i)
			if strings.HasPrefix(string(s.FullName()), "grpc.") {
				continue // health and reflection, which gRPC describes
			}
			described++
			for k := range s.Methods().Len() {
				m := s.Methods().Get(k)
				kind, responses := "application/json", object{"default": failure}
				if m.IsStreamingServer() {
					kind, responses = "application/connect+json", object{}
				}
				about := d.comments[string(m.FullName())]
				if about == "" {
					t.Errorf("%s has no comment", m.FullName())
				}
				request := content(kind, d.message(m.Input()))
				request["required"] = true
				answer := content(kind, d.message(m.Output()))
				answer["description"] = "The answer; of a stream, one of its messages."
				responses["200"] = answer
				paths["/"+string(s.FullName())+"/"+string(m.Name())] = object{"post": object{
					"operationId": string(s.Name()) + "." + string(m.Name()), "description": about, "requestBody": request, "responses": responses}}
			}
		}
		return true
	})
	if described != 5 {
		t.Errorf("%d services are described", described)
	}
	row := object{"anyOf": []any{
		object{"$ref": "answers.schema.json", "description": "A row, as one of the definitions there."},
		object{"type": "object", "properties": object{"lost": object{"type": "string"}}, "description": "What the answer lacks."},
		object{"type": "object", "properties": object{"note": object{"type": "string"}}, "description": "What the command says beside its answer."},
		object{"type": "object", "properties": object{"error": object{"type": "string"}, "code": object{"type": "string"}}, "description": "Why it ended."},
	}}
	lines := content("application/x-ndjson", row)
	lines["description"] = "A line for each row, then what else there is to say."
	paths["/v1/query"] = object{"post": object{"operationId": "query", "description": "QueryService.Query for clients that have only curl.",
		"requestBody": content("application/json", object{"$ref": "#/components/schemas/QueryRequest"}), "responses": object{"200": lines, "default": lines}}}
	for name, s := range d.schemas {
		if of := s.(object); of["description"] == "" {
			t.Errorf("%s has no comment", name)
		}
	}
	d.schemas["Failure"] = object{"type": "object", "description": "An error, as Connect and gRPC name them.", "properties": object{
		"code": object{"type": "string"}, "message": object{"type": "string"}, "details": object{"type": "array", "items": object{"type": "object"}}}}
	const streams = "Bodies of type application/connect+json are messages with a head of five bytes each: a byte of flags, and the length of the message as four, " +
		"the most significant first. The request is one message with the flags 0. The answer has the status 200 and any number of messages with the flags 0, and ends with one with " +
		"the flags 2, an object that has a Failure as its field error if the stream failed."
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(object{"openapi": "3.1.0", "info": object{"title": "replay serve, as JSON over HTTP", "version": "v1", "description": streams}, "paths": paths, "components": object{"schemas": d.schemas}}); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(openapiPath, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(openapiPath)
	if err != nil || !bytes.Equal(want, text.Bytes()) {
		t.Errorf("%s is not what the services are (go test -update writes it anew): %v %s", openapiPath, err, firstDifference(string(want), text.String()))
	}
}
