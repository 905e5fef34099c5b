package store

import (
	"tachograph/store/archive"
	"tachograph/store/digest"
)

// ArchiveInfo describes one archive, finished or live.
type ArchiveInfo = archive.Info

// Crowd is what instances that came and went have used together.
type Crowd = digest.Crowd
