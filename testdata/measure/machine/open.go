package machine

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"tachograph/store/layout"
)

// Options say how a dataset is played.
type Options struct {
	// System and Process are the intervals of the system's and the processes' metrics in seconds,
	// except for archives, which keep theirs. System is for machines that are made up.
	System, Process int
	// Round is how many seconds of an archive or of a machine that is made up are played again
	// and again.
	Round int
	// Day is how long a day of a machine with nights is.
	Day time.Duration
	// Processes and Seed are for machines that are made up: processes at a time (0: as many as
	// such a machine has), and which.
	Processes int
	Seed      uint64
	// Net lets the processes of a machine that is made up use the network.
	Net bool
	// Plain leaves the names and units of a recording as they are.
	Plain bool
}

// archived returns the machine of an archive; nil in versions that cannot read one tick by tick.
var archived func(path string, seconds int) (*Machine, error)

// Open returns the machine of a dataset: the path of a recording in the stream format of the
// shared datasets, of an archive or of a directory of archives, or the name of a machine that is
// made up: workstation (also if there is no name), server, or month, a workstation that sleeps at
// night and boots once a week.
func Open(dataset string, o Options) (*Machine, error) {
	if s := shapes[dataset]; s != nil {
		return invent(s, o), nil
	}
	st, err := os.Stat(dataset)
	if err != nil {
		return nil, fmt.Errorf("a dataset is a file, a directory, workstation, server or month: %w", err)
	}
	if st.IsDir() || strings.HasSuffix(dataset, layout.FinishedSuffix) || strings.HasSuffix(dataset, layout.LiveSuffix) {
		if archived == nil {
			return nil, errors.New("this version cannot play archives")
		}
		return archived(dataset, o.Round)
	}
	return recorded(dataset, o)
}
