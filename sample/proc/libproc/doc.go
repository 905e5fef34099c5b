// Package libproc knows what Darwin's kernel reports about processes: the numbers that select
// it and the offset of each field in the answers. It makes no calls and is the same, and
// tested, on every platform.
package libproc

import "tachograph/sample/darwin/decode"

// Flavours of proc_pidinfo and proc_pidfdinfo, as <sys/proc_info.h> and
// <sys/proc_info_private.h> number them.
const (
	PIDListFDs        = 1
	PIDTaskAllInfo    = 2
	PIDRegionPathInfo = 8
	PIDVnodePathInfo  = 9
	PIDThreadID64Info = 15
	PIDUniqueID       = 17
	PIDCoalition      = 20
	PIDListThreadIDs  = 28
	FDSocketInfo      = 3
	fdTypeSocket      = 2
	socketInet        = 1
	socketTCP         = 2
	familyInet        = 2
	familyInet6       = 30
	protocolUDP       = 17
	translatedFlag    = 0x20000 // P_TRANSLATED
	noDevice          = 0xffffffff
	TaskAllSize       = 232
	KinfoSize         = 648
	UniqueSize        = 56
	VnodePathSize     = 2352
	ThreadSize        = 112
	RegionPathSize    = 1272
	SocketSize        = 792
	CoalitionSize     = 40
	fdSize            = 8
	PathSize          = 4096
	ClampLimit        = 1<<31 - 1 // where the kernel's 32-bit counters stop
	NewestRusage      = 6
)

// rusageSizes are the sizes of struct rusage_info_v0 and its successors.
var rusageSizes = [NewestRusage + 1]int{96, 144, 160, 232, 296, 304, 464}

// RusageSize is the size of the struct of a flavour of proc_pid_rusage.
func RusageSize(flavour int32) int { return rusageSizes[flavour] }

// fields collects every field, so that a test can hold them all against the
// layouts that were measured with Apple's headers.
var fields []*decode.Field

func field(structName, name string, off, size int, signed bool) *decode.Field {
	f := decode.Struct(structName).Field(name, off, size, signed)
	fields = append(fields, f)
	return f
}

// get reads a field of an answer that is known to be long enough.
func get(f *decode.Field, b []byte) uint64 {
	v, _ := f.Uint(b)
	return v
}
