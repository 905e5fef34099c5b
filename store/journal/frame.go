package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"tachograph/sample/metric"
	"tachograph/store/varint"
)

// A journal file is a magic number, a header frame and record frames. A frame is the length of
// its body (an unsigned LEB128 number, at least 1), the body, and a CRC-32C in four bytes, low
// byte first. The checksum of a frame continues the one of the frame before, so that a frame is
// sound only behind its true predecessors.
const (
	magic    = "TACHOJN1"
	crcSize  = 4
	maxFrame = 1 << 26
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header says what a journal file belongs to.
type Header struct {
	// Archive is the ID of the archive beside the journal.
	Archive string
	// Generation counts the archive's journal files from 1.
	Generation uint64
	// Base is the sequence number before the file's first record.
	Base uint64
	At   metric.Stamp
	// together says that one model codes the rows of all classes, as in version 2.
	together bool
}

// headerVersion is the version of the format that is written; togetherVersion is read, too.
const (
	headerVersion   = 3
	togetherVersion = 2
)

// appendMark appends the mark behind the last frame, whose checksum is crc: a zero byte, where
// the length of another frame would be, and that checksum.
func appendMark(out []byte, crc uint32) []byte {
	return binary.LittleEndian.AppendUint32(append(out, 0), crc)
}

// MarkSize is the length of a mark.
const MarkSize = 1 + crcSize

// ErrNotJournal means that a file does not begin as a journal does.
var ErrNotJournal = errors.New("not a journal")

func appendHeader(out []byte, h Header) ([]byte, uint32) {
	out = append(out, magic...)
	body := binary.AppendUvarint(nil, headerVersion)
	body = binary.AppendUvarint(body, h.Generation)
	body = binary.AppendUvarint(body, h.Base)
	for _, v := range []int64{h.At.Wall, h.At.Awake, h.At.Cont} {
		body = binary.AppendVarint(body, v)
	}
	body = binary.AppendUvarint(body, uint64(len(h.Archive)))
	body = append(body, h.Archive...)
	return appendFrame(out, crc32.Checksum([]byte(magic), castagnoli), body)
}

// appendFrame appends the frame of body behind one whose checksum is crc.
func appendFrame(out []byte, crc uint32, body []byte) ([]byte, uint32) {
	out = binary.AppendUvarint(out, uint64(len(body)))
	out = append(out, body...)
	crc = crc32.Update(crc, castagnoli, body)
	return binary.LittleEndian.AppendUint32(out, crc), crc
}

// errShort means that a frame is longer than what has been read.
var errShort = errors.New("frame goes on")

// errBadFrame means that there are other bytes where a frame should be.
var errBadFrame = errors.New("bytes that are no frame")

// cutFrame finds the frame at the start of in, behind a frame whose checksum is crc. It returns
// the frame's body, its length in the file and its checksum.
func cutFrame(in []byte, crc uint32) (body []byte, size int, sum uint32, err error) {
	n, k := binary.Uvarint(in)
	switch {
	case k < 0 || k > 0 && (n == 0 || n > maxFrame):
		return nil, 0, 0, errBadFrame
	case k == 0 || len(in) < k+int(n)+crcSize:
		return nil, k + int(n) + crcSize, 0, errShort
	}
	body = in[k : k+int(n)]
	sum = crc32.Update(crc, castagnoli, body)
	if binary.LittleEndian.Uint32(in[k+int(n):]) != sum {
		return nil, 0, 0, errBadFrame
	}
	return body, k + int(n) + crcSize, sum, nil
}

func parseHeader(body []byte) (h Header, err error) {
	r := varint.Reader{In: body}
	version := r.Uvarint()
	if version != headerVersion && version != togetherVersion {
		return Header{}, fmt.Errorf("journal format %d, this program reads %d", version, headerVersion)
	}
	h = Header{together: version == togetherVersion, Generation: r.Uvarint(), Base: r.Uvarint()}
	h.At = metric.Stamp{Wall: r.Varint(), Awake: r.Varint(), Cont: r.Varint()}
	h.Archive = r.String()
	if r.Bad {
		return Header{}, ErrNotJournal
	}
	return h, nil
}
