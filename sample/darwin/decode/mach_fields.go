package decode

// Memory, from host_statistics64(HOST_VM_INFO64). Kernels before macOS 10.9 fill
// 96 bytes, without the compressor; later ones 152, and may append.
var (
	VMFreeCount                          = u32("vm_statistics64", "free_count", 0)
	VMActiveCount                        = u32("vm_statistics64", "active_count", 4)
	VMInactiveCount                      = u32("vm_statistics64", "inactive_count", 8)
	VMWireCount                          = u32("vm_statistics64", "wire_count", 12)
	VMZeroFillCount                      = u64("vm_statistics64", "zero_fill_count", 16)
	VMReactivations                      = u64("vm_statistics64", "reactivations", 24)
	VMPageins                            = u64("vm_statistics64", "pageins", 32)
	VMPageouts                           = u64("vm_statistics64", "pageouts", 40)
	VMFaults                             = u64("vm_statistics64", "faults", 48)
	VMCowFaults                          = u64("vm_statistics64", "cow_faults", 56)
	VMPurges                             = u64("vm_statistics64", "purges", 80)
	VMPurgeableCount                     = u32("vm_statistics64", "purgeable_count", 88)
	VMSpeculativeCount                   = u32("vm_statistics64", "speculative_count", 92)
	VMDecompressions                     = u64("vm_statistics64", "decompressions", 96)
	VMCompressions                       = u64("vm_statistics64", "compressions", 104)
	VMSwapins                            = u64("vm_statistics64", "swapins", 112)
	VMSwapouts                           = u64("vm_statistics64", "swapouts", 120)
	VMCompressorPageCount                = u32("vm_statistics64", "compressor_page_count", 128)
	VMThrottledCount                     = u32("vm_statistics64", "throttled_count", 132)
	VMExternalPageCount                  = u32("vm_statistics64", "external_page_count", 136)
	VMInternalPageCount                  = u32("vm_statistics64", "internal_page_count", 140)
	VMTotalUncompressedPagesInCompressor = u64("vm_statistics64", "total_uncompressed_pages_in_compressor", 144)
)

// Live counts, from processor_set_statistics(PROCESSOR_SET_LOAD_INFO).
var (
	SetTaskCount   = i32("processor_set_load_info", "task_count", 0)
	SetThreadCount = i32("processor_set_load_info", "thread_count", 4)
)

// This program's memory, from task_info(MACH_TASK_BASIC_INFO).
var (
	TaskVirtual  = u64("mach_task_basic_info", "virtual_size", 0)
	TaskResident = u64("mach_task_basic_info", "resident_size", 8)
)
