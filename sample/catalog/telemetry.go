package catalog

import (
	"slices"
	"strings"
	"sync"
	"time"

	"tachograph/sample/metric"
)

// Telemetry is how accretional/sysctl, a telemetry service for the Mac that others run,
// classifies a metric. It uses the same names as this program.
type Telemetry struct {
	Category string
	Class    metric.Class
	// TTL is how long the service uses a reading as the current value; 0: for ever.
	TTL time.Duration
}

type telemetryRow struct {
	category string
	class    metric.Class
	ttl      time.Duration
	prefix   string
	names    string
}

// telemetry lists the service's 250 metrics in 32 categories, one of which has none. A row holds
// the metrics of a category that are read alike and whose names share a prefix.
var telemetry = []telemetryRow{
	{"hw.cpu", static, 0, "hw.",
		"activecpu byteorder cpu64bit_capable cpufamily cpusubfamily cpusubtype cputype logicalcpu " +
			"logicalcpu_max ncpu nperflevels packages physicalcpu physicalcpu_max"},
	{"hw.memory", static, 0, "hw.",
		"memsize memsize_usable pagesize pagesize32"},
	{"hw.cache", static, 0, "hw.",
		"cacheconfig cachelinesize cachesize l1dcachesize l1icachesize l2cachesize tbfrequency"},
	{"hw.perflevel", static, 0, "hw.",
		"perflevel0.cpusperl2 perflevel0.l1dcachesize perflevel0.l1icachesize perflevel0.l2cachesize " +
			"perflevel0.logicalcpu perflevel0.logicalcpu_max perflevel0.name perflevel0.physicalcpu " +
			"perflevel0.physicalcpu_max perflevel1.cpusperl2 perflevel1.l1dcachesize perflevel1.l1icachesize " +
			"perflevel1.l2cachesize perflevel1.logicalcpu perflevel1.logicalcpu_max perflevel1.name " +
			"perflevel1.physicalcpu perflevel1.physicalcpu_max"},
	{"hw.arm", static, 0, "hw.optional.",
		"arm.AdvSIMD arm.FEAT_AES arm.FEAT_BF16 arm.FEAT_BTI arm.FEAT_CRC32 arm.FEAT_DotProd arm.FEAT_FP16 " +
			"arm.FEAT_I8MM arm.FEAT_LSE arm.FEAT_LSE2 arm.FEAT_PAuth arm.FEAT_SHA256 arm.FEAT_SHA3 " +
			"arm.FEAT_SHA512 arm.FEAT_SME arm.FEAT_SME2 floatingpoint"},
	{category: "hw.misc"},
	{"kern.identity", constrained, time.Minute, "kern.",
		"hostname iossupportversion osproductversion osversion"},
	{"kern.identity", static, 0, "kern.",
		"bootuuid osrelease osreleasetype osrevision ostype uuid version"},
	{"kern.process", polled, 10 * time.Second, "kern.",
		"free_vnodes num_files num_recycledvnodes num_vnodes"},
	{"kern.memory", constrained, time.Minute, "kern.",
		"memorystatus_purge_on_critical memorystatus_purge_on_urgent memorystatus_purge_on_warning"},
	{"kern.memory", polled, 10 * time.Second, "kern.",
		"memorystatus_level"},
	{"kern.sched", constrained, time.Minute, "kern.",
		"cpu_checkin_interval wq_max_constrained_threads wq_max_threads"},
	{"kern.sched", polled, time.Minute, "kern.",
		"sched_allow_NO_SMT_threads thread_groups_supported"},
	{"kern.sched", static, 0, "kern.",
		"sched"},
	{"kern.time", polled, 30 * time.Second, "kern.",
		"monotonicclock_usecs sleep_abs_time sleeptime useractive_abs_time userinactive_abs_time " +
			"wake_abs_time waketime"},
	{"kern.time", static, 0, "kern.",
		"boottime clockrate"},
	{"kern.limits", constrained, time.Minute, "kern.",
		"aiomax aioprocmax coredump maxfiles maxfilesperproc maxnbuf maxproc maxprocperuid maxvnodes"},
	{"kern.limits", polled, time.Minute, "kern.",
		"argmax ngroups num_tasks num_taskthreads num_threads"},
	{"kern.ipc", constrained, time.Minute, "kern.ipc.",
		"maxsockbuf somaxconn"},
	{"kern.ipc", polled, time.Minute, "kern.ipc.",
		"nmbclusters"},
	{"kern.misc", constrained, time.Minute, "kern.",
		"hibernatemode"},
	{"kern.misc", polled, time.Minute, "kern.",
		"hibernatecount hv_support hv_vmm_present safeboot secure_kernel slide stack_depth_max stack_size"},
	{"vm.pressure", polled, 10 * time.Second, "vm.",
		"memory_pressure page_free_wanted vm_page_free_target"},
	{"vm.pages", polled, 10 * time.Second, "vm.",
		"page_cleaned_count page_free_count page_pageable_external_count page_pageable_internal_count " +
			"page_purgeable_count page_purgeable_wired_count page_realtime_count page_reusable_count " +
			"page_speculative_count pages pages_grabbed pagesize vm_page_background_count " +
			"vm_page_background_external_count vm_page_background_internal_count vm_page_background_target " +
			"vm_page_external_count"},
	{"vm.compressor", polled, 10 * time.Second, "vm.",
		"compressor_available compressor_bytes_used compressor_compressed_bytes compressor_input_bytes " +
			"compressor_is_active compressor_mode compressor_pool_size compressor_segment_limit " +
			"compressor_segment_pages_compressed compressor_swapouts_under_300s compressor_swapouts_under_30s " +
			"compressor_swapouts_under_60s compressor_swapper_defrag_swapins compressor_swapper_reclaim_swapins " +
			"compressor_swapper_swapout_thrashing_detected"},
	{"vm.pageout", polled, 10 * time.Second, "vm.",
		"pageout_freed_cleaned pageout_freed_external pageout_freed_speculative pageout_inactive_clean " +
			"pageout_inactive_dirty_external pageout_inactive_dirty_internal pageout_inactive_used " +
			"pageout_protect_realtime pageout_speculative_clean vm_pageout_considered_bq_external " +
			"vm_pageout_considered_bq_internal vm_pageout_rejected_bq_external vm_pageout_rejected_bq_internal"},
	{"vm.swap", polled, 30 * time.Second, "vm.",
		"swapusage"},
	{"vm.swap", polled, time.Minute, "vm.",
		"swap_enabled"},
	{"vm.swap", static, 0, "vm.",
		"swapfileprefix"},
	{"vm.wire", constrained, time.Minute, "vm.",
		"global_no_user_wire_amount global_user_wire_limit user_wire_limit"},
	{"vm.wire", polled, time.Minute, "vm.",
		"add_wire_count_over_global_limit add_wire_count_over_user_limit"},
	{"vm.misc", polled, 10 * time.Second, "vm.",
		"copied_on_read cs_blob_count cs_blob_count_peak cs_blob_size cs_blob_size_peak loadavg " +
			"shared_region_count shared_region_peak"},
	{"machdep", constrained, time.Minute, "machdep.",
		"user_idle_level"},
	{"machdep", polled, 30 * time.Second, "machdep.",
		"time_since_reset wake_abstime wake_conttime"},
	{"machdep", static, 0, "machdep.",
		"cpu.brand_string cpu.core_count cpu.cores_per_package cpu.logical_per_package cpu.thread_count " +
			"ptrauth_enabled virtual_address_size"},
	{"net.tcp", constrained, time.Minute, "net.inet.tcp.",
		"always_keepalive blackhole delayed_ack ecn_initiate_out ecn_negotiate_in fastopen keepcnt keepidle " +
			"keepintvl mssdflt recvspace sack sack_globalmaxholes sendspace v6mssdflt"},
	{"net.tcp", polled, 10 * time.Second, "net.inet.tcp.",
		"cubic_sockets pcbcount sack_globalholes"},
	{"net.udp", constrained, time.Minute, "net.inet.udp.",
		"checksum maxdgram recvspace"},
	{"net.udp", polled, 10 * time.Second, "net.inet.udp.",
		"pcbcount"},
	{"net.ip", constrained, time.Minute, "net.inet.ip.",
		"forwarding maxfragpackets ttl"},
	{"net.misc", polled, 10 * time.Second, "net.",
		"inet.mptcp.pcbcount local.pcbcount soflow.count"},
	{"vfs", polled, 10 * time.Second, "vfs.",
		"generic.apfs.allocated nummntops vnstats.num_dead_vnodes vnstats.num_free_vnodes " +
			"vnstats.num_newvnode_calls vnstats.num_recycledvnodes vnstats.num_vnodes"},
	{"debug", constrained, time.Minute, "debug.",
		"bpf_bufsize bpf_maxbufsize lowpri_throttle_enabled"},
	{"kpc", constrained, time.Minute, "kperf.",
		"debug_level"},
	{"kpc", polled, time.Minute, "kpc.",
		"pc_capture_supported"},
	{"iogpu", constrained, time.Minute, "iogpu.",
		"dynamic_lwm wired_limit_mb wired_lwm_mb"},
	{"security", polled, 10 * time.Second, "security.mac.",
		"asp.stats.exec_hook_count asp.stats.exec_hook_work_time asp.stats.library_hook_count " +
			"asp.stats.library_hook_time vnode_label_count"},
	{"computed", polled, 10 * time.Second, "computed.",
		"compression_ratio compressor_pressure_pct memory_utilization_pct swap_utilization_pct " +
			"total_connections uptime_seconds vfs_reclamation_pct"},
}

