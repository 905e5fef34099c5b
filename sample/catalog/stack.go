package catalog

// Stacks of threads, in the seconds in which they are sampled; package
// sample/stack says how they hang together.
var stackRows = []row{
	{"stack.samples", own(15, 1), u32, now, count, "stack", thread,
		"How often a thread was seen with this stack in the last second",
		on{mac("thread_get_state and the thread's memory, or stackshot"), lin("perf_event_open, or /proc/<pid>/task/<tid>/stack")}},
	{"stack.running", own(15, 2), u32, now, count, "stack", thread,
		"How often a thread that had or wanted a processor was seen with this stack in the last second",
		on{mac("thread_info THREAD_BASIC_INFO, or stackshot"), lin("perf_event_open, or /proc/<pid>/task/<tid>/stat field 3")}},
	{"stack.frame.samples", own(15, 3), u32, now, count, "stack frame", thread,
		"How often threads were seen in this call, or in what it called, in the last second",
		on{mac("thread_get_state and the thread's memory, or stackshot"), lin("perf_event_open, or /proc/<pid>/task/<tid>/stack")}},
	{"stack.image.samples", own(15, 4), u32, now, count, "stack image", thread,
		"How often threads were seen with code of this file in their stacks in the last second",
		on{mac("task_info TASK_DYLD_INFO, or stackshot"), lin("/proc/<pid>/maps")}},
}
