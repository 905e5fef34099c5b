package sysctl

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// contract is the interface of accretional/sysctl: what its clients send and expect.
const contract = `
sysctl.AccessConfig: pattern=1 enum AccessPattern, ttl=2 message google.protobuf.Duration
sysctl.AccessPattern: ACCESS_PATTERN_UNSPECIFIED=0 STATIC=1 POLLED=2 CONSTRAINED=3 DYNAMIC=4 DISABLED=5
sysctl.CategoryInfo: name=1 string, metric_count=2 int32
sysctl.GetKernelRegistryRequest:
sysctl.GetKernelRegistryResponse: registry=1 message KernelMetricRegistry, min_interval_ns=2 int64
sysctl.GetMetricsByCategoryRequest: category=1 string
sysctl.GetMetricsRequest: repeated names=1 string
sysctl.GetMetricsResponse: repeated metrics=1 message Metric
sysctl.KernelMetric: name=1 string, kernel_access_pattern=2 message AccessConfig, recommended_access_pattern=3 message AccessConfig, notes=4 string, description=5 string, value_type=6 string, category=7 string
sysctl.KernelMetricRegistry: os_registry=1 string, os_version=2 string, repeated metrics=3 message KernelMetric
sysctl.ListCategoriesRequest:
sysctl.ListCategoriesResponse: repeated categories=1 message CategoryInfo
sysctl.ListKnownMetricsRequest: category=1 string
sysctl.ListKnownMetricsResponse: registry=1 message KernelMetricRegistry
sysctl.Metric: name=1 string, value string_value=2 string, value uint64_value=3 uint64, value int64_value=4 int64, value uint32_value=5 uint32, value int32_value=6 int32, value raw_value=7 bytes, error=8 string, category=9 string, value struct_value=10 message StructValue
sysctl.MetricDelta: name=1 string, value=2 bytes
sysctl.MetricInfo: name=1 string, description=2 string, value_type=3 string, category=4 string
sysctl.StructValue: type_name=1 string, repeated fields=2 message StructValue.FieldsEntry
sysctl.SubscribeRequest: repeated names=1 string, interval_ns=2 int64
sysctl.SubscribeResponse: timestamp_ns=1 int64, repeated deltas=2 message MetricDelta, repeated errors=3 string
/sysctl.SysctlService/GetKernelRegistry: GetKernelRegistryRequest GetKernelRegistryResponse
/sysctl.SysctlService/GetMetrics: GetMetricsRequest GetMetricsResponse
/sysctl.SysctlService/GetMetricsByCategory: GetMetricsByCategoryRequest GetMetricsResponse
/sysctl.SysctlService/ListCategories: ListCategoriesRequest ListCategoriesResponse
/sysctl.SysctlService/ListKnownMetrics: ListKnownMetricsRequest ListKnownMetricsResponse
/sysctl.SysctlService/Subscribe: SubscribeRequest stream SubscribeResponse
`

// The .proto file is the other service's in all that goes over the wire.
func TestContract(t *testing.T) {
	file := File_sysctl_sysctl_proto
	got := make(map[string]bool)
	short := func(d protoreflect.Descriptor) string {
		return strings.TrimPrefix(string(d.FullName()), "sysctl.")
	}
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		var fields []string
		for n := range protoreflect.FieldNumber(12) {
			f := m.Fields().ByNumber(n)
			if f == nil {
				continue
			}
			text := fmt.Sprintf("%s=%d %s", f.Name(), n, f.Kind())
			if f.Message() != nil {
				text += " " + short(f.Message())
			}
			if f.Enum() != nil {
				text += " " + short(f.Enum())
			}
			if f.Cardinality() == protoreflect.Repeated {
				text = "repeated " + text
			}
			if o := f.ContainingOneof(); o != nil {
				text = string(o.Name()) + " " + text
			}
			fields = append(fields, text)
		}
		got[strings.TrimSpace(string(m.FullName())+": "+strings.Join(fields, ", "))] = true
	}
	for i := range file.Enums().Len() {
		e := file.Enums().Get(i)
		text := string(e.FullName()) + ":"
		for n := range e.Values().Len() {
			text += fmt.Sprintf(" %s=%d", e.Values().Get(n).Name(), e.Values().Get(n).Number())
		}
		got[text] = true
	}
	methods := file.Services().ByName("SysctlService").Methods()
	for i := range methods.Len() {
		m := methods.Get(i)
		stream := ""
		if m.IsStreamingServer() {
			stream = "stream "
		}
		got[fmt.Sprintf("/sysctl.SysctlService/%s: %s %s%s", m.Name(), short(m.Input()), stream, short(m.Output()))] = true
	}
	for line := range strings.Lines(strings.TrimSpace(contract)) {
		line = strings.TrimSpace(line)
		if !got[line] {
			t.Errorf("missing: %s", line)
		}
		delete(got, line)
	}
	for line := range got {
		t.Errorf("additional: %s", line)
	}
}
