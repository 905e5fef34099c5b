package clickhouse

import (
	"encoding/binary"

	"tachograph/sample/metric"
)

// RowBinary is a row without names and separators: integers in little-endian order, texts after
// their length.

func appendText(b []byte, s string) []byte {
	if len(s) < 0x80 {
		return append(append(b, byte(len(s))), s...)
	}
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendU32(b []byte, x uint32) []byte { return binary.LittleEndian.AppendUint32(b, x) }
func appendU64(b []byte, x uint64) []byte { return binary.LittleEndian.AppendUint64(b, x) }
func appendI64(b []byte, x int64) []byte  { return binary.LittleEndian.AppendUint64(b, uint64(x)) }

func appendTexts(b []byte, texts []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(texts)))
	for _, s := range texts {
		b = appendText(b, s)
	}
	return b
}

// appendLabels appends labels as their two columns.
func appendLabels(b []byte, labels []metric.Label) []byte {
	b = binary.AppendUvarint(b, uint64(len(labels)))
	for _, l := range labels {
		b = appendText(b, l.Name)
	}
	b = binary.AppendUvarint(b, uint64(len(labels)))
	for _, l := range labels {
		b = appendText(b, l.Value)
	}
	return b
}

// second returns a wall clock as a DateTime, which begins in 1970 and ends in 2106.
func second(wall int64) uint32 {
	return uint32(min(max(wall/1e9, 0), 1<<32-1))
}
