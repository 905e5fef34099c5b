package store

import (
	"tachograph/store/archive"
)

// ArchiveInfo describes one archive, finished or live.
type ArchiveInfo = archive.Info
