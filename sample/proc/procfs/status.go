package procfs

// Status is what /proc/PID/status has beyond stat. Sizes are in KiB, as printed; a kernel
// thread has none, and then HasMemory is false.
type Status struct {
	Tgid, NTgid         uint64
	Inner               uint64 // the process's number in the innermost of its PID namespaces
	UID, EUID           uint64
	SUID, FSUID         uint64
	GID, EGID           uint64
	SGID, FSGID         uint64
	Threads             uint64
	Voluntary, Involun  uint64
	HasMemory           bool
	VmPeak, VmSize      uint64
	VmLck, VmHWM, VmRSS uint64
	RssAnon, RssFile    uint64
	RssShmem            uint64
	VmData, VmStk       uint64
	VmExe, VmLib, VmPTE uint64
	VmSwap              uint64
}

// Parse reads text into s. It skips lines that it does not know: every kernel release adds
// some.
func (s *Status) Parse(text []byte) {
	*s = Status{}
	for len(text) > 0 {
		var l []byte
		l, text = line(text)
		colon := -1
		for i, c := range l {
			if c == ':' {
				colon = i
				break
			}
		}
		if colon < 0 {
			continue
		}
		rest := l[colon+1:]
		switch string(l[:colon]) {
		case "Tgid":
			s.Tgid = first(rest)
		case "Ngid":
			s.NTgid = first(rest)
		case "NSpid":
			for w, more := field(rest); len(w) > 0; w, more = field(more) {
				s.Inner, _ = uint(w)
			}
		case "Uid":
			s.UID, s.EUID, s.SUID, s.FSUID = four(rest)
		case "Gid":
			s.GID, s.EGID, s.SGID, s.FSGID = four(rest)
		case "Threads":
			s.Threads = first(rest)
		case "voluntary_ctxt_switches":
			s.Voluntary = first(rest)
		case "nonvoluntary_ctxt_switches":
			s.Involun = first(rest)
		case "VmPeak":
			s.VmPeak = first(rest)
		case "VmSize":
			s.VmSize, s.HasMemory = first(rest), true
		case "VmLck":
			s.VmLck = first(rest)
		case "VmHWM":
			s.VmHWM = first(rest)
		case "VmRSS":
			s.VmRSS = first(rest)
		case "RssAnon":
			s.RssAnon = first(rest)
		case "RssFile":
			s.RssFile = first(rest)
		case "RssShmem":
			s.RssShmem = first(rest)
		case "VmData":
			s.VmData = first(rest)
		case "VmStk":
			s.VmStk = first(rest)
		case "VmExe":
			s.VmExe = first(rest)
		case "VmLib":
			s.VmLib = first(rest)
		case "VmPTE":
			s.VmPTE = first(rest)
		case "VmSwap":
			s.VmSwap = first(rest)
		}
	}
}

func first(b []byte) uint64 {
	w, _ := field(b)
	v, _ := uint(w)
	return v
}

func four(b []byte) (v1, v2, v3, v4 uint64) {
	var v [4]uint64
	for i := range v {
		var w []byte
		w, b = field(b)
		v[i], _ = uint(w)
	}
	return v[0], v[1], v[2], v[3]
}
