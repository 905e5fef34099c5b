package darwin

import (
	"math"

	"tachograph/sample/darwin/rows"
)

// filesysRows returns the table of mounted file systems. Blocks may be smaller than a kilobyte,
// so the rows multiply first; 2^64 bytes are beyond any disk.
func filesysRows() *rows.Table {
	return rows.New("filesys", rows.Select("filesys", "getfsstat "), 0, map[string]rows.Func{"positive": positive})
}

// positive returns a number, or 0 for a negative one: a volume that shares its container may
// show more free space than it has blocks, and nothing is then used.
func positive(x, _ uint64) (uint64, bool) {
	return math.Float64bits(max(0, math.Float64frombits(x))), true
}

// bottomless are file systems without contents: the directory of devices, which always says that
// it is full, and the automounter's maps. They have no row, as on Linux.
var bottomless = map[string]bool{"devfs": true, "autofs": true, "fdesc": true, "fdescfs": true}
