// Package pdu encodes and decodes the protocol of Performance Co-Pilot: every message that pmcd
// and its agents, or a tool and pmcd, send each other, in both directions.
//
// A message is a struct; [Append] writes it, [Parse] reads it, and a [Reader] takes one after
// another from a stream. The package does not know who asks and who answers, and when: it has no
// connections, no names and no values of a machine.
//
// Parse trusts no input. It returns a message or a [*Malformed] for any bytes, and what it
// allocates is limited by their length. A Reader allocates no more than has arrived, whatever a
// header announces, and never more than its maximum. A parsed message shares no memory with its
// bytes.
//
// A message is big endian. It begins with its length, its kind and its sender (the number of a
// client's context in pmcd's requests to agents, the process in credentials, and otherwise
// zero).
package pdu

import (
	"fmt"

	"tachograph/sample/pcp"
)

// Kind is the type of a message.
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
	_ // a control request that no program sends
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

// String is PCP's name for k.
func (k Kind) String() string {
	if i := int64(k) - int64(KindError); i >= 0 && i < int64(len(kindNames)) && kindNames[i] != "" {
		return kindNames[i]
	}
	return fmt.Sprintf("PDU %#x", uint32(k))
}

// Features are the extensions that two peers offer each other in greeting and credentials.
type Features uint16

const (
	// FeatureAuth: an agent asks for the attributes of its clients.
	FeatureAuth Features = 1 << 2
	// FeatureContainer: attributes may name a container.
	FeatureContainer Features = 1 << 6
	// FeatureLabels: the peer answers requests for labels.
	FeatureLabels Features = 1 << 9
	// FeatureHighres: the peer answers requests for results with nanoseconds.
	FeatureHighres Features = 1 << 10
	// FeatureDescs: the peer answers requests for many descriptors at once.
	FeatureDescs Features = 1 << 11
)

// Version is the only version of the protocol between processes.
const Version = 2

// The attributes of a client.
const (
	AttrUserName  = 5
	AttrUserID    = 11
	AttrGroupID   = 12
	AttrProcessID = 14
	AttrContainer = 15
)

// What to ask a help text for: one of the first two and one of the last two.
const (
	TextOneLine = 1
	TextHelp    = 2
	TextPMID    = 4
	TextInDom   = 8
)

// Flags that an agent sets in place of a result's seconds, when its labels or its name space
// have changed; pmcd then sends clients an Error with that code.
const (
	LabelsChanged = 1 << 3
	NamesChanged  = 1 << 4
)

// MaxRequest is the greatest length of a message that pmcd accepts from a client.
const MaxRequest = 64 << 10

// A Failure is an Error's code as an error.
type Failure int32

func (f Failure) Error() string { return pcp.ErrorText(int32(f)) }
