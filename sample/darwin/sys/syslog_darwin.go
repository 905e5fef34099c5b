package sys

import (
	"runtime"
	"strings"
	"unsafe"
)

// daemonFacility is LOG_DAEMON of syslog(3).
const daemonFacility = 3 << 3

// Syslog writes a line into the unified log, with a priority of syslog(3).
//
// The function takes any number of arguments after its format, which are passed in another way
// than others on arm64. So the text is the format, with every % doubled, and there are none.
func Syslog(priority int, text string) {
	format := append([]byte(strings.ReplaceAll(strings.ReplaceAll(text, "\x00", ""), "%", "%%")), 0)
	call6(addr_syslog, uintptr(daemonFacility|priority), uintptr(unsafe.Pointer(unsafe.SliceData(format))), 0, 0, 0, 0)
	runtime.KeepAlive(format)
}
