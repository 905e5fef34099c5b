package pcplive

import (
	"math"
	"slices"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/cmd/internal/visible"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/store/archive"
)

// converted returns a computed number as a value of another type.
func converted(v metric.Value, t metric.Type, factor float64) metric.Value {
	if v.Miss != metric.Present {
		return metric.Value{Type: t, Miss: v.Miss}
	}
	x := v.Number() * factor
	switch {
	case t == metric.F64:
		return metric.Value{Type: t, Bits: math.Float64bits(x)}
	case t == metric.F32:
		return metric.Value{Type: t, Bits: uint64(math.Float32bits(float32(x)))}
	case t == metric.String || math.IsNaN(x) || math.Abs(x) >= 1<<63 || !t.Signed() && x < 0:
		return metric.Value{Type: t, Miss: metric.NotRead}
	}
	return metric.Value{Type: t, Bits: uint64(int64(x))}
}

// own returns the values that the server provides in place of pmcd.
func own(in *archive.Info, version string) *metric.Block {
	return pcpserve.Own(visible.Text(in.Host.Name), in.TimeZone, in.To, version)
}

// isOwn reports whether the server provides the value of d itself.
func (f *found) isOwn(d *metric.Desc) bool {
	return f.own != nil && slices.Contains(f.own.Group.Metrics, d)
}

// labels returns labels of the recording that the host does not have.
func labels(in *archive.Info) (list []metric.Label) {
	for _, l := range []metric.Label{{Name: pcp.SaysBoot, Value: in.BootID}, {Name: pcp.SaysZone, Value: in.TimeZone}, {Name: pcp.SaysRecorder, Value: in.Recorder}} {
		if l.Value != "" {
			list = append(list, l)
		}
	}
	return list
}
