// The imports from libSystem: for each function a pragma that binds the symbol, a trampoline in
// the .s file that jumps to it, and the trampoline's address here.
package sys

//go:cgo_import_dynamic libc___error __error "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_sysctl sysctl "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_sysctlnametomib sysctlnametomib "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_mach_host_self mach_host_self "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_mach_port_deallocate mach_port_deallocate "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_vm_deallocate vm_deallocate "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_mach_timebase_info mach_timebase_info "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_mach_absolute_time mach_absolute_time "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_mach_continuous_time mach_continuous_time "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_host_statistics64 host_statistics64 "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_host_processor_info host_processor_info "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_processor_set_default processor_set_default "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_processor_set_statistics processor_set_statistics "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_task_info task_info "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_getvfsbyname getvfsbyname "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_setutxent setutxent "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_getutxent getutxent "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_endutxent endutxent "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_notify_register_check notify_register_check "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_notify_get_state notify_get_state "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_notify_cancel notify_cancel "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_proc_pidinfo proc_pidinfo "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_proc_pid_rusage proc_pid_rusage "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_proc_pidfdinfo proc_pidfdinfo "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_proc_pidpath proc_pidpath "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_syslog syslog "/usr/lib/libSystem.B.dylib"

var (
	addr___error                  uintptr
	addr_sysctl                   uintptr
	addr_sysctlnametomib          uintptr
	addr_mach_host_self           uintptr
	addr_mach_port_deallocate     uintptr
	addr_vm_deallocate            uintptr
	addr_mach_timebase_info       uintptr
	addr_mach_absolute_time       uintptr
	addr_mach_continuous_time     uintptr
	addr_host_statistics64        uintptr
	addr_host_processor_info      uintptr
	addr_processor_set_default    uintptr
	addr_processor_set_statistics uintptr
	addr_task_info                uintptr
	addr_getvfsbyname             uintptr
	addr_setutxent                uintptr
	addr_getutxent                uintptr
	addr_endutxent                uintptr
	addr_notify_register_check    uintptr
	addr_notify_get_state         uintptr
	addr_notify_cancel            uintptr
	addr_proc_pidinfo             uintptr
	addr_proc_pid_rusage          uintptr
	addr_proc_pidfdinfo           uintptr
	addr_proc_pidpath             uintptr
	addr_syslog                   uintptr
)
