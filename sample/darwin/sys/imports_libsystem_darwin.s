#include "textflag.h"

TEXT libc___error_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc___error(SB)
GLOBL	·addr___error(SB), RODATA, $8
DATA	·addr___error(SB)/8, $libc___error_trampoline<>(SB)

TEXT libc_sysctl_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_sysctl(SB)
GLOBL	·addr_sysctl(SB), RODATA, $8
DATA	·addr_sysctl(SB)/8, $libc_sysctl_trampoline<>(SB)

TEXT libc_sysctlnametomib_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_sysctlnametomib(SB)
GLOBL	·addr_sysctlnametomib(SB), RODATA, $8
DATA	·addr_sysctlnametomib(SB)/8, $libc_sysctlnametomib_trampoline<>(SB)

TEXT libc_mach_host_self_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_mach_host_self(SB)
GLOBL	·addr_mach_host_self(SB), RODATA, $8
DATA	·addr_mach_host_self(SB)/8, $libc_mach_host_self_trampoline<>(SB)

TEXT libc_mach_port_deallocate_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_mach_port_deallocate(SB)
GLOBL	·addr_mach_port_deallocate(SB), RODATA, $8
DATA	·addr_mach_port_deallocate(SB)/8, $libc_mach_port_deallocate_trampoline<>(SB)

TEXT libc_vm_deallocate_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_vm_deallocate(SB)
GLOBL	·addr_vm_deallocate(SB), RODATA, $8
DATA	·addr_vm_deallocate(SB)/8, $libc_vm_deallocate_trampoline<>(SB)

TEXT libc_mach_timebase_info_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_mach_timebase_info(SB)
GLOBL	·addr_mach_timebase_info(SB), RODATA, $8
DATA	·addr_mach_timebase_info(SB)/8, $libc_mach_timebase_info_trampoline<>(SB)

TEXT libc_mach_absolute_time_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_mach_absolute_time(SB)
GLOBL	·addr_mach_absolute_time(SB), RODATA, $8
DATA	·addr_mach_absolute_time(SB)/8, $libc_mach_absolute_time_trampoline<>(SB)

TEXT libc_mach_continuous_time_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_mach_continuous_time(SB)
GLOBL	·addr_mach_continuous_time(SB), RODATA, $8
DATA	·addr_mach_continuous_time(SB)/8, $libc_mach_continuous_time_trampoline<>(SB)

TEXT libc_host_statistics64_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_host_statistics64(SB)
GLOBL	·addr_host_statistics64(SB), RODATA, $8
DATA	·addr_host_statistics64(SB)/8, $libc_host_statistics64_trampoline<>(SB)

TEXT libc_host_processor_info_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_host_processor_info(SB)
GLOBL	·addr_host_processor_info(SB), RODATA, $8
DATA	·addr_host_processor_info(SB)/8, $libc_host_processor_info_trampoline<>(SB)

TEXT libc_processor_set_default_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_processor_set_default(SB)
GLOBL	·addr_processor_set_default(SB), RODATA, $8
DATA	·addr_processor_set_default(SB)/8, $libc_processor_set_default_trampoline<>(SB)

TEXT libc_processor_set_statistics_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_processor_set_statistics(SB)
GLOBL	·addr_processor_set_statistics(SB), RODATA, $8
DATA	·addr_processor_set_statistics(SB)/8, $libc_processor_set_statistics_trampoline<>(SB)

TEXT libc_task_info_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_task_info(SB)
GLOBL	·addr_task_info(SB), RODATA, $8
DATA	·addr_task_info(SB)/8, $libc_task_info_trampoline<>(SB)

TEXT libc_getvfsbyname_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_getvfsbyname(SB)
GLOBL	·addr_getvfsbyname(SB), RODATA, $8
DATA	·addr_getvfsbyname(SB)/8, $libc_getvfsbyname_trampoline<>(SB)

TEXT libc_setutxent_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_setutxent(SB)
GLOBL	·addr_setutxent(SB), RODATA, $8
DATA	·addr_setutxent(SB)/8, $libc_setutxent_trampoline<>(SB)

TEXT libc_getutxent_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_getutxent(SB)
GLOBL	·addr_getutxent(SB), RODATA, $8
DATA	·addr_getutxent(SB)/8, $libc_getutxent_trampoline<>(SB)

TEXT libc_endutxent_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_endutxent(SB)
GLOBL	·addr_endutxent(SB), RODATA, $8
DATA	·addr_endutxent(SB)/8, $libc_endutxent_trampoline<>(SB)

TEXT libc_notify_register_check_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_notify_register_check(SB)
GLOBL	·addr_notify_register_check(SB), RODATA, $8
DATA	·addr_notify_register_check(SB)/8, $libc_notify_register_check_trampoline<>(SB)

TEXT libc_notify_get_state_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_notify_get_state(SB)
GLOBL	·addr_notify_get_state(SB), RODATA, $8
DATA	·addr_notify_get_state(SB)/8, $libc_notify_get_state_trampoline<>(SB)

TEXT libc_notify_cancel_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_notify_cancel(SB)
GLOBL	·addr_notify_cancel(SB), RODATA, $8
DATA	·addr_notify_cancel(SB)/8, $libc_notify_cancel_trampoline<>(SB)

TEXT libc_proc_pidinfo_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_proc_pidinfo(SB)
GLOBL	·addr_proc_pidinfo(SB), RODATA, $8
DATA	·addr_proc_pidinfo(SB)/8, $libc_proc_pidinfo_trampoline<>(SB)

TEXT libc_proc_pid_rusage_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_proc_pid_rusage(SB)
GLOBL	·addr_proc_pid_rusage(SB), RODATA, $8
DATA	·addr_proc_pid_rusage(SB)/8, $libc_proc_pid_rusage_trampoline<>(SB)

TEXT libc_proc_pidfdinfo_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_proc_pidfdinfo(SB)
GLOBL	·addr_proc_pidfdinfo(SB), RODATA, $8
DATA	·addr_proc_pidfdinfo(SB)/8, $libc_proc_pidfdinfo_trampoline<>(SB)

TEXT libc_proc_pidpath_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_proc_pidpath(SB)
GLOBL	·addr_proc_pidpath(SB), RODATA, $8
DATA	·addr_proc_pidpath(SB)/8, $libc_proc_pidpath_trampoline<>(SB)

TEXT libc_syslog_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_syslog(SB)
GLOBL	·addr_syslog(SB), RODATA, $8
DATA	·addr_syslog(SB)/8, $libc_syslog_trampoline<>(SB)
