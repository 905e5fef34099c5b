// On Intel the plain name is the variant with 32-bit inode numbers and another struct statfs.
package sys

//go:cgo_import_dynamic libc_getfsstat getfsstat$INODE64 "/usr/lib/libSystem.B.dylib"

var (
	addr_getfsstat uintptr
)
