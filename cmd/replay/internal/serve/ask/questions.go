package ask

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	tachographv1 "tachograph/api/tachograph/v1"
)

// A Question is one that programs can ask: a field of QueryRequest, and the command that answers
// it. The message of the field declares it: each field of that message is a flag of the command,
// or its operands.
type Question struct {
	Name     string // of the field
	Command  string // "" is the command without a name
	Flags    []string
	Operands bool // it has operands, none of which is a file

	// flagOf is the flag of each field, "" for operands.
	flagOf map[protoreflect.FieldNumber]string
}

// renamed are the commands whose name is not that of their question.
var renamed = map[protoreflect.Name]string{"processes": "ps", "moment": "at", "overview": "", "archives": "info"}

// flagged are the flags whose name is not that of their field; "" is an operand. A name with the
// question before it is that of one question only.
var flagged = map[string]string{
	"hosts": "host", "zone": "tz", "instances": "instance", "kinds": "kind", "least": "for", "functions": "top",
	"metrics": "", "match": "", "condition": "", "package": "", "moment.at": "",
}

// spans are fields that are no flags: diff writes its windows as operands.
var spans = []string{"diff.from", "diff.to"}

// questions has every Question by its field in QueryRequest.
var questions = declared()

// Questions returns all questions, in the order of the fields.
func Questions() (list []*Question) {
	fields := requestFields()
	for i := range fields.Len() {
		list = append(list, questions[fields.Get(i).Number()])
	}
	return list
}

func requestFields() protoreflect.FieldDescriptors {
	return (*tachographv1.QueryRequest)(nil).ProtoReflect().Descriptor().Oneofs().ByName("question").Fields()
}

func declared() map[protoreflect.FieldNumber]*Question {
	all := make(map[protoreflect.FieldNumber]*Question)
	fields := requestFields()
	for i := range fields.Len() {
		f := fields.Get(i)
		q := &Question{Name: string(f.Name()), Command: string(f.Name()), flagOf: make(map[protoreflect.FieldNumber]string)}
		if name, ok := renamed[f.Name()]; ok {
			q.Command = name
		}
		parts := f.Message().Fields()
		for k := range parts.Len() {
			p := parts.Get(k)
			own := q.Name + "." + string(p.Name())
			if slices.Contains(spans, own) {
				q.Operands = true
				continue
			}
			flag, ok := flagged[own]
			if !ok {
				flag, ok = flagged[string(p.Name())]
			}
			if !ok {
				flag = strings.ReplaceAll(string(p.Name()), "_", "-")
			}
			q.flagOf[p.Number()] = flag
			if flag == "" {
				q.Operands = true
			} else {
				q.Flags = append(q.Flags, flag)
			}
		}
		all[f.Number()] = q
	}
	return all
}

// names lists the questions in a sentence.
func names() string {
	var list []string
	for _, q := range Questions() {
		list = append(list, q.Name)
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}
