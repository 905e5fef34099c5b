// Package stacks reads sampled stacks from archives and shows what the threads of processes
// were doing in a window: as a tree of calls, as a list of functions, and in the formats
// of profilers.
//
// Package sample/stack describes how an archive stores stacks: as instances that refer to
// each other. An archive may come from a stranger, so this package survives callers in a
// cycle, missing frames and names that a terminal would obey, and its results are bounded.
package stacks
