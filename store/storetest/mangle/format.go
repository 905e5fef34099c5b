package mangle

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
)

// packSize is where a pack of columns ends; see FORMAT.md.
const packSize = 512

// chunkPart is a part of a chunk, and where in the directory its checksum is.
type chunkPart struct{ at, len, sum int }

// parts reads the directory of a chunk as FORMAT.md describes it, with hardly any checks: either
// the chunk is as a recorder wrote it, or the list of parts ends early.
func parts(dir []byte, at int) (list []chunkPart) {
	defer func() { _ = recover() }()
	pos := 0
	number := func() int {
		v, n := binary.Uvarint(dir[pos:])
		pos += n
		return int(v)
	}
	text := func() { n := number(); pos += n }
	add := func(n int) {
		list = append(list, chunkPart{at, n, pos})
		pos += 4
		at += n
	}
	pos++
	number()
	add(number())
	for n := number(); n > 0; n-- {
		text()
	}
	number()
	add(number())
	for groups := number(); groups > 0; groups-- {
		text()
		text()
		cols := number()
		for range cols {
			number()
		}
		number()
		number()
		for range 6 {
			add(number())
		}
		sum := 0
		for i := range cols {
			sum += number()
			if sum >= packSize || sum > 0 && i == cols-1 {
				add(sum)
				sum = 0
			}
		}
	}
	return list
}

// remake changes a chunk's directory or one of its parts, and sets the
// checksums right.
func (m *mangler) remake(data []byte) []byte {
	size, n := binary.Uvarint(data[1:])
	from := 1 + n
	end := from + int(size)
	if n <= 0 || end+4 > len(data) {
		return m.bytes(data)
	}
	list := parts(data[from:end], end+4)
	if len(list) == 0 || m.rnd.IntN(4) == 0 {
		dir := m.bytes(data[from:end])
		out := binary.AppendUvarint([]byte{data[0]}, uint64(len(dir)))
		out = append(out, dir...)
		out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
		return append(out, data[end+4:]...)
	}
	for range 1 + m.rnd.IntN(3) {
		p := list[m.rnd.IntN(len(list))]
		if p.len == 0 || p.at+p.len > len(data) {
			continue
		}
		part := data[p.at : p.at+p.len]
		copy(part, append(m.bytes(part), make([]byte, p.len)...)[:p.len])
		binary.LittleEndian.PutUint32(data[from+p.sum:], crc32.Checksum(part, castagnoli))
	}
	binary.LittleEndian.PutUint32(data[end:], crc32.Checksum(data[:end], castagnoli))
	return data
}

// journal changes bodies of frames and sets their checksums right, each of which continues the
// one before.
func (m *mangler) journal(path string) error {
	const magic = "TACHOJN1"
	b, err := os.ReadFile(path)
	if err != nil || len(b) < len(magic) {
		return err
	}
	var bodies [][]byte
	for at := len(magic); at < len(b); {
		n, k := binary.Uvarint(b[at:])
		if k <= 0 || n == 0 || n > uint64(len(b)-at-k) {
			break
		}
		bodies = append(bodies, b[at+k:at+k+int(n)])
		at += k + int(n) + 4
	}
	if len(bodies) == 0 {
		return nil
	}
	for range 1 + m.rnd.IntN(3) {
		i := m.rnd.IntN(len(bodies))
		switch m.rnd.IntN(6) {
		case 0:
			bodies[i] = append(bodies[i][:1:1], bytes.Repeat([]byte{byte(m.rnd.Uint32())}, m.rnd.IntN(4096))...)
		case 1:
			noise := make([]byte, m.rnd.IntN(512))
			for k := range noise {
				noise[k] = byte(m.rnd.Uint32())
			}
			bodies[i] = append(bodies[i][:1:1], noise...)
		case 2:
			bodies = append(bodies, bodies[i])
		default:
			bodies[i] = m.bytes(bodies[i])
		}
	}
	m.note("journal %d frames", len(bodies))
	out := []byte(magic)
	sum := crc32.Checksum(out, castagnoli)
	for _, body := range bodies {
		if len(body) == 0 {
			continue
		}
		out = append(binary.AppendUvarint(out, uint64(len(body))), body...)
		sum = crc32.Update(sum, castagnoli, body)
		out = binary.LittleEndian.AppendUint32(out, sum)
	}
	return os.WriteFile(path, out, 0o600)
}
