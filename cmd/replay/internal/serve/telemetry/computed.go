package telemetry

import (
	"fmt"
	"time"

	"tachograph/api/sysctl"
)

// An input is a metric from which another is computed, and its unit as a multiple of the field's.
type input struct {
	field, name string
	unit        uint64
}

// computations has the units and inputs of the computed metrics.
var computations = map[string]struct {
	unit     string
	decimals int
	inputs   []input
}{
	"computed.memory_utilization_pct":  {"percent", 2, []input{{"total_pages", "vm.pages", 1}, {"free_pages", "vm.page_free_count", 1}}},
	"computed.compression_ratio":       {"ratio", 2, []input{{"input_bytes", "vm.compressor_input_bytes", 1}, {"compressed_bytes", "vm.compressor_compressed_bytes", 1}}},
	"computed.swap_utilization_pct":    {"percent", 2, []input{{"swap_used", "swap.used", 1024}, {"swap_total", "swap.length", 1024}}},
	"computed.compressor_pressure_pct": {"percent", 2, []input{{"bytes_used", "vm.compressor_bytes_used", 1}, {"pool_size", "vm.compressor_pool_size", 1}}},
	"computed.total_connections":       {"connections", 0, []input{{"tcp", "net.inet.tcp.pcbcount", 1}, {"udp", "net.inet.udp.pcbcount", 1}, {"unix", "net.local.pcbcount", 1}}},
	"computed.uptime_seconds":          {"seconds", 0, nil},
	"computed.vfs_reclamation_pct":     {"percent", 2, []input{{"recycled", "vfs.vnstats.num_recycledvnodes", 1}, {"total", "vfs.vnstats.num_vnodes", 1}}},
}

// computed sets the value of a computed metric, or returns why there is none.
func (p *present) computed(m *sysctl.Metric) (why string) {
	r, why := p.read(m.Name)
	if why != "" {
		return why
	}
	v, why := valueOf(&r, "")
	if why != "" {
		return why
	}
	c, number := computations[m.Name], v.Number()
	fields := map[string]string{"value": fmt.Sprintf("%.*f", c.decimals, number), "unit": c.unit}
	for _, in := range c.inputs {
		if r, why := p.read(in.name); why == "" {
			if v, why := valueOf(&r, ""); why == "" {
				fields[in.field] = fmt.Sprint(v.Bits * in.unit)
			}
		}
	}
	if m.Name == "computed.uptime_seconds" {
		fields["human"] = (time.Duration(number) * time.Second).String()
		if boot, why := p.values("kern.boottime", ofTimeval); why == "" {
			fields["boottime"] = shownTime(time.UnixMicro(int64(boot[0].Bits)))
		}
	}
	m.Value = &sysctl.Metric_StructValue{StructValue: &sysctl.StructValue{TypeName: string(ofComputed), Fields: fields}}
	return ""
}
