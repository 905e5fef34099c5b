package pcparchive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tachograph/cmd/internal/cli"
	"tachograph/sample/pcp"
	"tachograph/store/disk"
)

// Options say how an archive is written.
type Options struct {
	Label Label // Version is always 3, whatever it says
	// VolumeSize is the most that a volume holds, unless a single record is larger; 0 means a
	// little less than 2 GiB, which every program can read.
	VolumeSize int64
	// Force replaces an existing archive.
	Force bool
}

const (
	volumeSize = 2e9
	flushAt    = 512 << 10
	// indexEvery is how many bytes of values are between two entries of the index.
	indexEvery = 256 << 10
)

// A Writer writes an archive. Its files get their names when it is finished.
type Writer struct {
	base    string // the beginning of the final names
	opt     Options
	meta    *outFile
	index   *outFile
	volume  *outFile
	number  int // of volume
	parts   []*outFile
	last    int64 // the time of the last record
	any     bool
	indexAt int64 // where the last index entry points
	bytes   int64
}

// An outFile is a file that is being written.
type outFile struct {
	f      *os.File
	suffix string
	buf    []byte
	off    int64 // of the end of buf
	err    error
}

func (p *outFile) flush() {
	if p.err == nil && len(p.buf) > 0 {
		_, p.err = p.f.Write(p.buf)
	}
	p.buf = p.buf[:0]
}

// wrote notes that n bytes have been appended to buf.
func (p *outFile) wrote(n int) error {
	p.off += int64(n)
	if len(p.buf) >= flushAt {
		p.flush()
	}
	return p.err
}

// Create begins an archive with the files base.meta, base.index, base.0 and following.
func Create(base string, opt Options) (*Writer, error) {
	if opt.VolumeSize <= 0 {
		opt.VolumeSize = volumeSize
	}
	opt.Label.Version = 3
	w := &Writer{base: base, opt: opt}
	if !opt.Force {
		if have := Parts(base); len(have) > 0 {
			return nil, fmt.Errorf("%s exists: --force replaces the archive, -o names another", have[0])
		}
	}
	disk.Clear(base)
	var err error
	if w.meta, err = w.open("meta", metaVolume); err == nil {
		if w.index, err = w.open("index", indexVolume); err == nil {
			w.volume, err = w.open("0", 0)
		}
	}
	if err != nil {
		w.Abort()
		return nil, err
	}
	return w, nil
}

// Parts returns the existing files of the archive with that name.
func Parts(base string) []string {
	dir, name := filepath.Split(base)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), name+".")
		if !ok {
			continue
		}
		rest, _ = cutCompression(rest)
		if _, isVolume := volumeNumber(rest); isVolume || rest == "meta" || rest == "index" {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list
}

func volumeNumber(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == s
}

// scratch returns the name of a part until the archive is complete.
func (w *Writer) scratch(suffix string) string {
	return disk.Scratch(w.base) + ".tmp." + suffix
}

func (w *Writer) open(suffix string, volume int32) (*outFile, error) {
	f, err := disk.CreateScratch(w.scratch(suffix))
	if err != nil {
		return nil, w.wrong(err)
	}
	p := &outFile{f: f, suffix: suffix, buf: make([]byte, 0, flushAt+1<<17)}
	w.parts = append(w.parts, p)
	p.buf = appendLabel(p.buf, &w.opt.Label, volume)
	return p, p.wrote(labelSize3)
}

// wrong returns an error with the archive's name instead of the temporary one.
func (w *Writer) wrong(err error) error {
	return fmt.Errorf("cannot write %s: %w", w.base, cli.Cause(err))
}

func appendLabel(b []byte, l *Label, volume int32) []byte {
	b = binary.BigEndian.AppendUint32(b, labelSize3)
	b = binary.BigEndian.AppendUint32(b, magic3)
	b = binary.BigEndian.AppendUint32(b, uint32(l.PID))
	b = appendTime(b, l.Start)
	b = binary.BigEndian.AppendUint32(b, uint32(volume))
	b = append(b, make([]byte, 8)...) // features, reserved
	for _, s := range []string{l.Host, l.TZ, l.Zone} {
		var field [256]byte
		copy(field[:255], s)
		b = append(b, field[:]...)
	}
	return binary.BigEndian.AppendUint32(b, labelSize3)
}

// begin appends the head of a metadata record and returns where the record begins.
func (w *Writer) begin(kind uint32) int {
	at := len(w.meta.buf)
	w.meta.buf = binary.BigEndian.AppendUint32(w.meta.buf, 0)
	w.word(kind)
	return at
}

