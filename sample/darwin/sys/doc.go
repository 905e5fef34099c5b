// Package sys calls macOS: every unsafe line of this module is here, and nothing but calls is
// here. It fetches bytes and plain values; package sample/darwin/decode interprets the bytes.
//
// # How a call is made
//
// There is no cgo. A function takes three pieces: a pragma that asks the linker to bind the
// symbol, an assembly trampoline that jumps to it, and a call through the runtime's own entry to
// libSystem (syscall.syscall6 and its siblings, which the standard library keeps accessible for
// golang.org/x/sys). The runtime puts the arguments where the C calling convention expects them.
//
// # Rules
//
//   - A Go pointer becomes a uintptr only inside the argument list of the call
//     itself. The compiler then keeps its target alive and in place until the
//     call returns; the runtime's side is nosplit, so the stack does not move
//     either.
//   - A function releases what it gets from the kernel or CoreFoundation before
//     it returns, or returns it as a type with a Close or Release method.
//   - For a result of unknown length, ask for the size, then read. The result may
//     grow between the two calls, so a buffer that is too short is enlarged and
//     the read repeated.
//   - Errors name the call. For functions that fail with 0 instead of -1, errno
//     is read on the same thread.
//
// # What has been executed
//
// The same Go files and the same trampolines (a jump to an imported symbol, spelled alike for
// both processors) are built for amd64 and arm64. The tests have run both against a simulated
// kernel: the amd64 build on its own processor, the arm64 build on an emulated one, with garbage
// in the upper half of 32-bit results and in the registers that functions need not preserve.
// Neither has run on a Mac. Each trampoline is one branch that leaves the argument registers as
// the runtime set them; the only other routine loads the address of mach_task_self_ the way the
// Go runtime does. No imported function is variadic, takes floating point or has more than six
// arguments, so no argument is on the stack, where the two conventions differ.
package sys
