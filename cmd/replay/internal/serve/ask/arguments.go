package ask

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	tachographv1 "tachograph/api/tachograph/v1"
)

// What a question may hold, because a command's cost grows with its patterns.
const (
	mostText  = 4 << 10  // bytes of one text
	mostTexts = 64 << 10 // bytes of all
	mostWords = 1000     // texts
)

// Arguments returns the command line for a question. No text from the client is a word of its
// own before "--": each is the value of a flag, in the same word, or an operand of a command
// whose operands are not file names.
func Arguments(r *tachographv1.QueryRequest) ([]string, error) {
	l := &line{}
	l.texts("host", r.GetHosts())
	l.text("tz", r.GetZone())
	if _, ok := r.GetQuestion().(*tachographv1.QueryRequest_Diff); !ok {
		l.time("from", r.GetFrom())
		l.time("to", r.GetTo())
	}
	l.question(r)
	if l.err != nil {
		return nil, l.err
	}
	args := l.flags
	if l.command != "" {
		args = append([]string{l.command}, args...)
	}
	return append(append(args, "--"), l.operands...), nil
}

// A line is a command line that is being made.
type line struct {
	command  string
	flags    []string
	operands []string
	bytes    int
	err      error
}

func (l *line) question(r *tachographv1.QueryRequest) {
	m := r.ProtoReflect()
	f := m.WhichOneof(m.Descriptor().Oneofs().ByName("question"))
	if f == nil {
		l.fail(errors.New("no question: set " + names()))
		return
	}
	q := questions[f.Number()]
	l.command = q.Command
	switch asked := r.GetQuestion().(type) {
	case *tachographv1.QueryRequest_Moment:
		if asked.Moment.GetAt() == nil {
			l.fail(errors.New("a moment needs its time: set at"))
		}
	case *tachographv1.QueryRequest_Diff:
		l.diff(r, asked.Diff)
	}
	l.fields(q, m.Get(f).Message())
}

// fields adds the fields that are set of a question's message.
func (l *line) fields(q *Question, m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		flag, ok := q.flagOf[f.Number()]
		if !ok || !m.Has(f) {
			continue
		}
		for _, text := range l.values(f, m.Get(f)) {
			if l.err != nil {
				return
			}
			if flag == "" {
				l.operand(text)
			} else {
				l.take(text)
				l.flag(flag, text)
			}
		}
	}
}

// values returns the values of a field as a command line has them.
func (l *line) values(f protoreflect.FieldDescriptor, v protoreflect.Value) (list []string) {
	if f.IsList() {
		for i := range v.List().Len() {
			list = append(list, v.List().Get(i).String())
		}
		return list
	}
	switch f.Kind() {
	case protoreflect.StringKind:
		return []string{v.String()}
	case protoreflect.BoolKind:
		return []string{strconv.FormatBool(v.Bool())}
	case protoreflect.Uint32Kind:
		return []string{strconv.FormatUint(min(v.Uint(), 1<<30), 10)}
	}
	switch x := v.Message().Interface().(type) {
	case *timestamppb.Timestamp:
		return []string{l.instant(string(f.Name()), x)}
	case *durationpb.Duration:
		return []string{l.length(string(f.Name()), x)}
	}
	l.fail(fmt.Errorf("%s is of a kind that no command line has", f.Name()))
	return nil
}

// diff compares the window of the request with the one before it, or with the window that the
// question names. Where the question names an instant or an update, the window of the request is
// the one in which the command looks for it.
func (l *line) diff(r *tachographv1.QueryRequest, q *tachographv1.DiffQuestion) {
	window := func(from, to *timestamppb.Timestamp) string {
		begin, end := "start", "end"
		if from != nil {
			begin = l.instant("from", from)
		}
		if to != nil {
			end = l.instant("to", to)
		}
		return begin + ".." + end
	}
	given := q.GetFrom() != nil || q.GetTo() != nil
	around := q.GetBefore() != nil || q.GetAcrossUpdate()
	switch {
	case given && (q.GetAgainst() != "" || around), q.GetAgainst() != "" && around:
		l.fail(errors.New("a difference is to a window before, against a day or host, or around an instant or an update: set from and to, or against, or before, or across_update"))
	case q.GetPackage() != "" && !q.GetAcrossUpdate():
		l.fail(errors.New("package names an update: set across_update, too"))
	case around:
		l.time("from", r.GetFrom())
		l.time("to", r.GetTo())
	case q.GetAgainst() != "":
		if r.GetFrom() != nil || r.GetTo() != nil {
			l.operand(window(r.GetFrom(), r.GetTo()))
		}
	case !given:
		l.fail(errors.New("a difference needs what to compare the window with: set from and to of the question, or against, before or across_update"))
	default:
		l.operand(window(q.GetFrom(), q.GetTo()), window(r.GetFrom(), r.GetTo()))
	}
}

func (l *line) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// take counts a text from the client, and refuses what cannot be a name or pattern.
func (l *line) take(s string) {
	l.bytes += len(s)
	switch {
	case len(s) > mostText:
		l.fail(fmt.Errorf("a text of %d bytes is too long: at most %d", len(s), mostText))
	case l.bytes > mostTexts:
		l.fail(fmt.Errorf("more than %d bytes of texts: ask in parts", mostTexts))
	case len(l.flags)+len(l.operands) > mostWords:
		l.fail(fmt.Errorf("more than %d names or patterns: ask in parts, or with fewer globs", mostWords))
	case !utf8.ValidString(s):
		l.fail(errors.New("a text is not UTF-8"))
	}
}

func (l *line) flag(name, value string) { l.flags = append(l.flags, "--"+name+"="+value) }

func (l *line) text(name, s string) {
	if s != "" {
		l.take(s)
		l.flag(name, s)
	}
}

func (l *line) texts(name string, list []string) {
	for _, s := range list {
		l.take(s)
		l.flag(name, s)
		if l.err != nil {
			return
		}
	}
}

func (l *line) operand(list ...string) {
	for _, s := range list {
		l.take(s)
		l.operands = append(l.operands, s)
	}
}

func (l *line) time(name string, t *timestamppb.Timestamp) {
	if t != nil {
		l.flag(name, l.instant(name, t))
	}
}

// instant formats a time that commands can parse and compute with: nanoseconds since 1970 in 64
// bits, where 0 means no time.
func (l *line) instant(name string, t *timestamppb.Timestamp) string {
	at := t.AsTime()
	if t.CheckValid() != nil || at.Year() < 1678 || at.Year() > 2261 {
		l.fail(fmt.Errorf("%s is no time between the years 1678 and 2261", name))
		return ""
	}
	if at.UnixNano() == 0 {
		at = at.Add(1)
	}
	return at.Format(time.RFC3339Nano)
}

// length formats a length of time.
func (l *line) length(name string, d *durationpb.Duration) string {
	if d.CheckValid() != nil || d.AsDuration() <= 0 || d.GetSeconds() > 1<<33 {
		l.fail(fmt.Errorf("%s must be longer than nothing and shorter than 200 years", name))
		return ""
	}
	return d.AsDuration().String()
}
