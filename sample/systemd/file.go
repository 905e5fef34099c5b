package systemd

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"sort"
)

// What reading costs at most.
const (
	// MaxField is the longest value of a field that is returned; the rest is cut off.
	MaxField = 64 << 10
	// maxPacked is how much of a compressed field is read.
	maxPacked = 128 << 10
	// maxName is the longest name of a field that journald accepts.
	maxName = 64
	// maxItems is the largest number of fields that journald accepts in an entry.
	maxItems = 1024
	// maxEntryBytes is what is read and unpacked for the fields of one entry.
	maxEntryBytes = 16 << 20
	// maxArrays is the longest chain of arrays. As each array has twice the room of the one
	// before, a sound file has fewer.
	maxArrays = 64
)

var (
	// ErrNotJournal is of a file that is no journal, or one that journald has not finished to create.
	ErrNotJournal = errors.New("not a journal file")
	// ErrNewer is of a file in a format that a newer journald has brought.
	ErrNewer = errors.New("a journal file in a format that is not known")

	errDamaged = errors.New("the journal file is damaged")
	errCostly  = errors.New("an entry costs too much to read")
)

// ID is a number of 128 bits: of a boot, of a kind of message, of a sequence.
type ID [16]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText writes the digits.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads 32 digits.
func (id *ID) UnmarshalText(text []byte) error {
	got, ok := parseID(string(text))
	if !ok {
		return errors.New("not 32 hexadecimal digits")
	}
	*id = got
	return nil
}

func parseID(s string) (id ID, ok bool) {
	if len(s) != 32 {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(s))
	return id, err == nil
}

// The parts of the format that are read. Everything is little-endian.
const (
	signature   = "LPKSHHRH"
	headerLeast = 208 // of the first version
	headerRead  = 208 // newer versions have added nothing that is needed here

	// What a file needs of a reader. Objects have flags of their own.
	hasXZ, hasLZ4, isKeyed, hasZSTD, isCompact = 1, 2, 4, 8, 16
	isXZ, isLZ4, isZSTD                        = 1, 2, 4

	objectHead                          = 16
	typeData, typeEntry, typeEntryArray = 1, 3, 6
)

// header is what is read of a file's header.
type header struct {
	end                 uint64 // of what may be read
	compact             bool
	file, sequence      ID
	first               uint64 // array of entries
	entries             uint64
	firstSeq, lastSeq   uint64
	firstTime, lastTime uint64 // microseconds since 1970
}

func parseHeader(b []byte) (h header, err error) {
	if len(b) < headerRead || string(b[:8]) != signature {
		return h, ErrNotJournal
	}
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	flags := binary.LittleEndian.Uint32(b[12:])
	if flags&^(hasXZ|hasLZ4|isKeyed|hasZSTD|isCompact) != 0 {
		return h, ErrNewer
	}
	size, arena := u64(88), u64(96)
	const most = 1 << 50
	if size < headerLeast || size > most || arena > most {
		return h, ErrNotJournal
	}
	h = header{
		end: size + arena, compact: flags&isCompact != 0,
		first: u64(176), entries: u64(152), lastSeq: u64(160), firstSeq: u64(168), firstTime: u64(184), lastTime: u64(192),
	}
	copy(h.file[:], b[24:])
	copy(h.sequence[:], b[72:])
	return h, nil
}

// File reads a journal file, which may be written at the same time.
type File struct {
	r       io.ReaderAt
	wanted  map[string]bool
	memory  *memory
	head    header
	entries int
	arrays  []entryArray
	fields  map[uint64]field // by the offset of the object
	spent   int64            // bytes read and unpacked
	charged int64            // those that a look has counted
}

// entryArray is a part of the list of entries.
type entryArray struct {
	at    uint64 // of the object
	first int    // number of the first entry
	room  int
}

// newFile reads the header. Of entries it will read the wanted fields.
func newFile(r io.ReaderAt, wanted map[string]bool, m *memory) (*File, error) {
	f := &File{r: r, wanted: wanted, memory: m, fields: make(map[uint64]field)}
	head, err := f.readHeader()
	if err != nil {
		return nil, err
	}
	f.adopt(head)
	return f, nil
}

