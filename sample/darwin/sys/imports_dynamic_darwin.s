#include "textflag.h"

TEXT libc_dlopen_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_dlopen(SB)
GLOBL	·addr_dlopen(SB), RODATA, $8
DATA	·addr_dlopen(SB)/8, $libc_dlopen_trampoline<>(SB)

TEXT libc_dlsym_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_dlsym(SB)
GLOBL	·addr_dlsym(SB), RODATA, $8
DATA	·addr_dlsym(SB)/8, $libc_dlsym_trampoline<>(SB)
