package parquet

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"tachograph/sample"
)

// A row group is kept in memory until it is written.
const (
	groupRows = 1 << 20
	groupText = 16 << 20 // bytes of words
	pageRows  = 1 << 20
)

const magic = "PAR1"

// A file is a Parquet file that is being written.
type file struct {
	w       io.Writer
	at      int64
	columns []*column
	sorted  []int // the columns that rows are sorted by
	meta    format.FileMetaData
	zstd    *zstd.Encoder
	raw     []byte
	packed  []byte
}

// newFile begins a file whose rows are sorted by some of its columns.
func newFile(w io.Writer, columns []*column, sorted ...int) (*file, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	f := &file{w: w, columns: columns, sorted: sorted, zstd: z}
	f.meta.Version, f.meta.CreatedBy = 2, "tachograph replay "+sample.Version()
	root := format.SchemaElement{Name: "schema", NumChildren: thrift.New(int32(len(columns)))}
	f.meta.Schema = append(f.meta.Schema, root)
	for _, c := range columns {
		f.meta.Schema = append(f.meta.Schema, c.schema())
		f.meta.ColumnOrders = append(f.meta.ColumnOrders, format.ColumnOrder{Value: new(format.TypeDefinedOrder)})
	}
	return f, f.write([]byte(magic))
}

func (f *file) write(b []byte) error {
	n, err := f.w.Write(b)
	f.at += int64(n)
	return err
}

// rows returns how many rows the row group has so far.
func (f *file) rows() int { return f.columns[0].rows }

// room returns how many rows still fit into the row group. If it is full, room writes it first.
func (f *file) room() (int, error) {
	words := 0
	for _, c := range f.columns {
		words += c.size
	}
	if f.rows() >= groupRows || words >= groupText {
		if err := f.flush(); err != nil {
			return 0, err
		}
	}
	return groupRows - f.rows(), nil
}

// flush writes the row group.
func (f *file) flush() error {
	rows := f.rows()
	if rows == 0 {
		return nil
	}
	g := format.RowGroup{NumRows: int64(rows), FileOffset: f.at, Ordinal: int16(len(f.meta.RowGroups))}
	for _, i := range f.sorted {
		g.SortingColumns = append(g.SortingColumns, format.SortingColumn{ColumnIdx: int32(i)})
	}
	for _, c := range f.columns {
		m, err := f.chunk(c)
		if err != nil {
			return err
		}
		g.Columns = append(g.Columns, format.ColumnChunk{MetaData: m})
		g.TotalByteSize += m.TotalUncompressedSize
		g.TotalCompressedSize += m.TotalCompressedSize
		c.reset()
	}
	f.meta.NumRows += int64(rows)
	f.meta.RowGroups = append(f.meta.RowGroups, g)
	return nil
}

// chunk writes a column's values in the row group.
func (f *file) chunk(c *column) (m format.ColumnMetaData, err error) {
	m = format.ColumnMetaData{Type: c.physical(), PathInSchema: []string{c.name}, Codec: format.Zstd, NumValues: int64(c.rows), Statistics: c.statistics()}
	m.Encoding = append(m.Encoding, c.encoding(), format.RLE)
	if c.kind == text {
		m.Encoding = append(m.Encoding, format.Plain)
		m.DictionaryPageOffset = f.at
		h := format.PageHeader{Type: format.DictionaryPage,
			DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(len(c.list)), Encoding: format.Plain})}
		f.raw = c.dictionary(f.raw[:0])
		if err := f.page(h, &m); err != nil {
			return m, err
		}
	}
	m.DataPageOffset = f.at
	h := format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{NumValues: int32(c.rows), Encoding: c.encoding(),
		DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})}
	f.raw = c.page(f.raw[:0])
	return m, f.page(h, &m)
}

// page writes the page in f.raw after its header.
func (f *file) page(h format.PageHeader, m *format.ColumnMetaData) error {
	f.packed = f.zstd.EncodeAll(f.raw, f.packed[:0])
	h.UncompressedPageSize, h.CompressedPageSize = int32(len(f.raw)), int32(len(f.packed))
	h.CRC = int32(crc32.ChecksumIEEE(f.packed))
	head, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		return err
	}
	m.TotalUncompressedSize += int64(len(head) + len(f.raw))
	m.TotalCompressedSize += int64(len(head) + len(f.packed))
	if err := f.write(head); err != nil {
		return err
	}
	return f.write(f.packed)
}

// close writes the last row group and the footer.
func (f *file) close() error {
	if err := f.flush(); err != nil {
		return err
	}
	foot, err := thrift.Marshal(new(thrift.CompactProtocol), &f.meta)
	if err != nil {
		return err
	}
	foot = binary.LittleEndian.AppendUint32(foot, uint32(len(foot)))
	return f.write(append(foot, magic...))
}
