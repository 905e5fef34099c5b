package linux

import "golang.org/x/sys/unix"

func statfs(path string, s *space) error {
	var raw unix.Statfs_t
	for {
		err := unix.Statfs(path, &raw)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		break
	}
	*s = space{
		blockSize: uint64(raw.Bsize), fragmentSize: uint64(raw.Frsize),
		blocks: raw.Blocks, blocksFree: raw.Bfree, blocksAvail: raw.Bavail,
		files: raw.Files, filesFree: raw.Ffree,
	}
	return nil
}
