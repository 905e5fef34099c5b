#include "textflag.h"

TEXT libc_getfsstat_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_getfsstat(SB)
GLOBL	·addr_getfsstat(SB), RODATA, $8
DATA	·addr_getfsstat(SB)/8, $libc_getfsstat_trampoline<>(SB)