func (w *Writer) word(v uint32) { w.meta.buf = binary.BigEndian.AppendUint32(w.meta.buf, v) }

// end completes the record that begins at at.
func (w *Writer) end(at int) error {
	n := len(w.meta.buf) + 4 - at
	w.word(uint32(n))
	binary.BigEndian.PutUint32(w.meta.buf[at:], uint32(n))
	if err := w.meta.wrote(n); err != nil {
		return w.wrong(err)
	}
	return nil
}

// Desc writes the description of a metric, once and before its first values.
func (w *Writer) Desc(d *Desc) error {
	at := w.begin(typeDesc)
	for _, v := range []uint32{d.PMID, uint32(d.Type), d.InDom, uint32(d.Semantics), d.Units, uint32(len(d.Names))} {
		w.word(v)
	}
	for _, name := range d.Names {
		w.word(uint32(len(name)))
		w.meta.buf = append(w.meta.buf, name...)
	}
	return w.end(at)
}

// Text writes the help of a metric: a line, and the full text.
func (w *Writer) Text(pmid uint32, line, help string) error {
	if err := w.text(textLine|textPMID, pmid, line); err != nil {
		return err
	}
	return w.text(textHelp|textPMID, pmid, help)
}

func (w *Writer) text(kind, ident uint32, text string) error {
	if text = pcp.Cut(text); text == "" {
		return nil
	}
	at := w.begin(typeText)
	w.word(kind)
	w.word(ident)
	w.meta.buf = append(append(w.meta.buf, text...), 0)
	return w.end(at)
}

// InDom writes the instances of a domain from a time on: all of them, in the order of their
// numbers, or, if delta, those that came and those that have gone. If an instance gets another
// name, all must be written.
func (w *Writer) InDom(when int64, indom uint32, list []Instance, delta bool) error {
	kind := uint32(typeIndom3)
	if delta {
		kind = typeIndomDelta
	}
	at := w.begin(kind)
	w.meta.buf = appendTime(w.meta.buf, when)
	w.word(indom)
	w.word(uint32(len(list)))
	for i := range list {
		w.word(list[i].ID)
	}
	off := uint32(0)
	for i := range list {
		if list[i].Gone {
			w.word(pcp.Null)
			continue
		}
		w.word(off)
		off += uint32(len(list[i].Name)) + 1
	}
	for i := range list {
		if !list[i].Gone {
			w.meta.buf = append(append(w.meta.buf, list[i].Name...), 0)
		}
	}
	return w.end(at)
}

// Labels writes the labels of a thing from a time on: kind is its kind, ident its number.
func (w *Writer) Labels(when int64, kind int, ident uint32, sets []LabelSet) error {
	at := w.begin(typeLabels3)
	w.meta.buf = appendTime(w.meta.buf, when)
	w.word(uint32(kind))
	w.word(ident)
	w.word(uint32(len(sets)))
	for i := range sets {
		s := &sets[i]
		w.word(s.Instance)
		w.word(uint32(len(s.JSON)))
		w.meta.buf = append(w.meta.buf, s.JSON...)
		w.word(uint32(len(s.Refs)))
		for _, r := range s.Refs {
			w.word(uint32(r.Name)<<16 | uint32(r.NameLen)<<8 | uint32(r.Flags))
			w.word(uint32(r.Value)<<16 | uint32(r.ValueLen))
		}
	}
	return w.end(at)
}

// Finish completes the archive and gives its files their names.
func (w *Writer) Finish() (bytes int64, err error) {
	defer w.Abort()
	if err := w.point(w.last); err != nil {
		return 0, err
	}
	for _, p := range w.parts {
		p.flush()
		if err := errors.Join(p.err, p.f.Sync()); err != nil {
			return 0, w.wrong(err)
		}
		w.bytes += p.off
	}
	if w.opt.Force {
		for _, path := range Parts(w.base) {
			if err := os.Remove(path); err != nil {
				return 0, w.wrong(err)
			}
		}
	}
	// The index comes last, because programs look for the archive only if it exists.
	for _, p := range append(w.parts[2:], w.parts[0], w.parts[1]) {
		if err := os.Rename(w.scratch(p.suffix), w.base+"."+p.suffix); err != nil {
			return 0, w.wrong(err)
		}
	}
	for _, p := range w.parts {
		_ = p.f.Close()
	}
	w.parts = nil
	return w.bytes, nil
}

// Abort removes everything that was written. After Finish it does nothing.
func (w *Writer) Abort() {
	for _, p := range w.parts {
		_ = p.f.Close()
		_ = os.Remove(p.f.Name())
	}
	w.parts = nil
}