func (f *File) readHeader() (header, error) {
	var b [headerRead]byte
	n, err := f.r.ReadAt(b[:], 0)
	f.spent += int64(n)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = ErrNotJournal
		}
		return header{}, err
	}
	return parseHeader(b[:])
}

// Refresh looks for entries that were added, and says whether there are any.
func (f *File) Refresh() (bool, error) {
	head, err := f.readHeader()
	if err != nil {
		return false, err
	}
	if head.file != f.head.file {
		return false, errDamaged
	}
	if head.entries == f.head.entries {
		return false, nil
	}
	before := f.entries
	f.adopt(head)
	return f.entries > before, nil
}

// adopt takes a header and finds the arrays that it needs.
func (f *File) adopt(head header) {
	f.head = head
	f.memory.forget(f)
	room := 0
	if n := len(f.arrays); n > 0 {
		room = f.arrays[n-1].first + f.arrays[n-1].room
	}
	for uint64(room) < head.entries && len(f.arrays) < maxArrays {
		at := head.first
		if n := len(f.arrays); n > 0 {
			next, err := f.word(f.arrays[n-1].at + objectHead)
			// Objects are only ever added at the end.
			if err != nil || next <= f.arrays[n-1].at {
				break
			}
			at = next
		}
		size, _, err := f.object(at, typeEntryArray, objectHead+8)
		if err != nil {
			break
		}
		n := int((size - objectHead - 8) / f.itemSize())
		f.arrays = append(f.arrays, entryArray{at: at, first: room, room: n})
		room += n
	}
	f.entries = int(min(head.entries, uint64(room)))
}

func (f *File) itemSize() uint64 {
	if f.head.compact {
		return 4
	}
	return 8
}

// Len is the number of entries.
func (f *File) Len() int { return f.entries }

// Sequence is that of the entries' numbers.
func (f *File) Sequence() ID { return f.head.sequence }

// object returns the size and the flags of the object at an offset, which must be of a type, not smaller than
// least, and within the file.
func (f *File) object(at uint64, kind byte, least uint64) (size uint64, flags byte, err error) {
	b, err := f.read(at, objectHead)
	if err != nil {
		return 0, 0, err
	}
	size = binary.LittleEndian.Uint64(b[8:])
	if b[0] != kind || at%8 != 0 || size < least || size > f.head.end-at {
		return 0, 0, errDamaged
	}
	return size, b[1], nil
}

// read returns n bytes, which are valid until the next read; at most blockSize.
func (f *File) read(at uint64, n int) ([]byte, error) {
	if at < headerLeast || at > f.head.end || uint64(n) > f.head.end-at {
		return nil, errDamaged
	}
	return f.memory.read(f, at, n)
}

func (f *File) word(at uint64) (uint64, error) {
	b, err := f.read(at, 8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// offset is where an entry is.
func (f *File) offset(i int) (uint64, error) {
	if i < 0 || i >= f.entries {
		return 0, errDamaged
	}
	k := sort.Search(len(f.arrays), func(k int) bool { return f.arrays[k].first > i }) - 1
	a := f.arrays[k]
	size := f.itemSize()
	return f.item(a.at + objectHead + 8 + uint64(i-a.first)*size)
}

// item reads an offset as arrays and entries of this file have them.
func (f *File) item(at uint64) (uint64, error) {
	b, err := f.read(at, int(f.itemSize()))
	if err != nil {
		return 0, err
	}
	if f.head.compact {
		return uint64(binary.LittleEndian.Uint32(b)), nil
	}
	return binary.LittleEndian.Uint64(b), nil
}

// Stamp is where an entry belongs: in its sequence, and in time.
type Stamp struct {
	Seq       uint64
	Received  uint64 // by journald, in microseconds since 1970
	Monotonic uint64 // the same in microseconds of the boot
	Boot      ID
}

const entryHead = 64

// Stamp reads that of an entry.
func (f *File) Stamp(i int) (s Stamp, err error) {
	at, err := f.offset(i)
	if err != nil {
		return s, err
	}
	if _, _, err := f.object(at, typeEntry, entryHead); err != nil {
		return s, err
	}
	b, err := f.read(at, entryHead)
	if err != nil {
		return s, err
	}
	s.Seq, s.Received, s.Monotonic = binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:]), binary.LittleEndian.Uint64(b[32:])
	copy(s.Boot[:], b[40:])
	return s, nil
}

