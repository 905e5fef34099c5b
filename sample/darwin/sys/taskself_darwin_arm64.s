#include "textflag.h"

// func taskSelfAddr() unsafe.Pointer
TEXT ·taskSelfAddr(SB),NOSPLIT,$0-8
	MOVD	$libc_mach_task_self_(SB), R0
	MOVD	R0, ret+0(FP)
	RET
