package darwin

import (
	"errors"
	"fmt"

	"tachograph/sample"
	"tachograph/sample/socket"
)

// Sources opens the sources of all system-wide metrics. Each has found out what this Mac has;
// metrics that it lacks are marked and not read until a Refresh finds them. Sources that may
// find more later are sample.Lookers. flows are the bytes of connections by interface; nil where they
// are not known.
func Sources(flows *socket.Flows) ([]sample.Source, error) {
	all := []sample.Source{
		newMemorySource(),
		newCPUSource(),
		newKernelSource(),
		newSysctlSource(),
		newInterfaceSource(flows),
		newTCPSource(),
		newTCPConnSource(),
		newDiskSource(),
		newAPFSSource(),
		newFilesysSource(),
		newGPUSource(),
		newBatterySource(),
		newSMCSource(),
		newThermalSource(),
		newNFSSource(),
		newLoginSource(),
		newIdentitySource(),
		newSelfSource(),
	}
	for _, s := range all {
		if err := s.Refresh(); err != nil {
			err = fmt.Errorf("source %s: %w", s.Name(), err)
			for _, s := range all {
				err = errors.Join(err, s.Close())
			}
			return nil, err
		}
	}
	return all, nil
}
