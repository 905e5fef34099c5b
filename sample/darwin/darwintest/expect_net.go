package darwintest

import (
	"fmt"
	"strconv"
	"strings"
)

// sum32 adds up counters of 32 bits; the sum wraps as they do.
func (x *expecting) sum32(fields map[string]*expr, names ...string) uint64 {
	var sum uint32
	for _, name := range names {
		sum += uint32(x.num(fields, name))
	}
	return uint64(sum)
}

func (x *expecting) protocols() {
	udp := x.structs["net.inet.udp.stats"]
	for metric, names := range map[string]string{
		"network.udp.indatagrams": "udps_ipackets", "network.udp.outdatagrams": "udps_opackets",
		"network.udp.noports": "udps_noport", "network.udp.rcvbuferrors": "udps_fullsock",
		"network.udp.inerrors": "udps_hdrops udps_badsum udps_badlen", "network.udp.inerrors.total": "udps_hdrops udps_badsum udps_badlen",
		"network.udp.inerrors.hdrops": "udps_hdrops", "network.udp.inerrors.badsum": "udps_badsum", "network.udp.inerrors.badlen": "udps_badlen",
	} {
		if x.has("net.inet.udp.stats", metric) {
			x.u(metric, "", x.sum32(udp, strings.Fields(names)...))
		}
	}

	icmp := x.structs["net.inet.icmp.stats"]
	var in, out []string
	for i := range 41 {
		in = append(in, fmt.Sprintf("icps_inhist[%d]", i))
		out = append(out, fmt.Sprintf("icps_outhist[%d]", i))
	}
	x.u("network.icmp.inmsgs", "", x.sum32(icmp, in...))
	x.u("network.icmp.outmsgs", "", x.sum32(icmp, out...))
	for metric, names := range map[string]string{
		"network.icmp.inerrors":       "icps_error icps_badcode icps_tooshort icps_checksum icps_badlen",
		"network.icmp.indestunreachs": "icps_inhist[3]", "network.icmp.inechos": "icps_inhist[8]", "network.icmp.inechoreps": "icps_inhist[0]",
		"network.icmp.outechos": "icps_outhist[8]", "network.icmp.outechoreps": "icps_outhist[0]",
	} {
		x.u(metric, "", x.sum32(icmp, strings.Fields(names)...))
	}

	ip6 := x.structs["net.inet6.ip6.stats"]
	for metric, names := range map[string]string{
		"network.ipv6.inreceives": "ip6s_total", "network.ipv6.outforwarded": "ip6s_forward",
		"network.ipv6.indiscards": "ip6s_toosmall ip6s_tooshort", "network.ipv6.outdiscards": "ip6s_odropped",
		"network.ipv6.fragcreates": "ip6s_ofragments", "network.ipv6.reasmoks": "ip6s_reassembled",
	} {
		var sum uint64
		for _, name := range strings.Fields(names) {
			sum += x.num(ip6, name)
		}
		if x.has("net.inet6.ip6.stats", metric) {
			x.u(metric, "", sum)
		}
	}

	// The constants of every such kernel.
	x.u("network.tcp.rtoalgorithm", "", 4)
	x.u("network.tcp.rtomax", "", 64_000)
	x.i("network.tcp.maxconn", "", -1)
	if v, ok := x.answer("net.inet.tcp.rtt_min"); ok {
		x.i("network.tcp.rtomin", "", v.n)
	} else {
		x.lacks("network.tcp.rtomin")
	}
	for metric, names := range tcpFields {
		if x.withheld() || !x.has("net.inet.tcp.stats", metric) {
			continue
		}
		x.u(metric, "", x.sum32(x.structs["net.inet.tcp.stats"], strings.Fields(names)...))
	}
}

var tcpFields = map[string]string{
	"network.tcp.activeopens": "tcps_connattempt", "network.tcp.passiveopens": "tcps_accepts",
	"network.tcp.attemptfails": "tcps_conndrops", "network.tcp.estabresets": "tcps_drops",
	"network.tcp.insegs": "tcps_rcvtotal", "network.tcp.outsegs": "tcps_sndtotal", "network.tcp.retranssegs": "tcps_sndrexmitpack",
	"network.tcp.outrsts": "tcps_sndctrl", "network.tcp.incsumerrors": "tcps_rcvbadsum",
	"network.tcp.inerrs":        "tcps_rcvbadsum tcps_rcvbadoff tcps_rcvshort tcps_rcvmemdrop",
	"network.tcp.inerrs.total":  "tcps_rcvbadsum tcps_rcvbadoff tcps_rcvshort tcps_rcvmemdrop",
	"network.tcp.inerrs.badsum": "tcps_rcvbadsum", "network.tcp.inerrs.badoff": "tcps_rcvbadoff",
	"network.tcp.inerrs.short": "tcps_rcvshort", "network.tcp.inerrs.memdrop": "tcps_rcvmemdrop",
}

