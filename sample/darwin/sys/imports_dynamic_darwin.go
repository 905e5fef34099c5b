// The function that finds functions which some releases of macOS lack; see
// imports_libsystem_darwin.go.
package sys

//go:cgo_import_dynamic libc_dlsym dlsym "/usr/lib/libSystem.B.dylib"

var addr_dlsym uintptr
