package telemetry

import (
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"tachograph/api/sysctl"
	"tachograph/cmd/replay/internal/serve/catalogue"
	"tachograph/cmd/replay/internal/serve/wire"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// A kind is the type of a metric's value, by its name in the interface.
type kind string

const (
	ofInt32    kind = "int32"
	ofUint32   kind = "uint32"
	ofInt64    kind = "int64"
	ofUint64   kind = "uint64"
	ofString   kind = "string"
	ofTimeval  kind = "timeval"
	ofLoadavg  kind = "loadavg"
	ofSwap     kind = "swap"
	ofClock    kind = "clock"
	ofRaw      kind = "raw"
	ofComputed kind = "computed"
)

// structures are the metrics whose kind is not that of a number or a text.
var structures = map[string]kind{
	"kern.boottime":  ofTimeval,
	"kern.sleeptime": ofTimeval,
	"kern.waketime":  ofTimeval,
	"vm.loadavg":     ofLoadavg,
	"vm.swapusage":   ofSwap,
	"kern.clockrate": ofClock,
	"hw.cacheconfig": ofRaw,
	"hw.cachesize":   ofRaw,
}

// simple are the kinds of single values by the types of their metrics.
var simple = map[metric.Type]kind{
	metric.I32: ofInt32, metric.U32: ofUint32, metric.I64: ofInt64, metric.U64: ofUint64, metric.String: ofString,
}

// A theirMetric is a metric that the telemetry service knows.
type theirMetric struct {
	name string
	help string
	kind kind
	catalog.Telemetry
}

// theirs returns all metrics that the service knows, by category.
var theirs = sync.OnceValue(func() []*theirMetric {
	var list []*theirMetric
	for _, name := range catalog.TelemetryNames() {
		d := catalog.Find(catalog.Darwin, name)
		k := &theirMetric{name: name, help: d.Help, kind: structures[name]}
		k.Telemetry, _ = catalog.FindTelemetry(name)
		switch {
		case d.Formula != "":
			k.kind = ofComputed
		case k.kind == "":
			k.kind = simple[d.Type]
		}
		list = append(list, k)
	}
	return list
})

var theirsByName = sync.OnceValue(func() map[string]*theirMetric {
	byName := make(map[string]*theirMetric)
	for _, k := range theirs() {
		byName[k.name] = k
	}
	return byName
})

// patterns says how the kernel changes metrics of a class, as the service has it.
var patterns = map[metric.Class]sysctl.AccessPattern{
	metric.Static:      sysctl.AccessPattern_STATIC,
	metric.Constrained: sysctl.AccessPattern_CONSTRAINED,
	metric.Polled:      sysctl.AccessPattern_DYNAMIC,
}

// otherwise has the metrics that the kernel changes in another way than their class says.
var otherwise = map[string]sysctl.AccessPattern{
	"kern.hv_support":      sysctl.AccessPattern_STATIC,
	"kern.safeboot":        sysctl.AccessPattern_STATIC,
	"kern.sched":           sysctl.AccessPattern_DYNAMIC,
	"kern.secure_kernel":   sysctl.AccessPattern_STATIC,
	"kern.slide":           sysctl.AccessPattern_STATIC,
	"kern.stack_depth_max": sysctl.AccessPattern_STATIC,
	"kern.stack_size":      sysctl.AccessPattern_STATIC,
	"vm.swapfileprefix":    sysctl.AccessPattern_DYNAMIC,
}

// registry describes the metrics of a category, or all, as the host of the last archive has them.
func registry(known *catalogue.Known, category string) *sysctl.KernelMetricRegistry {
	out := &sysctl.KernelMetricRegistry{}
	var intervals metric.Intervals
	if known.Info != nil {
		h := &known.Info.Host
		out.OsRegistry = wire.Text(strings.ToLower(h.OS) + "-" + h.Arch)
		out.OsVersion = wire.Text(h.OS + " " + h.Release)
		intervals = known.Info.Intervals
	}
	for _, k := range theirs() {
		if category != "" && k.Category != category {
			continue
		}
		kernel, ok := otherwise[k.name]
		if !ok {
			kernel = patterns[k.Class]
		}
		m := &sysctl.KernelMetric{
			Name: k.name, Description: k.help, ValueType: string(k.kind), Category: k.Category,
			KernelAccessPattern:      &sysctl.AccessConfig{Pattern: kernel},
			RecommendedAccessPattern: recommended(k, intervals[k.Class]),
		}
		if d := known.Lookup(k.name); d != nil {
			m.Notes = wire.Text(d.Unsupported)
		}
		out.Metrics = append(out.Metrics, m)
	}
	return out
}

// recommended returns how to read a metric that is recorded at an interval: not more often.
func recommended(k *theirMetric, every time.Duration) *sysctl.AccessConfig {
	switch k.Class {
	case metric.Static:
		return &sysctl.AccessConfig{Pattern: sysctl.AccessPattern_STATIC}
	case metric.Constrained:
		return &sysctl.AccessConfig{Pattern: sysctl.AccessPattern_CONSTRAINED, Ttl: durationpb.New(max(k.TTL, every))}
	}
	return &sysctl.AccessConfig{Pattern: sysctl.AccessPattern_POLLED, Ttl: durationpb.New(max(k.TTL, every))}
}
