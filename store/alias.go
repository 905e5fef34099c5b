package store

import (
	"tachograph/store/archive"
	"tachograph/store/digest"
)

// ArchiveInfo describes one archive, finished or live.
type ArchiveInfo = archive.Info

// Crowd sums up what instances that came and went have used.
type Crowd = digest.Crowd
