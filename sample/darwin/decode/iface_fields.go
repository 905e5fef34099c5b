package decode

// An interface in the list that NET_RT_IFLIST2 gives. Byte counts are cut to 32
// bits and rounded down to 1 KiB for programs that are not Apple's.
var (
	IfMsglen     = field("if_msghdr2", "ifm_msglen", 0, 2, false)
	IfMsgType    = field("if_msghdr2", "ifm_type", 3, 1, false)
	IfFlags      = i32("if_msghdr2", "ifm_flags", 8)
	IfIndex      = field("if_msghdr2", "ifm_index", 12, 2, false)
	IfSndDrops   = i32("if_msghdr2", "ifm_snd_drops", 24)
	IfType       = field("if_msghdr2", "ifm_data.ifi_type", 32, 1, false)
	IfMtu        = u32("if_msghdr2", "ifm_data.ifi_mtu", 40)
	IfBaudrate   = u64("if_msghdr2", "ifm_data.ifi_baudrate", 48)
	IfIpackets   = u64("if_msghdr2", "ifm_data.ifi_ipackets", 56)
	IfIerrors    = u64("if_msghdr2", "ifm_data.ifi_ierrors", 64)
	IfOpackets   = u64("if_msghdr2", "ifm_data.ifi_opackets", 72)
	IfOerrors    = u64("if_msghdr2", "ifm_data.ifi_oerrors", 80)
	IfCollisions = u64("if_msghdr2", "ifm_data.ifi_collisions", 88)
	IfIbytes     = u64("if_msghdr2", "ifm_data.ifi_ibytes", 96)
	IfObytes     = u64("if_msghdr2", "ifm_data.ifi_obytes", 104)
	IfImcasts    = u64("if_msghdr2", "ifm_data.ifi_imcasts", 112)
	IfOmcasts    = u64("if_msghdr2", "ifm_data.ifi_omcasts", 120)
	IfIqdrops    = u64("if_msghdr2", "ifm_data.ifi_iqdrops", 128)
)

// The link-level address that follows.
var (
	dlLen    = field("sockaddr_dl", "sdl_len", 0, 1, false)
	dlFamily = field("sockaddr_dl", "sdl_family", 1, 1, false)
	dlNlen   = field("sockaddr_dl", "sdl_nlen", 5, 1, false)
)

// The same interface in the interface MIB, uncut. Its 64-bit fields stand at
// offsets that are no multiple of 8.
var (
	MibName   = field("ifmibdata", "ifmd_name", 0, 16, false)
	MibIbytes = u64("ifmibdata", "ifmd_data.ifi_ibytes", 116)
	MibObytes = u64("ifmibdata", "ifmd_data.ifi_obytes", 124)
)
