// Package pdu is the protocol of Performance Co-Pilot as bytes: every message that
// pmcd and its agents, or a tool and pmcd, send each other, in both directions.
//
// A message is a struct; [Append] writes it, [Parse] reads it, and a [Reader] takes
// one after another from a stream. What is asked and what is answered, and when, is
// not known here: there are no connections, no names and no values of a machine.
//
// Parse takes nothing on trust: whatever bytes it is given, it returns a message or a
// [*Malformed], and what it allocates is bounded by the length of what it was given. A
// Reader allocates no more than has come, whatever a header announces, and never more
// than it was allowed. What was parsed shares no memory with the bytes that it was
// parsed from.
//
// All of a message is big endian; it begins with its length, its kind and who sends it
// (the number of a client's context in pmcd's requests to agents, the process in
// credentials, and zero else).
package pdu

import (
	"fmt"

	"tachograph/sample/pcp"
)

// Kind says what a message is.
type Kind uint32

const (
	KindError Kind = 0x7000 + iota
	KindResult
	KindProfile
	KindFetch
	KindDescReq
	KindDesc
	KindInstanceReq
	KindInstances
	KindTextReq
	KindText
	_ // a control request that nobody sends
	_
	KindCreds
	KindIDs
	KindNames
	KindChildren
	KindTraverse
	KindAttr
	KindLabelReq
	KindLabels
	KindHighresFetch
	KindHighresResult
	KindDescIDs
	KindDescs
)

var kindNames = [...]string{
	"ERROR", "RESULT", "PROFILE", "FETCH", "DESC_REQ", "DESC", "INSTANCE_REQ", "INSTANCE", "TEXT_REQ", "TEXT", "", "",
	"CREDS", "PMNS_IDS", "PMNS_NAMES", "PMNS_CHILD", "PMNS_TRAVERSE", "ATTR", "LABEL_REQ", "LABEL",
	"HIGHRES_FETCH", "HIGHRES_RESULT", "DESC_IDS", "DESCS",
}

// String is what PCP calls k.
func (k Kind) String() string {
	if i := int64(k) - int64(KindError); i >= 0 && i < int64(len(kindNames)) && kindNames[i] != "" {
		return kindNames[i]
	}
	return fmt.Sprintf("PDU %#x", uint32(k))
}

// Features are what two peers offer each other in greeting and credentials.
type Features uint16

const (
	// FeatureAuth: an agent that wants to be told who its clients are.
	FeatureAuth Features = 1 << 2
	// FeatureContainer: attributes may name a container.
	FeatureContainer Features = 1 << 6
	// FeatureLabels: labels may be asked for.
	FeatureLabels Features = 1 << 9
	// FeatureHighres: results may be asked for with nanoseconds.
	FeatureHighres Features = 1 << 10
	// FeatureDescs: many descriptors may be asked for at once.
	FeatureDescs Features = 1 << 11
)

// Version is the one version of the protocol that there is between processes.
const Version = 2

// What an attribute of a client tells.
const (
	AttrUserName  = 5
	AttrUserID    = 11
	AttrGroupID   = 12
	AttrProcessID = 14
	AttrContainer = 15
)

// What a help text is asked of: one of the first two and one of the last two.
const (
	TextOneLine = 1
	TextHelp    = 2
	TextPMID    = 4
	TextInDom   = 8
)

// What an agent puts where a result has its seconds, to have clients told that its
// labels or its name space are others now; pmcd tells them in an Error of that code.
const (
	LabelsChanged = 1 << 3
	NamesChanged  = 1 << 4
)

// MaxRequest is how long a message may be that pmcd takes from a client.
const MaxRequest = 64 << 10

// A Failure is an Error's code as an error.
type Failure int32

func (f Failure) Error() string { return pcp.ErrorText(int32(f)) }
