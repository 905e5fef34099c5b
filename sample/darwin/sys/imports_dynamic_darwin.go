// The functions that find functions which some releases of macOS lack; see
// imports_libsystem_darwin.go.
package sys

//go:cgo_import_dynamic libc_dlopen dlopen "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_dlsym dlsym "/usr/lib/libSystem.B.dylib"

var (
	addr_dlopen uintptr
	addr_dlsym  uintptr
)
