package decode

const vmStatistics64 = Struct("vm_statistics64")

// Memory, from host_statistics64(HOST_VM_INFO64). Kernels before macOS 10.9 fill 96 bytes,
// without the compressor; later ones 152, and may append.
var (
	VMZeroFillCount = vmStatistics64.U64("zero_fill_count", 16)
	VMPageins       = vmStatistics64.U64("pageins", 32)
	VMFaults        = vmStatistics64.U64("faults", 48)
	VMCowFaults     = vmStatistics64.U64("cow_faults", 56)

	_ = []*Field{
		vmStatistics64.U32("free_count", 0),
		vmStatistics64.U32("active_count", 4),
		vmStatistics64.U32("inactive_count", 8),
		vmStatistics64.U32("wire_count", 12),
		vmStatistics64.U64("reactivations", 24),
		vmStatistics64.U64("pageouts", 40),
		vmStatistics64.U64("purges", 80),
		vmStatistics64.U32("purgeable_count", 88),
		vmStatistics64.U32("speculative_count", 92),
		vmStatistics64.U64("decompressions", 96),
		vmStatistics64.U64("compressions", 104),
		vmStatistics64.U64("swapins", 112),
		vmStatistics64.U64("swapouts", 120),
		vmStatistics64.U32("compressor_page_count", 128),
		vmStatistics64.U32("throttled_count", 132),
		vmStatistics64.U32("external_page_count", 136),
		vmStatistics64.U32("internal_page_count", 140),
		vmStatistics64.U64("total_uncompressed_pages_in_compressor", 144),
	}
)

const processorSetLoadInfo = Struct("processor_set_load_info")

// Live counts, from processor_set_statistics(PROCESSOR_SET_LOAD_INFO).
var _ = []*Field{
	processorSetLoadInfo.I32("task_count", 0),
	processorSetLoadInfo.I32("thread_count", 4),
}

const machTaskBasicInfo = Struct("mach_task_basic_info")

// This program's memory, from task_info(MACH_TASK_BASIC_INFO).
var (
	TaskVirtual  = machTaskBasicInfo.U64("virtual_size", 0)
	TaskResident = machTaskBasicInfo.U64("resident_size", 8)
)
