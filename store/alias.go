package store

import (
	"tachograph/store/archive"
	"tachograph/store/digest"
	"tachograph/store/source"
)

// ArchiveInfo describes one archive, finished or live.
type ArchiveInfo = archive.Info

// A Loss is something that an answer lacks because it could not be read.
type Loss = source.Loss

// Crowd sums up what instances that came and went have used.
type Crowd = digest.Crowd
