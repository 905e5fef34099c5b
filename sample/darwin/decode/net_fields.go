package decode

const udpstat = Struct("udpstat")

// UDP: 32-bit counters.
var _ = []*Field{
	udpstat.U32("udps_ipackets", 0),
	udpstat.U32("udps_hdrops", 4),
	udpstat.U32("udps_badsum", 8),
	udpstat.U32("udps_badlen", 12),
	udpstat.U32("udps_noport", 16),
	udpstat.U32("udps_fullsock", 24),
	udpstat.U32("udps_opackets", 36),
}

const tcpstat = Struct("tcpstat")

// TCP: 32-bit counters; all zero for callers that the kernel refuses.
var _ = []*Field{
	tcpstat.U32("tcps_connattempt", 0),
	tcpstat.U32("tcps_accepts", 4),
	tcpstat.U32("tcps_drops", 12),
	tcpstat.U32("tcps_conndrops", 16),
	tcpstat.U32("tcps_sndtotal", 60),
	tcpstat.U32("tcps_sndrexmitpack", 72),
	tcpstat.U32("tcps_sndctrl", 96),
	tcpstat.U32("tcps_rcvtotal", 100),
	tcpstat.U32("tcps_rcvbadsum", 112),
	tcpstat.U32("tcps_rcvbadoff", 116),
	tcpstat.U32("tcps_rcvmemdrop", 120),
	tcpstat.U32("tcps_rcvshort", 124),
}

const icmpstat = Struct("icmpstat")

// ICMP: 32-bit counters, some of them arrays by message type.
var _ = []*Field{
	icmpstat.U32("icps_error", 0),
	icmpstat.Array("icps_outhist", 12, 4, 41, false),
	icmpstat.U32("icps_badcode", 176),
	icmpstat.U32("icps_tooshort", 180),
	icmpstat.U32("icps_checksum", 184),
	icmpstat.U32("icps_badlen", 188),
	icmpstat.Array("icps_inhist", 196, 4, 41, false),
}

const (
	ipstat  = Struct("ipstat")
	ip6stat = Struct("ip6stat")
)

// IPv4 has 32-bit counters, IPv6 64-bit ones.
var (
	IPTotal  = ipstat.U32("ips_total", 0)
	IP6Total = ip6stat.U64("ip6s_total", 0)

	_ = []*Field{
		ip6stat.U64("ip6s_tooshort", 8),
		ip6stat.U64("ip6s_toosmall", 16),
		ip6stat.U64("ip6s_forward", 56),
		ip6stat.U64("ip6s_odropped", 96),
		ip6stat.U64("ip6s_reassembled", 104),
		ip6stat.U64("ip6s_ofragments", 128),
	}
)
