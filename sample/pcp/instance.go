package pcp

import (
	"strconv"
	"strings"

	"tachograph/sample/metric"
)

// NaturalNumber is the number that an instance has by itself, whoever counts: the pid
// of a process, the number of a processor, the minutes of an average, by which PCP's
// tools ask for them. ok is false if it has none.
func NaturalNumber(indom string, in *metric.Instance) (n uint32, ok bool) {
	word, rest, _ := strings.Cut(in.Name, " ")
	switch {
	case indom == "process":
		if pid := in.Label("pid"); pid != "" {
			word = pid
		}
	case indom == "thread":
		word = in.Label("tid")
	case indom == "load":
		if rest != "minute" {
			return 0, false
		}
	case indom == "cpu":
		if word, ok = strings.CutPrefix(in.Name, "cpu"); !ok {
			return 0, false
		}
	case rest != "":
		return 0, false
	}
	v, err := strconv.ParseUint(word, 10, 31)
	if err != nil || !metric.PerBoot(indom) && v >= firstHashed {
		return 0, false
	}
	return uint32(v), true
}

// firstHashed is the least number that a name leads to: those below are natural.
const firstHashed = 1 << 20

// Numbers gives the instances of one domain numbers of 31 bits, which are the same in
// every run: natural ones, or else what their keys lead to. Where two want the same the
// later one has the next that is free.
type Numbers struct {
	indom   string
	byKey   map[string]uint32
	holders map[uint32]string
}

// NewNumbers is for the instances of the domain of that name.
func NewNumbers(indom string) *Numbers {
	return &Numbers{indom: indom, byKey: make(map[string]uint32), holders: make(map[uint32]string)}
}

// Of is the number of an instance. Key is what makes it the same one, which may say
// more than its own.
func (n *Numbers) Of(key string, in *metric.Instance) uint32 {
	if id, ok := n.byKey[key]; ok {
		return id
	}
	id, ok := NaturalNumber(n.indom, in)
	if !ok {
		id = firstHashed + hash(in.Key)%(1<<31-firstHashed)
	}
	for _, taken := n.holders[id]; taken; _, taken = n.holders[id] {
		if id = (id + 1) & (1<<31 - 1); id < firstHashed {
			id = firstHashed
		}
	}
	n.byKey[key], n.holders[id] = id, key
	return id
}

// Forget frees the number of an instance that does not come back.
func (n *Numbers) Forget(key string) {
	if id, ok := n.byKey[key]; ok {
		delete(n.byKey, key)
		delete(n.holders, id)
	}
}

// InstanceName is what PCP calls an instance of that name: its tools look for instances
// by all before the first blank, so that has to tell one from the others. It does where
// it is a number: of a process, of minutes. All else has no blanks.
func InstanceName(name string) string {
	word, _, more := strings.Cut(name, " ")
	if !more || word != "" && strings.Trim(word, "0123456789/") == "" && word[0] != '/' {
		return name
	}
	return strings.ReplaceAll(name, " ", "_")
}

// Distinct is the name of an instance another of which has its first word already.
func Distinct(name string, id uint32) string {
	word, _, _ := strings.Cut(name, " ")
	return word + "#" + strconv.FormatUint(uint64(id), 10) + name[len(word):]
}
