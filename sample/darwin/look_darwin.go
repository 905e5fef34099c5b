package darwin

import (
	"slices"

	"tachograph/sample"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// others reports whether a freshly opened source finds other metrics than one that has been open
// for a while.
func others(s, fresh sample.Source) bool {
	defer fresh.Close()
	return fresh.Refresh() == nil && !slices.EqualFunc(s.Groups(), fresh.Groups(), (*metric.Group).Same)
}

// These sources are sample.Lookers: what they need may match, load or be plugged in while the
// recorder runs.

func (s *batterySource) Look() bool   { return others(s, newBatterySource()) }
func (s *gpuSource) Look() bool       { return others(s, newGPUSource()) }
func (s *smcSource) Look() bool       { return others(s, newSMCSource()) }
func (s *thermalSource) Look() bool   { return others(s, newThermalSource()) }
func (s *interfaceSource) Look() bool { return others(s, newInterfaceSource(s.flows)) }
func (s *tcpSource) Look() bool       { return others(s, newTCPSource()) }
func (s *tcpconnSource) Look() bool   { return others(s, newTCPConnSource()) }
func (s *nfsSource) Look() bool       { return others(s, newNFSSource()) }
func (s *kernelSource) Look() bool    { return others(s, newKernelSource()) }
func (s *identitySource) Look() bool  { return others(s, newIdentitySource()) }

// walkEvery is the number of looks per walk over the kernel's whole tree, which takes as many
// calls as the tree has names.
const walkEvery = 10

// Look finds names of the catalog that were lacking and can be resolved now, and names whose
// values have begun to change. At times it also finds that other names of the kernel's tree came
// or went.
func (s *sysctlSource) Look() bool {
	for name, n := range s.nodes {
		if n == nil && resolve(name) != nil {
			return true
		}
	}
	if s.tree.has() || s.Restless() {
		return true
	}
	s.looks++
	return s.looks%walkEvery == walkEvery/2 && walk(func(sys.MIB) {}) != s.tree.shape
}
