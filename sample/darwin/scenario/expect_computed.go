package scenario

// Computed works out the metrics that are not recorded but computed from
// others when they are read back.
func (w *World) Computed() map[string]float64 {
	x := &expecting{World: w}
	v := func(name string) float64 {
		n, _ := x.answer(name)
		return float64(n.n)
	}
	share := func(part, whole float64) float64 {
		if whole == 0 {
			return 0
		}
		return 100 * part / whole
	}
	swap := w.structs["vm.swapusage"]
	ratio := 0.0
	if c := v("vm.compressor_compressed_bytes"); c != 0 {
		ratio = v("vm.compressor_input_bytes") / c
	}
	return map[string]float64{
		"computed.compression_ratio":       ratio,
		"computed.compressor_pressure_pct": share(v("vm.compressor_bytes_used"), v("vm.compressor_pool_size")),
		"computed.memory_utilization_pct":  share(v("vm.pages")-v("vm.page_free_count"), v("vm.pages")),
		"computed.swap_utilization_pct":    share(float64(x.num(swap, "xsu_used")), float64(x.num(swap, "xsu_total"))),
		"computed.total_connections":       v("net.inet.tcp.pcbcount") + v("net.inet.udp.pcbcount") + v("net.local.pcbcount"),
		"computed.vfs_reclamation_pct":     share(v("vfs.vnstats.num_recycledvnodes"), v("vfs.vnstats.num_vnodes")),
	}
}
