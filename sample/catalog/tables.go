package catalog

var tables = [][]row{
	computedRows,
	diskRows,
	filesysRows,
	hinvRows,
	kernelRows,
	memRows,
	memVmstatRows,
	networkInterfaceRows,
	networkIpRows,
	networkTcpRows,
	nfsRows,
	powerRows,
	procRows,
	recorderRows,
	sysctlHwRows,
	sysctlKernRows,
	sysctlOtherRows,
	sysctlVmRows,
	vfsRows,
}
