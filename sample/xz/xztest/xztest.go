// Package xztest packs texts for the tests of those that unpack them.
package xztest

import (
	"bytes"
	"testing"

	"github.com/ulikunitz/xz"
)

// Pack returns an .xz stream of text, in blocks of that many bytes; 0: in one.
func Pack(t testing.TB, text []byte, block int64) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := xz.WriterConfig{CheckSum: xz.CRC32, DictCap: 1 << 18, BlockSize: block}.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
