package pcpexport

import (
	"strings"
	"time"

	"tachograph/cmd/internal/pcp/pcparchive"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/store/archive"
)

// hostLabels returns labels with the machine and its boot.
func hostLabels(in *archive.Info) []metric.Label {
	return pcp.HostLabels(&in.Host,
		metric.Label{Name: pcp.SaysBoot, Value: in.BootID}, metric.Label{Name: pcp.SaysZone, Value: in.TimeZone},
		metric.Label{Name: pcp.SaysRecorder, Value: in.Recorder}, metric.Label{Name: pcp.SaysEvery, Value: intervals(in.Intervals)})
}

func intervals(iv metric.Intervals) string {
	var list []string
	for c, d := range iv {
		switch {
		case d == metric.Once:
			list = append(list, metric.Class(c).String()+"=once")
		case d > 0:
			list = append(list, metric.Class(c).String()+"="+d.String())
		}
	}
	return strings.Join(list, " ")
}

// Intervals parses the output of intervals.
func Intervals(s string) (iv metric.Intervals) {
	for _, word := range strings.Fields(s) {
		name, every, _ := strings.Cut(word, "=")
		c, err := metric.ParseClass(name)
		if err != nil {
			continue
		}
		if d, err := time.ParseDuration(every); err == nil {
			iv[c] = d
		} else if every == "once" {
			iv[c] = metric.Once
		}
	}
	return iv
}

func labelSet(list []metric.Label, kind int, instance uint32) pcparchive.LabelSet {
	text, refs := pcp.LabelJSON(list, kind)
	return pcparchive.LabelSet{Instance: instance, JSON: text, Refs: refs}
}
