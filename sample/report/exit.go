package report

import (
	"strconv"
	"strings"
)

// namespaces are the parts of the system that end processes, with the names that reports
// have for them and whose code it is.
var namespaces = []struct{ name, words string }{
	1:  {"JETSAM", "the kernel, for lack of memory"},
	2:  {"SIGNAL", "a signal"},
	3:  {"CODESIGNING", "the kernel, for its code signature"},
	4:  {"HANGTRACER", "the hang tracer"},
	5:  {"TEST", "a test"},
	6:  {"DYLD", "the dynamic linker"},
	7:  {"LIBXPC", "the XPC library"},
	8:  {"OBJC", "the Objective-C runtime"},
	9:  {"EXEC", "the kernel, while it was being started"},
	10: {"SPRINGBOARD", "the home screen"},
	11: {"TCC", "privacy protection"},
	12: {"REPORTCRASH", "the crash reporter"},
	13: {"COREANIMATION", "Core Animation"},
	14: {"AGGREGATED", "several causes together"},
	15: {"RUNNINGBOARD", "RunningBoard, which manages the life of apps"},
	16: {"SKYWALK", "the network stack"},
	17: {"SETTINGS", "the settings"},
	18: {"LIBSYSTEM", "the system library"},
	19: {"FOUNDATION", "the Foundation framework"},
	20: {"WATCHDOG", "a watchdog"},
	21: {"METAL", "Metal"},
	22: {"WATCHKIT", "WatchKit"},
	23: {"GUARD", "a guard"},
	24: {"ANALYTICS", "analytics"},
	25: {"SANDBOX", "the sandbox"},
	26: {"SECURITY", "a security framework"},
	27: {"ENDPOINTSECURITY", "Endpoint Security"},
	28: {"PAC_EXCEPTION", "a failed pointer authentication"},
	29: {"BLUETOOTH_CHIP", "the Bluetooth chip"},
	30: {"PORT_SPACE", "too many Mach ports"},
	31: {"WEBKIT", "WebKit"},
	32: {"BACKLIGHTSERVICES", "the backlight service"},
	33: {"MEDIA", "the media services"},
	34: {"ROSETTA", "Rosetta"},
	35: {"LIBIGNITION", "libignition"},
	36: {"BOOTMOUNT", "the mounts of the boot"},
	38: {"REALITYKIT", "RealityKit"},
	39: {"AUDIO", "the audio services"},
	40: {"WAKEBOARD", "WakeBoard"},
	41: {"CORERC", "CoreRC"},
	42: {"SELF_RESTRICT", "its own restrictions"},
	43: {"ARKIT", "ARKit"},
}

// codes are the known codes of some namespaces.
var codes = map[string][]string{
	"JETSAM": {
		1: "jettisoned", 2: "over its high-water mark", 3: "too many vnodes", 4: "too few free pages", 5: "thrashing of processes",
		6: "thrashing of the file cache", 7: "over the limit of its own memory", 8: "too little disk space", 9: "idle",
		10: "the kernel's zones are full", 11: "thrashing of the compressor", 12: "the compressor is full", 13: "too little swap space",
		14: "memory pressure that lasted", 15: "pages could not be written out", 16: "over the limit of its conclave", 17: "idle for long",
		100: "over its limit of CPU time",
	},
	"SIGNAL": {
		1: "hangup", 2: "interrupt", 3: "quit", 4: "illegal instruction", 5: "trace trap", 6: "abort", 7: "emulator trap",
		8: "floating point exception", 9: "killed", 10: "bus error", 11: "segmentation fault", 12: "bad system call", 13: "broken pipe",
		14: "alarm clock", 15: "terminated", 24: "over the limit of CPU time", 25: "over the limit of file sizes", 30: "user signal 1", 31: "user signal 2",
	},
	"CODESIGNING": {1: "invalid signature", 2: "a page that its signature does not cover", 3: "refused access to a task port", 4: "its launch constraints do not allow to start it so"},
	"DYLD": {
		1: "a library is missing", 2: "a library is for another processor", 3: "a library has the wrong version", 4: "a symbol is missing",
		5: "a library's code signature is invalid", 6: "the sandbox hides a library", 7: "a malformed file", 9: "another error",
	},
	"EXEC": {
		1: "a malformed executable", 2: "its user or group could not be set", 3: "no thread state", 4: "no memory for the stack", 5: "no memory for its strings",
		6: "its arguments could not be copied", 7: "the dynamic linker could not be copied", 8: "a security policy", 9: "taskgated refused", 10: "FairPlay could not decrypt it",
		11: "it could not be decrypted", 12: "a malformed executable packed with UPX", 13: "32-bit programs are not supported", 14: "it is for another platform", 15: "no descriptor for it",
		16: "Rosetta could not be copied", 17: "the dynamic linker's facts could not be set", 18: "no thread", 19: "a bad attribute of posix_spawn",
	},
	"GUARD": {1: "a guarded file", 2: "guarded memory", 3: "a guarded Mach port", 4: "a guarded exclave", 5: "guarded generated code"},
}

// ExitReason puts into words who ended a process and why, from the name of a namespace and a code of
// it: "a signal: segmentation fault". Of an unknown code it returns the number.
func ExitReason(namespace string, code uint64) string {
	by := namespace
	for _, n := range namespaces {
		if n.name == namespace && namespace != "" {
			by = n.words
		}
	}
	if known := codes[namespace]; code < uint64(len(known)) && known[code] != "" {
		return by + ": " + known[code]
	}
	if code < 0x10000 {
		return by + ": code " + strconv.FormatUint(code, 10)
	}
	return by + ": code 0x" + strconv.FormatUint(code, 16)
}

// exitDetails are the bits that kqueue adds to the exit status of a process with NOTE_EXIT_DETAIL.
var exitDetails = []struct {
	bit   uint32
	words string
}{
	{0x80000000, "too few free pages"},
	{0x40000000, "thrashing of memory"},
	{0x20000000, "over its high-water mark"},
	{0x10000000, "over the limit of its own memory"},
	{idleDetail, "idle"},
	{0x04000000, "too many vnodes"},
	{0x02000000, "thrashing of the file cache"},
	{memoryDetail, "memory pressure"},
	{0x00040000, "invalid code signature"},
	{0x00010000, "code that could not be decrypted"},
}

const (
	// memoryDetail is the bit that goes with each of the kinds of a lack of memory.
	memoryDetail = 0x00020000
	idleDetail   = 0x08000000
)

// EndedIdle reports whether the kernel ended a process only because it was idle, from the data of
// kqueue's exit event. That is housekeeping, as in a jetsam list.
func EndedIdle(data uint32) bool { return data&(memoryDetail|idleDetail) == memoryDetail|idleDetail }

// ExitDetail puts into words why the kernel ended a process, from the data of kqueue's exit
// event: "memory pressure: idle". It returns "" if the kernel did not end it. Newer causes have no bit
// of their own: of them the kernel says just "memory pressure".
func ExitDetail(data uint32) string {
	var kinds []string
	for _, d := range exitDetails {
		if data&d.bit != 0 && d.bit != memoryDetail {
			kinds = append(kinds, d.words)
		}
	}
	text := strings.Join(kinds, ", ")
	switch {
	case data&memoryDetail == 0:
		return text
	case text == "":
		return "memory pressure"
	}
	return "memory pressure: " + text
}
