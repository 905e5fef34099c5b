package redact

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kind is the kind of a name: pseudonyms begin with it.
type kind string

const (
	aHost      kind = "host"
	aUser      kind = "user"
	aGroup     kind = "group"
	aProcess   kind = "process"
	aThread    kind = "thread"
	aFunction  kind = "function"
	aVolume    kind = "volume"
	aDirectory kind = "dir"
	aFile      kind = "file"
	anIface    kind = "interface"
	anAddress  kind = "address"
	aNeighbour kind = "lan" // a machine at a private address; these three are how recordings name peers
	aRemote    kind = "net" // any other machine
	everybody  kind = "multicast"
	aUUID      kind = "uuid"
	aModel     kind = "model"
	aDevice    kind = "device"
	anInstance kind = "instance"
	aBoot      kind = "boot"
	aContainer kind = "container"
	aPod       kind = "pod"
	aName      kind = "name"
)

// leastKey is the shortest length of a key in bytes that makes trying all keys impossible.
const leastKey = 16

// ReadKey reads the key file of a fleet.
func ReadKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	const most = 1 << 20
	switch {
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s: a key file must be a regular file", path)
	case st.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s: others may read it, and whoever has the key can try names out: chmod 600 it", path)
	case st.Size() < leastKey:
		return nil, fmt.Errorf("%s: a key of %d bytes can be guessed; this makes one of 32: head -c 32 /dev/urandom > FILE", path, st.Size())
	case st.Size() > most:
		return nil, fmt.Errorf("%s: a key has at most %d bytes", path, most)
	}
	key := make([]byte, st.Size())
	if _, err := f.ReadAt(key, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// pseudonyms makes pseudonyms. Two names never share one.
type pseudonyms struct {
	key    []byte
	digits int
	given  map[name]string
	taken  map[string]name
	ids    map[uint64]uint64
	idOf   map[uint64]uint64
}

type name struct {
	kind kind
	text string
}

// Digits of pseudonyms. Within one recording few are enough: if two names would get the same,
// the second gets more digits. In a fleet no program sees all names, so the chance of a
// collision must be tiny.
const (
	digitsOfOne   = 4
	digitsOfFleet = 10
)

// newPseudonyms takes the key of a fleet; nil makes a key that is not kept.
func newPseudonyms(key []byte) *pseudonyms {
	p := &pseudonyms{key: key, digits: digitsOfFleet, given: make(map[name]string), taken: make(map[string]name),
		ids: make(map[uint64]uint64), idOf: make(map[uint64]uint64)}
	if key == nil {
		p.key, p.digits = make([]byte, 32), digitsOfOne
		rand.Read(p.key) // never fails
	}
	return p
}

// digest returns the HMAC of a name under the key.
func (p *pseudonyms) digest(k kind, text string) []byte {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte("tachograph " + string(k) + "\x00" + text))
	return mac.Sum(nil)
}

// of returns the pseudonym of a name.
func (p *pseudonyms) of(k kind, text string) string {
	if text == "" {
		return ""
	}
	n := name{k, text}
	if s, ok := p.given[n]; ok {
		return s
	}
	full := hex.EncodeToString(p.digest(k, text))
	for digits := p.digits; ; digits += 2 {
		s := string(k) + "-" + full[:min(digits, len(full))]
		if _, taken := p.taken[s]; !taken {
			p.given[n], p.taken[s] = s, n
			return s
		}
	}
}

// made reports whether s is a pseudonym that was given.
func (p *pseudonyms) made(s string) bool {
	_, ok := p.taken[s]
	return ok
}

// Numbers of users and groups are mapped into this range, above the numbers that systems give,
// within 31 bits.
const (
	idsFrom = 1 << 30
	idsMask = 1<<30 - 1
)

// id returns the pseudonym of a user or group number. A user and a group with the same number
// get the same pseudonym, because they mostly belong together.
func (p *pseudonyms) id(n uint64) uint64 {
	if m, ok := p.ids[n]; ok {
		return m
	}
	d := p.digest("id", strconv.FormatUint(n, 10))
	for i := 0; ; i++ {
		m := idsFrom + (binary.BigEndian.Uint64(d)+uint64(i))&idsMask
		if _, taken := p.idOf[m]; !taken {
			p.ids[n], p.idOf[m] = m, n
			return m
		}
	}
}

// The lowest numbers of ordinary users: systems number their own users below.
const (
	ordinaryDarwin = 500
	ordinaryLinux  = 1000
)

// systemID reports whether a number is one that systems give to their own users, including
// nobody: in 16 bits, as -2 and as -1.
func (m *Mapping) systemID(n uint64) bool {
	first := uint64(ordinaryLinux)
	if m.darwin {
		first = ordinaryDarwin
	}
	return n < first || n == 65534 || n == 65535 || uint32(n) >= 1<<32-2
}

// number maps the number of a user or group.
func (m *Mapping) number(n uint64) uint64 {
	if m.systemID(n) {
		return n
	}
	return m.names.id(n)
}

// idText maps such a number in text form. It returns false for other text.
func (m *Mapping) idText(s string) (string, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return "", false
	}
	return strconv.FormatUint(m.number(n), 10), true
}

// user maps the name of a user. A user without a name is given by number.
func (m *Mapping) user(s string) string { return m.account(aUser, s) }

func (m *Mapping) group(s string) string { return m.account(aGroup, s) }

func (m *Mapping) account(k kind, s string) string {
	if t, ok := m.idText(s); ok {
		return t
	}
	if !m.all && systemAccount(s) || s == "root" {
		return s
	}
	return m.learn(k, s)
}

// host maps the name of a host. A Mac gives its name with and without its domain in the local
// network.
func (m *Mapping) host(s string) string {
	low := strings.ToLower(strings.TrimSuffix(s, "."))
	low = strings.TrimSuffix(low, ".local")
	if low == "" || low == "localhost" {
		return s
	}
	p := m.names.of(aHost, low)
	m.remember(s, p)
	m.remember(low, p)
	return p
}

// process maps the name of a program.
func (m *Mapping) process(s string) string {
	if s == "" || !m.all && knownProgram(s) {
		return s
	}
	return m.learn(aProcess, s)
}

func (m *Mapping) thread(s string) string {
	if s == "" || !m.all && (knownProgram(s) || knownThread(s)) {
		return s
	}
	return m.names.of(aThread, s) // a sentence with this name means the program
}

// learn returns a pseudonym, and remembers it for the name in sentences.
func (m *Mapping) learn(k kind, s string) string {
	if m.names.made(s) {
		return s
	}
	p := m.names.of(k, s)
	m.remember(s, p)
	return p
}

// ranks says which of several kinds a name in a sentence most likely is. If a user and a program
// have the same name, the result must not depend on which was seen first.
var ranks = []kind{aHost, aUser, aGroup, aVolume, aProcess}

func rank(p string) int {
	k, _, _ := strings.Cut(p, "-")
	if i := slices.Index(ranks, kind(k)); i >= 0 {
		return i
	}
	return len(ranks)
}

// mostLearned bounds what is remembered for sentences. A name that is not remembered still gets
// a pseudonym, but without its kind.
const mostLearned = 1 << 18

// remember notes the pseudonym for a name in sentences. A name of one or two letters would match
// by chance.
func (m *Mapping) remember(s, p string) {
	if utf8.RuneCountInString(s) < 3 || len(m.learned) >= mostLearned {
		return
	}
	if was, ok := m.learned[s]; !ok || rank(p) < rank(was) {
		m.learned[s] = p
		m.longest = max(m.longest, min(strings.Count(s, " ")+1, 16))
	}
}
