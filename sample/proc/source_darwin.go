package proc

import (
	"tachograph/sample"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/proc/libproc"
)

// Sources opens the sources of this package: "proc" and "threads".
func Sources(opt Options) ([]sample.Source, error) {
	if err := opt.Check(); err != nil {
		return nil, err
	}
	m := newMacTable(opt, newDarwinCalls(), watchExits(), kernelTicks())
	return []sample.Source{newMacProcesses(m), newMacThreads(m)}, nil
}

// kernelTicks is what the kernel counts CPU times in. The timebase that a
// translated program is told is not the kernel's, so the frequency of the
// hardware comes first.
func kernelTicks() libproc.Ticks {
	const appleSilicon = 24_000_000
	hz, err := sys.SysctlUint("hw.tbfrequency")
	if translated, e := sys.SysctlUint("sysctl.proc_translated"); e == nil && translated == 1 && (err != nil || hz == 1e9) {
		return libproc.TicksPerSecond(appleSilicon)
	}
	if err == nil && hz > 0 {
		return libproc.TicksPerSecond(hz)
	}
	if numer, denom := sys.Timebase(); numer > 0 && denom > 0 {
		return libproc.Ticks{Numer: uint64(numer), Denom: uint64(denom)}
	}
	return libproc.TicksPerSecond(1e9)
}
