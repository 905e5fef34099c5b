#include "textflag.h"

TEXT libc_launch_activate_socket_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_launch_activate_socket(SB)
GLOBL	·addr_launch_activate_socket(SB), RODATA, $8
DATA	·addr_launch_activate_socket(SB)/8, $libc_launch_activate_socket_trampoline<>(SB)

TEXT libc_free_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_free(SB)
GLOBL	·addr_free(SB), RODATA, $8
DATA	·addr_free(SB)/8, $libc_free_trampoline<>(SB)
