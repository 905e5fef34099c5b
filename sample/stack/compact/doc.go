// Package compact reads Apple's compact unwind information: the section __unwind_info of an
// image, which says of each function where its return address and its caller's frame pointer
// are. It makes no system calls and is the same, and tested, on every platform. The bytes are
// another process's: they may hold anything.
//
// The table is about functions in their bodies, where they call others. A thread can be stopped
// anywhere, also while a function makes its frame or has just removed it. What is so there is in
// the function's code: intel.go and arm.go look at the few instructions that can be meant.
package compact
