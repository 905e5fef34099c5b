package store

import (
	"tachograph/store/archive"
	"tachograph/store/layout"
)

// ArchiveInfo describes one archive, finished or live.
type ArchiveInfo = archive.Info

// Host is the machine that an archive was recorded on.
type Host = layout.Host
