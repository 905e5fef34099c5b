package darwin

import "bytes"

// Identity describes this machine and its running system.
type Identity struct {
	// HardwareUUID identifies the machine for its lifetime.
	HardwareUUID string
	Name         string // of the host
	OS, Release  string // "Darwin", "24.5.0"
	Build        string // "24F74"
	Product      string // "15.5"
	Arch, Model  string // "arm64", "Mac14,2"
	Processor    string
	Cores        int
	MemoryBytes  uint64
	// Translated says that this program was built for another processor and runs through Rosetta.
	Translated bool
}

// plistString returns the string value of a key in an XML property list. System version files
// are small, are written by Apple's installer and have no nesting, so this is all the parsing
// they need.
func plistString(plist []byte, key string) string {
	_, rest, ok := bytes.Cut(plist, []byte("<key>"+key+"</key>"))
	if !ok {
		return ""
	}
	rest = bytes.TrimLeft(rest, " \t\r\n")
	rest, ok = bytes.CutPrefix(rest, []byte("<string>"))
	if !ok {
		return ""
	}
	value, _, ok := bytes.Cut(rest, []byte("</string>"))
	if !ok || bytes.ContainsAny(value, "<&") {
		return ""
	}
	return string(value)
}
