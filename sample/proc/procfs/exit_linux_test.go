package procfs

import (
	"reflect"
	"testing"

	"golang.org/x/sys/unix"
)

// The offsets in the parser are constants, so that it compiles everywhere. Here they are
// compared with the kernel's header.
func TestExitLayout(t *testing.T) {
	header := reflect.TypeFor[unix.Taskstats]()
	for name, off := range map[string]uintptr{
		"Version": tsVersion, "Ac_exitcode": tsStatus, "Ac_flag": tsFlags, "Cpu_run_virtual_total": tsRun,
		"Ac_comm": tsComm, "Ac_uid": tsUID, "Ac_gid": tsGID, "Ac_pid": tsPID, "Ac_ppid": tsPPID, "Ac_utime": tsUTime, "Ac_stime": tsSTime,
		"Ac_minflt": tsMinFlt, "Ac_majflt": tsMajFlt, "Hiwater_rss": tsPeakRSS, "Read_char": tsRChar, "Write_char": tsWChar,
		"Read_syscalls": tsSyscR, "Write_syscalls": tsSyscW, "Read_bytes": tsRead, "Write_bytes": tsWrite,
		"Cancelled_write_bytes": tsCancel, "Nvcsw": tsNVCSW, "Nivcsw": tsNIVCSW, "Ac_tgid": tsTGID, "Ac_tgetime": tsGETime,
	} {
		t.Run(name, func(t *testing.T) {
			f, ok := header.FieldByName(name)
			if !ok || f.Offset != off {
				t.Errorf("%s lies at %d, not %d", name, f.Offset, off)
			}
		})
	}
}
