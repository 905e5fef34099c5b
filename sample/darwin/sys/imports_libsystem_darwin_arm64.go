// On Apple silicon there is only one getfsstat, the one with 64-bit inode numbers.
package sys

//go:cgo_import_dynamic libc_getfsstat getfsstat "/usr/lib/libSystem.B.dylib"

var (
	addr_getfsstat uintptr
)