// withheld reports whether the kernel withholds the TCP statistics.
func (w *World) withheld() bool {
	s := w.sysctls["net.inet.tcp.disable_access_to_stats"]
	return !w.root && s != nil && s.value != nil && s.value.at(w.T).n != 0
}

// Withheld lists the metrics that the kernel refuses an ordinary user in this scenario.
func (w *World) Withheld() []string {
	var names []string
	if w.withheld() {
		for name := range tcpFields {
			names = append(names, name)
		}
	}
	return names
}

var tcpStateNames = strings.Fields("CLOSED LISTEN SYN_SENT SYN_RECEIVED ESTABLISHED CLOSE_WAIT FIN_WAIT_1 CLOSING LAST_ACK FIN_WAIT_2 TIME_WAIT")

func (x *expecting) connections() {
	states := tcpStateNames
	counts := make(map[string]int64)
	for _, c := range x.tcp {
		state := c.words[1].text
		if i, err := strconv.Atoi(state); err == nil && i < len(states) {
			state = states[i]
		}
		counts[state] += x.count([]*thing{c})
	}
	// The kernel's own list has no flows that libraries handle.
	for _, f := range x.flows {
		if f.provider == "tcp" && f.repeat == 1 && f.alive(x.T) {
			counts[f.stateNumber()]++
		}
	}
	for metric, state := range map[string]string{
		"network.tcp.currestab": "ESTABLISHED", "network.tcpconn.established": "ESTABLISHED",
		"network.tcpconn.syn_sent": "SYN_SENT", "network.tcpconn.syn_recv": "SYN_RECEIVED",
		"network.tcpconn.fin_wait1": "FIN_WAIT_1", "network.tcpconn.fin_wait2": "FIN_WAIT_2",
		"network.tcpconn.time_wait": "TIME_WAIT", "network.tcpconn.close": "CLOSED", "network.tcpconn.close_wait": "CLOSE_WAIT",
		"network.tcpconn.last_ack": "LAST_ACK", "network.tcpconn.listen": "LISTEN", "network.tcpconn.closing": "CLOSING",
	} {
		x.i(metric, "", counts[state])
	}
}

func (x *expecting) network() {
	all := make(map[string]uint64)
	x.Free["network.interface.in.connection_bytes"], x.Free["network.interface.out.connection_bytes"] = true, true
	for _, f := range x.interfaces {
		if !f.alive(x.T) {
			continue
		}
		kind := uint64(6)
		if strings.HasPrefix(f.name, "lo") {
			kind = 24
		}
		if e := f.fields["type"]; e != nil {
			kind = uint64(e.at(x.T).n)
		}
		v := func(name string) uint64 { return x.num(f.fields, name) }
		mtu, baudrate := uint64(1500), uint64(1_000_000_000)
		if kind == 24 {
			mtu, baudrate = 16384, 0
		}
		if f.fields["mtu"] != nil {
			mtu = v("mtu")
		}
		if f.fields["baudrate"] != nil {
			baudrate = v("baudrate")
		}
		drops := x.num32(f.fields, "snd_drops")
		for name, n := range map[string]uint64{
			"in.bytes": v("ibytes"), "in.packets": v("ipackets"), "in.errors": v("ierrors"), "in.drops": v("iqdrops"), "in.mcasts": v("imcasts"),
			"out.bytes": v("obytes"), "out.packets": v("opackets"), "out.errors": v("oerrors"), "out.mcasts": v("omcasts"), "out.drops": drops,
			"total.bytes": v("ibytes") + v("obytes"), "total.packets": v("ipackets") + v("opackets"),
			"total.errors": v("ierrors") + v("oerrors"), "total.drops": v("iqdrops") + drops, "total.mcasts": v("imcasts") + v("omcasts"),
			"collisions": v("collisions"), "mtu": mtu, "baudrate": baudrate,
		} {
			x.u("network.interface."+name, f.name, n)
			x.set("network.interface.bytes_source", f.name, "counter")
			if kind != 24 { // loopback
				all[name] += n
			}
		}
	}
	for _, name := range strings.Fields("in.bytes in.packets in.errors in.drops out.bytes out.packets out.errors out.drops " +
		"total.bytes total.packets total.errors total.drops") {
		x.u("network.all."+name, "", all[name])
	}
}

