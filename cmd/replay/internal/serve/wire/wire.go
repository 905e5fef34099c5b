// Package wire converts the contents of archives into messages of the services. A message
// may contain only UTF-8, and the name of a process may be anything: invalid bytes are
// replaced by a mark.
package wire

import (
	"math"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/sample/metric"
	"tachograph/store/archive"
)

// Text returns s as valid UTF-8.
func Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func texts(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, Text(s))
	}
	return out
}

// Event returns the message for an event.
func Event(e *metric.Event) *tachographv1.Event {
	return &tachographv1.Event{
		Time: Time(e.At.Wall), SinceBootNs: e.At.Cont, Kind: Text(string(e.Kind)), Text: Text(e.Text),
		InstanceDomain: Text(e.Indom), InstanceKey: Text(e.Key), Labels: Labels(e.Labels),
	}
}

// Type returns the message value for a type.
func Type(t metric.Type) tachographv1.Type {
	switch t {
	case metric.I32:
		return tachographv1.Type_TYPE_I32
	case metric.U32:
		return tachographv1.Type_TYPE_U32
	case metric.I64:
		return tachographv1.Type_TYPE_I64
	case metric.U64:
		return tachographv1.Type_TYPE_U64
	case metric.F32:
		return tachographv1.Type_TYPE_F32
	case metric.F64:
		return tachographv1.Type_TYPE_F64
	case metric.String:
		return tachographv1.Type_TYPE_STRING
	}
	return tachographv1.Type_TYPE_UNSPECIFIED
}

// Semantics returns the message value for a meaning.
func Semantics(s metric.Semantics) tachographv1.Semantics {
	switch s {
	case metric.Counter:
		return tachographv1.Semantics_SEMANTICS_COUNTER
	case metric.Instant:
		return tachographv1.Semantics_SEMANTICS_INSTANT
	case metric.Discrete:
		return tachographv1.Semantics_SEMANTICS_DISCRETE
	}
	return tachographv1.Semantics_SEMANTICS_UNSPECIFIED
}

// Pattern returns how the metrics of a class change.
func Pattern(c metric.Class) tachographv1.AccessPattern {
	switch c {
	case metric.Static:
		return tachographv1.AccessPattern_ACCESS_PATTERN_STATIC
	case metric.Constrained:
		return tachographv1.AccessPattern_ACCESS_PATTERN_CONSTRAINED
	case metric.Disabled:
		return tachographv1.AccessPattern_ACCESS_PATTERN_DISABLED
	}
	return tachographv1.AccessPattern_ACCESS_PATTERN_POLLED
}

// Archive returns the message for an archive.
func Archive(info *archive.Info) *tachographv1.Archive {
	h := &info.Host
	a := &tachographv1.Archive{
		Id: Text(info.ID), BootId: Text(info.BootID), Live: info.Live, Bytes: info.Bytes, Damage: texts(info.Damage),
		Host: &tachographv1.Host{Id: Text(h.ID), Name: Text(h.Name), Os: Text(h.OS), Release: Text(h.Release), Arch: Text(h.Arch), Model: Text(h.Model), Platform: Text(h.Platform), Labels: Labels(h.Labels)},
	}
	if !info.Empty {
		a.From, a.To = Time(info.From), Time(info.To)
	}
	return a
}

// Labels returns the messages for labels.
func Labels(list []metric.Label) []*tachographv1.Label {
	var out []*tachographv1.Label
	for _, l := range list {
		out = append(out, &tachographv1.Label{Name: Text(l.Name), Value: Text(l.Value)})
	}
	return out
}

// Time returns the message for a wall clock.
func Time(wall int64) *timestamppb.Timestamp {
	return &timestamppb.Timestamp{Seconds: floorDiv(wall), Nanos: int32(wall - floorDiv(wall)*1e9)}
}

// floorDiv returns the second of a wall clock, rounded down before 1970 as well.
func floorDiv(wall int64) int64 {
	s := wall / 1e9
	if wall%1e9 < 0 {
		s--
	}
	return s
}

// Instance returns the message for an instance.
func Instance(in *metric.Instance) *tachographv1.Instance {
	return &tachographv1.Instance{Key: Text(in.Key), Name: Text(in.Name), Labels: Labels(in.Labels)}
}

// Value returns the message for a value.
func Value(v metric.Value) *tachographv1.Value {
	if v.Miss != metric.Present {
		return &tachographv1.Value{Kind: &tachographv1.Value_Absent{Absent: Text(v.Miss.String())}}
	}
	switch v.Type {
	case metric.I32, metric.I64:
		return &tachographv1.Value{Kind: &tachographv1.Value_Integer{Integer: int64(v.Bits)}}
	case metric.U32, metric.U64:
		return &tachographv1.Value{Kind: &tachographv1.Value_Natural{Natural: v.Bits}}
	case metric.F32:
		return &tachographv1.Value{Kind: &tachographv1.Value_Number{Number: float64(math.Float32frombits(uint32(v.Bits)))}}
	case metric.F64:
		return &tachographv1.Value{Kind: &tachographv1.Value_Number{Number: math.Float64frombits(v.Bits)}}
	}
	return &tachographv1.Value{Kind: &tachographv1.Value_Text{Text: Text(v.Str)}}
}
