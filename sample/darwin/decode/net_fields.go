package decode

// UDP: 32-bit counters.
var (
	UDPIpackets = u32("udpstat", "udps_ipackets", 0)
	UDPHdrops   = u32("udpstat", "udps_hdrops", 4)
	UDPBadsum   = u32("udpstat", "udps_badsum", 8)
	UDPBadlen   = u32("udpstat", "udps_badlen", 12)
	UDPNoport   = u32("udpstat", "udps_noport", 16)
	UDPFullsock = u32("udpstat", "udps_fullsock", 24)
	UDPOpackets = u32("udpstat", "udps_opackets", 36)
)

// TCP: 32-bit counters; all zero to callers whom the kernel refuses.
var (
	TCPConnattempt   = u32("tcpstat", "tcps_connattempt", 0)
	TCPAccepts       = u32("tcpstat", "tcps_accepts", 4)
	TCPDrops         = u32("tcpstat", "tcps_drops", 12)
	TCPConndrops     = u32("tcpstat", "tcps_conndrops", 16)
	TCPSndtotal      = u32("tcpstat", "tcps_sndtotal", 60)
	TCPSndrexmitpack = u32("tcpstat", "tcps_sndrexmitpack", 72)
	TCPSndctrl       = u32("tcpstat", "tcps_sndctrl", 96)
	TCPRcvtotal      = u32("tcpstat", "tcps_rcvtotal", 100)
	TCPRcvbadsum     = u32("tcpstat", "tcps_rcvbadsum", 112)
	TCPRcvbadoff     = u32("tcpstat", "tcps_rcvbadoff", 116)
	TCPRcvmemdrop    = u32("tcpstat", "tcps_rcvmemdrop", 120)
	TCPRcvshort      = u32("tcpstat", "tcps_rcvshort", 124)
)

// ICMP: 32-bit counters.
var (
	ICMPError    = u32("icmpstat", "icps_error", 0)
	ICMPBadcode  = u32("icmpstat", "icps_badcode", 176)
	ICMPTooshort = u32("icmpstat", "icps_tooshort", 180)
	ICMPChecksum = u32("icmpstat", "icps_checksum", 184)
	ICMPBadlen   = u32("icmpstat", "icps_badlen", 188)
)

// IPv6: 64-bit counters.
var (
	IP6Total       = u64("ip6stat", "ip6s_total", 0)
	IP6Tooshort    = u64("ip6stat", "ip6s_tooshort", 8)
	IP6Toosmall    = u64("ip6stat", "ip6s_toosmall", 16)
	IP6Forward     = u64("ip6stat", "ip6s_forward", 56)
	IP6Odropped    = u64("ip6stat", "ip6s_odropped", 96)
	IP6Reassembled = u64("ip6stat", "ip6s_reassembled", 104)
	IP6Ofragments  = u64("ip6stat", "ip6s_ofragments", 128)
)

// ICMP messages by type: two arrays of 32-bit counters.
const (
	ICMPTypes   = 41
	ICMPInHist  = 196
	ICMPOutHist = 12
)
