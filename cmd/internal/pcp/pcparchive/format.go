package pcparchive

import (
	"encoding/binary"

	"tachograph/sample/pcp"
)

// Numbers at the beginning of the files of an archive: the version is the last byte.
const (
	magic  = 0x50052600
	magic2 = magic | 2
	magic3 = magic | 3
)

// The volume numbers in the labels of files that are not volumes.
const (
	metaVolume  = -1
	indexVolume = -2
)

// The types of metadata records.
const (
	typeDesc       = 1
	typeIndom2     = 2
	typeLabels2    = 3
	typeText       = 4
	typeIndom3     = 5
	typeIndomDelta = 6
	typeLabels3    = 7
)

// The types of texts: a line or the full text, of a metric or an instance domain.
const (
	textLine  = 1
	textHelp  = 2
	textPMID  = 4
	textIndom = 8
)

const (
	labelSize2 = 132
	labelSize3 = 808
	second     = int64(1e9)
)

// Label is the beginning of every part of an archive.
type Label struct {
	Version int
	PID     int32
	Start   int64 // the earliest time, nanoseconds since 1970
	Host    string
	// TZ is a zone in POSIX notation ("CET-1"), Zone the file that describes it
	// (":Europe/Berlin"), which version 2 does not have.
	TZ, Zone string
}

// Desc is the description of a metric.
type Desc struct {
	PMID      uint32
	Type      pcp.Type
	InDom     uint32
	Semantics int32
	Units     uint32
	Names     []string
}

// Instance is a member of an instance domain. An instance that is Gone has no name.
type Instance struct {
	ID   uint32
	Name string
	Gone bool
}

// LabelSet is the labels of one thing: a JSON object, and their positions in it.
type LabelSet struct {
	Instance uint32 // pcp.Null except for labels of instances
	JSON     string
	Refs     []pcp.LabelRef
}

// appendTime appends a time for a record of version 3: the lower word of the seconds comes
// first.
func appendTime(b []byte, ns int64) []byte {
	sec, nsec := splitTime(ns)
	b = binary.BigEndian.AppendUint32(b, uint32(sec))
	b = binary.BigEndian.AppendUint32(b, uint32(sec>>32))
	return binary.BigEndian.AppendUint32(b, uint32(nsec))
}

// splitTime returns whole seconds, and nanoseconds that are never negative.
func splitTime(ns int64) (sec, nsec int64) {
	sec, nsec = ns/second, ns%second
	if nsec < 0 {
		sec, nsec = sec-1, nsec+second
	}
	return sec, nsec
}
