#include "textflag.h"

TEXT libc_task_read_for_pid_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_task_read_for_pid(SB)
GLOBL	·addr_task_read_for_pid(SB), RODATA, $8
DATA	·addr_task_read_for_pid(SB)/8, $libc_task_read_for_pid_trampoline<>(SB)

TEXT libc_task_for_pid_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_task_for_pid(SB)
GLOBL	·addr_task_for_pid(SB), RODATA, $8
DATA	·addr_task_for_pid(SB)/8, $libc_task_for_pid_trampoline<>(SB)

TEXT libc_task_threads_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_task_threads(SB)
GLOBL	·addr_task_threads(SB), RODATA, $8
DATA	·addr_task_threads(SB)/8, $libc_task_threads_trampoline<>(SB)

TEXT libc_task_suspend2_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_task_suspend2(SB)
GLOBL	·addr_task_suspend2(SB), RODATA, $8
DATA	·addr_task_suspend2(SB)/8, $libc_task_suspend2_trampoline<>(SB)

TEXT libc_task_resume2_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_task_resume2(SB)
GLOBL	·addr_task_resume2(SB), RODATA, $8
DATA	·addr_task_resume2(SB)/8, $libc_task_resume2_trampoline<>(SB)

TEXT libc_thread_info_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_thread_info(SB)
GLOBL	·addr_thread_info(SB), RODATA, $8
DATA	·addr_thread_info(SB)/8, $libc_thread_info_trampoline<>(SB)

TEXT libc_thread_get_state_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_thread_get_state(SB)
GLOBL	·addr_thread_get_state(SB), RODATA, $8
DATA	·addr_thread_get_state(SB)/8, $libc_thread_get_state_trampoline<>(SB)

TEXT libc_mach_vm_read_overwrite_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_mach_vm_read_overwrite(SB)
GLOBL	·addr_mach_vm_read_overwrite(SB), RODATA, $8
DATA	·addr_mach_vm_read_overwrite(SB)/8, $libc_mach_vm_read_overwrite_trampoline<>(SB)

TEXT libc__dyld_get_shared_cache_range_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc__dyld_get_shared_cache_range(SB)
GLOBL	·addr__dyld_get_shared_cache_range(SB), RODATA, $8
DATA	·addr__dyld_get_shared_cache_range(SB)/8, $libc__dyld_get_shared_cache_range_trampoline<>(SB)

TEXT libc_stackshot_config_create_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_stackshot_config_create(SB)
GLOBL	·addr_stackshot_config_create(SB), RODATA, $8
DATA	·addr_stackshot_config_create(SB)/8, $libc_stackshot_config_create_trampoline<>(SB)

TEXT libc_stackshot_config_set_pid_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_stackshot_config_set_pid(SB)
GLOBL	·addr_stackshot_config_set_pid(SB), RODATA, $8
DATA	·addr_stackshot_config_set_pid(SB)/8, $libc_stackshot_config_set_pid_trampoline<>(SB)

TEXT libc_stackshot_config_set_flags_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_stackshot_config_set_flags(SB)
GLOBL	·addr_stackshot_config_set_flags(SB), RODATA, $8
DATA	·addr_stackshot_config_set_flags(SB)/8, $libc_stackshot_config_set_flags_trampoline<>(SB)

TEXT libc_stackshot_capture_with_config_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_stackshot_capture_with_config(SB)
GLOBL	·addr_stackshot_capture_with_config(SB), RODATA, $8
DATA	·addr_stackshot_capture_with_config(SB)/8, $libc_stackshot_capture_with_config_trampoline<>(SB)

TEXT libc_stackshot_config_get_stackshot_buffer_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_stackshot_config_get_stackshot_buffer(SB)
GLOBL	·addr_stackshot_config_get_stackshot_buffer(SB), RODATA, $8
DATA	·addr_stackshot_config_get_stackshot_buffer(SB)/8, $libc_stackshot_config_get_stackshot_buffer_trampoline<>(SB)

TEXT libc_stackshot_config_get_stackshot_size_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_stackshot_config_get_stackshot_size(SB)
GLOBL	·addr_stackshot_config_get_stackshot_size(SB), RODATA, $8
DATA	·addr_stackshot_config_get_stackshot_size(SB)/8, $libc_stackshot_config_get_stackshot_size_trampoline<>(SB)

TEXT libc_stackshot_config_dealloc_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_stackshot_config_dealloc(SB)
GLOBL	·addr_stackshot_config_dealloc(SB), RODATA, $8
DATA	·addr_stackshot_config_dealloc(SB)/8, $libc_stackshot_config_dealloc_trampoline<>(SB)
