// The further imports from libSystem for the sampling of stacks; see
// imports_libsystem_darwin.go.
package sys

//go:cgo_import_dynamic libc_task_read_for_pid task_read_for_pid "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_task_for_pid task_for_pid "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_task_threads task_threads "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_task_suspend2 task_suspend2 "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_task_resume2 task_resume2 "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_thread_info thread_info "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_thread_get_state thread_get_state "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_mach_vm_read_overwrite mach_vm_read_overwrite "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc__dyld_get_shared_cache_range _dyld_get_shared_cache_range "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_stackshot_config_create stackshot_config_create "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_stackshot_config_set_pid stackshot_config_set_pid "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_stackshot_config_set_flags stackshot_config_set_flags "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_stackshot_capture_with_config stackshot_capture_with_config "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_stackshot_config_get_stackshot_buffer stackshot_config_get_stackshot_buffer "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_stackshot_config_get_stackshot_size stackshot_config_get_stackshot_size "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_stackshot_config_dealloc stackshot_config_dealloc "/usr/lib/libSystem.B.dylib"

var (
	addr_task_read_for_pid                     uintptr
	addr_task_for_pid                          uintptr
	addr_task_threads                          uintptr
	addr_task_suspend2                         uintptr
	addr_task_resume2                          uintptr
	addr_thread_info                           uintptr
	addr_thread_get_state                      uintptr
	addr_mach_vm_read_overwrite                uintptr
	addr__dyld_get_shared_cache_range          uintptr
	addr_stackshot_config_create               uintptr
	addr_stackshot_config_set_pid              uintptr
	addr_stackshot_config_set_flags            uintptr
	addr_stackshot_capture_with_config         uintptr
	addr_stackshot_config_get_stackshot_buffer uintptr
	addr_stackshot_config_get_stackshot_size   uintptr
	addr_stackshot_config_dealloc              uintptr
)
