package telemetry

import (
	"fmt"
	"time"

	"tachograph/api/sysctl"
	"tachograph/cmd/replay/internal/serve/catalogue"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/cmd/replay/internal/serve/wire"
	"tachograph/sample/metric"
)

// present is what is known at the instant of a request.
type present struct {
	known *catalogue.Known
	state *live.State // nil if nothing has been recorded
	now   time.Time
}

// atLeast is the age below which no value counts as old, because clients ask seldom.
const atLeast = time.Minute

// read returns the last reading of a metric, or why there is none. The interface cannot give a
// value's age, so an old value is none.
func (p *present) read(name string) (r live.Reading, why string) {
	d := p.known.Lookup(name)
	switch {
	case d == nil:
		return r, "is no sysctl that is recorded"
	case d.Unsupported != "":
		return r, d.Unsupported
	}
	r, ok := p.state.Lookup(name)
	switch {
	case !ok:
		return r, p.state.Why(d)
	case p.state.Old(&r, p.state.Archive.Intervals[r.Class], atLeast, p.now):
		return r, "has not been read since " + shownTime(r.Block.At.Time())
	}
	return r, ""
}

// members are the instances that a structure is recorded as, in the order of the kernel's bytes.
var members = map[kind][]string{
	ofLoadavg: {"1 minute", "5 minute", "15 minute"},
	ofSwap:    {"total", "avail", "used"},
	ofClock:   {"hz", "tick", "tickadj", "stathz", "profhz"},
	ofRaw:     {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
}

// values returns the values of a metric in the order of members, or why one is missing.
func (p *present) values(name string, k kind) ([]metric.Value, string) {
	r, why := p.read(name)
	if why != "" {
		return nil, why
	}
	if (r.Metric.Type == metric.String) != (k == ofString) {
		return nil, "is recorded as another type"
	}
	keys := members[k]
	if keys == nil {
		keys = []string{""}
	}
	list := make([]metric.Value, len(keys))
	for i, key := range keys {
		if list[i], why = valueOf(&r, key); why != "" {
			return nil, why
		}
	}
	return list, ""
}

// valueOf returns the value of the instance called key, which is empty for a metric without
// instances, or why there is none.
func valueOf(r *live.Reading, key string) (metric.Value, string) {
	for in, v := range r.Values() {
		switch {
		case in == nil && key != "" || in != nil && in.Key != key:
		case v.Miss != metric.Present:
			return v, v.Miss.String()
		default:
			return v, ""
		}
	}
	return metric.Value{}, "was not read"
}

// metric returns the present value of a metric in the form of its kind, or why there is none.
func (p *present) metric(name string) *sysctl.Metric {
	m := &sysctl.Metric{Name: name}
	k := theirsByName()[name]
	var why string
	switch {
	case k == nil:
		var raw []byte
		if raw, why = p.other(name); why == "" {
			m.Value = &sysctl.Metric_RawValue{RawValue: raw}
		}
	case k.kind == ofComputed:
		m.Category = k.Category
		why = p.computed(m)
	default:
		m.Category = k.Category
		var list []metric.Value
		if list, why = p.values(name, k.kind); why == "" {
			fill(m, k.kind, list)
		}
	}
	m.Error = wire.Text(why)
	return m
}

// fill sets the value of m.
func fill(m *sysctl.Metric, k kind, list []metric.Value) {
	v := list[0]
	fields := make(map[string]string)
	switch k {
	case ofInt32:
		m.Value = &sysctl.Metric_Int32Value{Int32Value: int32(v.Bits)}
		return
	case ofUint32:
		m.Value = &sysctl.Metric_Uint32Value{Uint32Value: uint32(v.Bits)}
		return
	case ofInt64:
		m.Value = &sysctl.Metric_Int64Value{Int64Value: int64(v.Bits)}
		return
	case ofUint64:
		m.Value = &sysctl.Metric_Uint64Value{Uint64Value: v.Bits}
		return
	case ofString:
		m.Value = &sysctl.Metric_StringValue{StringValue: wire.Text(v.Str)}
		return
	case ofRaw:
		m.Value = &sysctl.Metric_RawValue{RawValue: encode(k, list)}
		return
	case ofTimeval:
		fields["sec"], fields["usec"] = fmt.Sprint(v.Bits/1e6), fmt.Sprint(v.Bits%1e6)
		fields["time"] = shownTime(time.UnixMicro(int64(v.Bits)))
	case ofLoadavg:
		for i, field := range []string{"load1", "load5", "load15"} {
			fields[field] = fmt.Sprintf("%.2f", list[i].Number())
		}
	default: // the members are called as the fields are
		for i, key := range members[k] {
			fields[key] = list[i].String()
		}
		delete(fields, "tickadj") // which the service does not have
	}
	m.Value = &sysctl.Metric_StructValue{StructValue: &sysctl.StructValue{TypeName: string(k), Fields: fields}}
}

// shownTime returns a time as text.
func shownTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// other returns the bytes of a sysctl that the service does not know, or why there are none.
func (p *present) other(name string) ([]byte, string) {
	d := p.known.Lookup(name)
	switch {
	case d == nil:
		return nil, "is no sysctl that is recorded"
	case d.Unsupported != "":
		return nil, d.Unsupported
	case d.Source != "sysctl "+name:
		return nil, "is recorded, but is not the answer to a sysctl: ask LiveService for it"
	}
	k := simple[d.Type]
	list, why := p.values(name, k)
	if why != "" {
		return nil, why
	}
	return encode(k, list), ""
}
