package decode

const ifMsghdr2 = Struct("if_msghdr2")

// An interface in the answer to NET_RT_IFLIST2. Byte counts are cut to 32 bits and rounded down
// to 1 KiB for programs that are not Apple's.
var (
	IfMsglen  = ifMsghdr2.Field("ifm_msglen", 0, 2, false)
	IfMsgType = ifMsghdr2.Field("ifm_type", 3, 1, false)
	IfIndex   = ifMsghdr2.Field("ifm_index", 12, 2, false)
	IfType    = ifMsghdr2.Field("ifm_data.ifi_type", 32, 1, false)

	IfPacketsIn  = ifMsghdr2.U64("ifm_data.ifi_ipackets", 56)
	IfPacketsOut = ifMsghdr2.U64("ifm_data.ifi_opackets", 72)
	IfBytesIn    = ifMsghdr2.U64("ifm_data.ifi_ibytes", 96)
	IfBytesOut   = ifMsghdr2.U64("ifm_data.ifi_obytes", 104)

	_ = []*Field{
		ifMsghdr2.I32("ifm_flags", 8),
		// Signed in Apple's header, but the kernel counts up in it: 32 bits and no sign.
		ifMsghdr2.U32("ifm_snd_drops", 24),
		ifMsghdr2.U32("ifm_data.ifi_mtu", 40),
		ifMsghdr2.U64("ifm_data.ifi_baudrate", 48),
		ifMsghdr2.U64("ifm_data.ifi_ierrors", 64),
		ifMsghdr2.U64("ifm_data.ifi_oerrors", 80),
		ifMsghdr2.U64("ifm_data.ifi_collisions", 88),
		ifMsghdr2.U64("ifm_data.ifi_imcasts", 112),
		ifMsghdr2.U64("ifm_data.ifi_omcasts", 120),
		ifMsghdr2.U64("ifm_data.ifi_iqdrops", 128),
	}
)

const sockaddrDL = Struct("sockaddr_dl")

// The link-level address that follows.
var (
	dlLen    = sockaddrDL.Field("sdl_len", 0, 1, false)
	dlFamily = sockaddrDL.Field("sdl_family", 1, 1, false)
	dlNlen   = sockaddrDL.Field("sdl_nlen", 5, 1, false)
)

const ifmibdata = Struct("ifmibdata")

// The same interface in the interface MIB, uncut. Its 64-bit fields are at offsets that are not
// a multiple of 8.
var (
	MibName     = ifmibdata.Field("ifmd_name", 0, 16, false)
	MibBytesIn  = ifmibdata.U64("ifmd_data.ifi_ibytes", 116)
	MibBytesOut = ifmibdata.U64("ifmd_data.ifi_obytes", 124)
)