var telemetryByName = sync.OnceValue(func() map[string]Telemetry {
	byName := make(map[string]Telemetry, 256)
	for _, t := range telemetry {
		for name := range strings.FieldsSeq(t.names) {
			byName[t.prefix+name] = Telemetry{t.category, t.class, t.ttl}
		}
	}
	return byName
})

// FindTelemetry returns the service's classification of a metric, if it has the metric.
func FindTelemetry(name string) (Telemetry, bool) {
	t, ok := telemetryByName()[name]
	return t, ok
}

// TelemetryCategories returns the service's categories, sorted.
func TelemetryCategories() []string {
	var list []string
	for _, t := range telemetry {
		list = append(list, t.category)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TelemetryNames returns the names of the service's metrics, by category and in the order of its
// categories.
func TelemetryNames() []string {
	var list []string
	for _, t := range telemetry {
		for name := range strings.FieldsSeq(t.names) {
			list = append(list, t.prefix+name)
		}
	}
	return list
}

// Category is the part of the machine that a metric belongs to: the service's category or, for a
// metric unknown to the service, the name without its last part, limited to two parts. If the
// service has a category of that name, ".other" is added, because a Mac has ten times as many
// sysctls as the service reads.
func Category(name string) string {
	if t, ok := FindTelemetry(name); ok {
		return t.Category
	}
	parts := strings.SplitN(name, ".", 4)
	category := strings.Join(parts[:max(1, min(2, len(parts)-1))], ".")
	if slices.ContainsFunc(telemetry, func(t telemetryRow) bool { return t.category == category }) {
		return category + ".other"
	}
	return category
}