// After is the number of the first entry that comes after one of the same sequence. Where entries
// cannot be read it is one before that.
func (f *File) After(seq uint64) int {
	return sort.Search(f.entries, func(i int) bool {
		s, err := f.Stamp(i)
		return err != nil || s.Seq > seq
	})
}

// Since is the number of the first entry that was received at a time or later.
func (f *File) Since(micros uint64) int {
	return sort.Search(f.entries, func(i int) bool {
		s, err := f.Stamp(i)
		return err != nil || s.Received >= micros
	})
}

// field is a field of an entry. Entries share those that are equal.
type field struct{ name, value string }

// maxFields is how many fields are kept for other entries, and longestKept the longest value that
// is. Most entries share all of theirs but the message.
const (
	maxFields   = 512
	longestKept = 128
)

// Fields reads the wanted fields of an entry into a map: the first of those that have the same name.
// What cannot be read is left out; the error is of the last such field.
func (f *File) Fields(i int, into map[string]string) error {
	at, err := f.offset(i)
	if err != nil {
		return err
	}
	size, _, err := f.object(at, typeEntry, entryHead)
	if err != nil {
		return err
	}
	step := f.itemSize()
	if !f.head.compact {
		step = 16 // a hash follows
	}
	var problem error
	before := f.spent
	for k := range min((size-entryHead)/step, maxItems) {
		if f.spent-before > maxEntryBytes {
			return errCostly
		}
		data, err := f.item(at + entryHead + k*step)
		if err != nil {
			return err
		}
		got, kept := f.fields[data]
		if !kept {
			if got, err = f.field(data); err != nil {
				problem = err
				continue
			}
			if len(got.value) <= longestKept {
				if len(f.fields) >= maxFields {
					clear(f.fields)
				}
				f.fields[data] = got
			}
		}
		if _, twice := into[got.name]; got.name != "" && !twice {
			into[got.name] = got.value
		}
	}
	return problem
}

// field reads a DATA object: its name and value, or nothing where the name is not wanted.
func (f *File) field(at uint64) (field, error) {
	start := uint64(64)
	if f.head.compact {
		start = 72
	}
	size, flags, err := f.object(at, typeData, start)
	if err != nil {
		return field{}, err
	}
	payload := func(limit int) ([]byte, error) {
		if flags == 0 {
			return f.long(at+start, int(min(size-start, uint64(limit))))
		}
		packed, err := f.long(at+start, int(min(size-start, maxPacked)))
		if err != nil {
			return nil, err
		}
		return f.memory.unpack(f, flags, packed, limit)
	}
	text, err := payload(maxName + 1)
	if err != nil {
		return field{}, err
	}
	name := text[:len(text):len(text)]
	for n, c := range name {
		if c == '=' {
			name = name[:n]
			break
		}
	}
	if len(name) == len(text) {
		return field{}, errDamaged
	}
	if !f.wanted[string(name)] {
		return field{}, nil
	}
	kept := string(name)
	if text, err = payload(len(kept) + 1 + MaxField); err != nil {
		return field{}, err
	}
	return field{name: kept, value: string(text[len(kept)+1:])}, nil
}

// long returns n bytes, however many.
func (f *File) long(at uint64, n int) ([]byte, error) {
	if n <= blockSize {
		return f.read(at, n)
	}
	if at < headerLeast || at > f.head.end || uint64(n) > f.head.end-at {
		return nil, errDamaged
	}
	return f.memory.readLong(f, at, n)
}
