package darwin

import "tachograph/sample/darwin/decode"

const (
	colFSCapacity = iota
	colFSUsed
	colFSFree
	colFSAvail
	colFSBlocksize
	colFSFull
	colFSMaxfiles
	colFSUsedfiles
	colFSFreefiles
	colFSMountdir
	colFSType
)

var filesysNames = []string{
	colFSCapacity:  "filesys.capacity",
	colFSUsed:      "filesys.used",
	colFSFree:      "filesys.free",
	colFSAvail:     "filesys.avail",
	colFSBlocksize: "filesys.blocksize",
	colFSFull:      "filesys.full",
	colFSMaxfiles:  "filesys.maxfiles",
	colFSUsedfiles: "filesys.usedfiles",
	colFSFreefiles: "filesys.freefiles",
	colFSMountdir:  "filesys.mountdir",
	colFSType:      "filesys.type",
}

// filesysSpace is what a struct statfs says about room.
type filesysSpace struct {
	bsize, blocks, bfree, bavail, files, ffree uint64
}

func readSpace(statfs []byte) (x filesysSpace) {
	x.bsize, _ = decode.FSBsize.Uint(statfs)
	x.blocks, _ = decode.FSBlocks.Uint(statfs)
	x.bfree, _ = decode.FSBfree.Uint(statfs)
	x.bavail, _ = decode.FSBavail.Uint(statfs)
	x.files, _ = decode.FSFiles.Uint(statfs)
	x.ffree, _ = decode.FSFfree.Uint(statfs)
	return x
}

// kbytes is a number of blocks in kilobytes. Blocks may be smaller than a
// kilobyte, so the product comes first; 2^64 bytes are beyond any disk.
func (x *filesysSpace) kbytes(blocks uint64) uint64 { return blocks * x.bsize >> 10 }

// used is what is not free. The kernel's numbers of a volume that shares its
// container may pass each other; nothing is then used.
func (x *filesysSpace) used() uint64 {
	if x.bfree > x.blocks {
		return 0
	}
	return x.blocks - x.bfree
}

func (x *filesysSpace) usedFiles() uint64 {
	if x.ffree > x.files {
		return 0
	}
	return x.files - x.ffree
}

// full is the used share of what an ordinary user could use, in percent.
func (x *filesysSpace) full() float64 {
	if all := x.used() + x.bavail; all > 0 {
		return 100 * float64(x.used()) / float64(all)
	}
	return 0
}

// bottomless are the file systems that hold nothing: the directory of devices,
// which always says that it is full, and the automounter's maps. They have no
// row, as on Linux.
var bottomless = map[string]bool{"devfs": true, "autofs": true, "fdesc": true, "fdescfs": true}
