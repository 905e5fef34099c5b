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

// kind is what a name is the name of: pseudonyms begin with it.
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
	aUUID      kind = "uuid"
	aModel     kind = "model"
	aDevice    kind = "device"
	anInstance kind = "instance"
	aBoot      kind = "boot"
	aName      kind = "name"
)

// leastKey is how long a key must be, in bytes, for nobody to try them all.
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

// pseudonyms gives names. Two names never share one.
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

// Digits of pseudonyms: within one recording few are enough, and where two
// names would share them the second gets more. In a fleet nobody can look at all
// names, so that they must not meet by chance.
const (
	digitsOfOne   = 4
	digitsOfFleet = 10
)

// newPseudonyms takes the key of a fleet; nil makes a key that nobody keeps.
func newPseudonyms(key []byte) *pseudonyms {
	p := &pseudonyms{key: key, digits: digitsOfFleet, given: make(map[name]string), taken: make(map[string]name),
		ids: make(map[uint64]uint64), idOf: make(map[uint64]uint64)}
	if key == nil {
		p.key, p.digits = make([]byte, 32), digitsOfOne
		rand.Read(p.key) // never fails
	}
	return p
}

// digest is what a name comes to under the key.
func (p *pseudonyms) digest(k kind, text string) []byte {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte("tachograph " + string(k) + "\x00" + text))
	return mac.Sum(nil)
}

// of is the pseudonym of a name.
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

// Numbers of users and groups move here, beyond those that systems give, and stay
// in 31 bits.
const (
	idsFrom = 1 << 30
	idsMask = 1<<30 - 1
)

// id is the pseudonym of the number of a user or group. A user and a group of
// the same number have the same one, as they mostly belong together.
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

// ordinary are the lowest numbers of people: below them systems number their own
// users.
const (
	ordinaryDarwin = 500
	ordinaryLinux  = 1000
)

// systemID reports whether a number is one that systems give themselves:
// nobody's among them, in 16 bits, as -2 and as -1.
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

// idText maps such a number as text. What is none is no number.
func (m *Mapping) idText(s string) (string, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return "", false
	}
	return strconv.FormatUint(m.number(n), 10), true
}

// user maps the name of a user. One without a name goes by the number.
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

// host maps the name of a host, which a Mac says with and without its domain
// in the local network.
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
	return m.names.of(aThread, s) // a sentence that says it means the program
}

// learn gives a pseudonym and remembers that this name has it, for sentences.
func (m *Mapping) learn(k kind, s string) string {
	if m.names.made(s) {
		return s
	}
	p := m.names.of(k, s)
	m.remember(s, p)
	return p
}

// ranks say which of several kinds a name in a sentence most likely is: where the
// same name is a user's and a program's it must not depend on which was met first.
var ranks = []kind{aHost, aUser, aGroup, aVolume, aProcess}

func rank(p string) int {
	k, _, _ := strings.Cut(p, "-")
	if i := slices.Index(ranks, kind(k)); i >= 0 {
		return i
	}
	return len(ranks)
}

// mostLearned bounds what is remembered for sentences; a pseudonym that is not
// remembered is still given, as that of some name.
const mostLearned = 1 << 18

// remember notes what a name that is met in a sentence becomes. A name of a letter
// or two would hit by chance.
func (m *Mapping) remember(s, p string) {
	if utf8.RuneCountInString(s) < 3 || len(m.learned) >= mostLearned {
		return
	}
	if was, ok := m.learned[s]; !ok || rank(p) < rank(was) {
		m.learned[s] = p
		m.longest = max(m.longest, min(strings.Count(s, " ")+1, 16))
	}
}