func (x *expecting) filesystems() {
	n := int64(0)
	for _, m := range x.mounts {
		if !m.alive(x.T) {
			continue
		}
		v := func(name string) uint64 { return x.num(m.fields, name) }
		text := func(name string) string {
			if e := m.fields[name]; e != nil {
				return e.at(x.T).text
			}
			return ""
		}
		bsize := uint64(4096)
		if m.fields["f_bsize"] != nil {
			bsize = v("f_bsize")
		}
		kind := "apfs"
		if t := text("f_fstypename"); t != "" {
			kind = t
		}
		if kind == "devfs" || kind == "autofs" {
			continue
		}
		n++
		instance := m.name
		kb := func(metric string, blocks uint64) { x.u("filesys."+metric, instance, blocks*bsize/1024) }
		used := v("f_blocks") - v("f_bfree")
		kb("capacity", v("f_blocks"))
		kb("used", used)
		kb("free", v("f_bfree"))
		kb("avail", v("f_bavail"))
		x.u("filesys.blocksize", instance, bsize)
		full := 0.0
		if used+v("f_bavail") > 0 {
			full = 100 * float64(used) / float64(used+v("f_bavail"))
		}
		x.f64("filesys.full", instance, full)
		x.u("filesys.maxfiles", instance, v("f_files"))
		x.u("filesys.freefiles", instance, v("f_ffree"))
		usedFiles := uint64(0)
		if v("f_files") > v("f_ffree") {
			usedFiles = v("f_files") - v("f_ffree")
		}
		x.u("filesys.usedfiles", instance, usedFiles)
		x.set("filesys.mountdir", instance, m.name)
		x.set("filesys.type", instance, kind)
	}
	x.i("hinv.nfilesys", "", n)
}

func (x *expecting) nfs() {
	procs := strings.Fields("null getattr setattr lookup access readlink read write create mkdir symlink mknod " +
		"remove rmdir rename link readdir readdir+ statfs fsinfo pathconf commit noop")
	client, server := x.structs["vfs.nfs.clntstats"], x.structs["vfs.nfs.srvstats"]
	var calls, served uint64
	for i, name := range procs {
		c := x.num(client, fmt.Sprintf("rpccntv3[%d]", i))
		s := x.num(server, fmt.Sprintf("srvrpccntv3[%d]", i))
		x.u("nfs3.client.reqs", name, c)
		x.u("nfs3.server.reqs", name, s)
		calls, served = calls+c, served+s
	}
	x.u("nfs3.client.calls", "", calls)
	x.u("nfs3.server.calls", "", served)
	for metric, field := range map[string]string{
		"rpccnt": "rpcrequests", "rpcretrans": "rpcretries", "rpctimeouts": "rpctimeouts", "rpcinvalid": "rpcinvalid",
		"rpcunexpected": "rpcunexpected", "attrcache.hits": "attrcache_hits", "attrcache.misses": "attrcache_misses",
		"lookupcache.hits": "lookupcache_hits", "lookupcache.misses": "lookupcache_misses",
		"direofcache.hits": "direofcache_hits", "direofcache.misses": "direofcache_misses",
		"pageins": "pageins", "pageouts": "pageouts",
		"biocache.read.misses": "read_bios", "biocache.write.misses": "write_bios",
		"biocache.readlink.misses": "readlink_bios", "biocache.readdir.misses": "readdir_bios",
	} {
		x.u("rpc.client."+metric, "", x.num(client, field))
	}
	for _, kind := range strings.Fields("read write readlink readdir") {
		x.u("rpc.client.biocache."+kind+".hits", "", x.num(client, "biocache_"+kind+"s")-x.num(client, kind+"_bios"))
	}
	for metric, field := range map[string]string{
		"retfailed": "srvrpc_errs", "faults": "srv_errs", "cache.inprog": "srvcache_inproghits", "cache.idem": "srvcache_idemdonehits",
		"cache.nonidem": "srvcache_nonidemdonehits", "cache.misses": "srvcache_misses", "vopwrites": "srvvop_writes",
	} {
		x.u("rpc.server."+metric, "", x.num(server, field))
	}
}
