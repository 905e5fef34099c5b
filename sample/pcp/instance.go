package pcp

import (
	"strconv"
	"strings"

	"tachograph/sample/metric"
)

// NaturalNumber returns the number that an instance has by nature: the pid of a process, the
// number of a processor, the minutes of an average. PCP's tools ask for instances by these. ok
// is false if it has none.
func NaturalNumber(indom string, in *metric.Instance) (n uint32, ok bool) {
	word, rest, _ := strings.Cut(in.Name, " ")
	switch {
	case indom == "process":
		if pid := in.Label("pid"); pid != "" {
			word = pid
		}
	case indom == "thread":
		word = in.Label("tid")
	case indom == "coalition":
		word = in.Key
	case indom == "connection", indom == "listener":
		return 0, false
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

// firstHashed is the lowest number computed from a key. Smaller numbers are natural.
const firstHashed = 1 << 20

// Numbers gives the instances of one domain numbers of 31 bits, which are the same in every run:
// natural ones, or else hashes of their keys. When two instances get the same number, the later
// one takes the next free number.
type Numbers struct {
	indom   string
	byKey   map[string]uint32
	holders map[uint32]string
}

// NewNumbers makes Numbers for the instances of the domain named indom.
func NewNumbers(indom string) *Numbers {
	return &Numbers{indom: indom, byKey: make(map[string]uint32), holders: make(map[uint32]string)}
}

// Of returns the number of an instance. Key identifies it and may be more specific than in.Key.
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

// Forget frees the number of an instance that will not come back.
func (n *Numbers) Forget(key string) {
	if id, ok := n.byKey[key]; ok {
		delete(n.byKey, key)
		delete(n.holders, id)
	}
}

// Numbered reports whether the names of the instances of a domain begin with numbers, which no
// two have at one time.
func Numbered(indom string) bool {
	return metric.PerBoot(indom) && indom != "coalition" && indom != "connection"
}

// InstanceName is PCP's name for an instance called name. PCP's tools look for instances by the
// part before the first blank, so that part must be unique. It is if it is a number, such as
// that of a process or of minutes. In all other names blanks become underscores.
func InstanceName(name string) string {
	word, _, more := strings.Cut(name, " ")
	if !more || word != "" && strings.Trim(word, "0123456789/") == "" && word[0] != '/' {
		return name
	}
	return strings.ReplaceAll(name, " ", "_")
}

// Title returns the name of an instance of which PCP's name is made. Connections of one process to one
// port are called alike, so that theirs begins with the key.
func Title(indom string, in *metric.Instance) string {
	if indom == "connection" {
		return in.Key + " " + in.Name
	}
	return in.Name
}

// Distinct returns a name for an instance whose first word another instance already has.
func Distinct(name string, id uint32) string {
	word, _, _ := strings.Cut(name, " ")
	return word + "#" + strconv.FormatUint(uint64(id), 10) + name[len(word):]
}
