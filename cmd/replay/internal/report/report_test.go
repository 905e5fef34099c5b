package report

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// mac is the archive of twenty minutes of a MacBook.
func mac(t *testing.T) query.Archive {
	t.Helper()
	parts, err := querytest.Load("../../testdata/mac.txt")
	if err != nil {
		t.Fatal(err)
	}
	return querytest.New(parts...)
}

func collect(t *testing.T, a query.Archive, r Request) *Page {
	t.Helper()
	r.Host = a.Hosts()[0].ID
	p, err := Collect(context.Background(), a, r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestData reads a page's data as the page does.
func TestData(t *testing.T) {
	p := collect(t, mac(t), Request{})
	var html, data bytes.Buffer
	if err := p.WriteHTML(&html); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteData(&data); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(html.String(), `<div id="data" hidden>`)
	held, _, _ := strings.Cut(rest, "</div>")
	if raw, err := base64.StdEncoding.DecodeString(held); err != nil || !bytes.Equal(raw, data.Bytes()) {
		t.Fatalf("the page holds other data than WriteData writes (%v)", err)
	}
	raw, err := io.ReadAll(flate.NewReader(&data))
	if err != nil {
		t.Fatal(err)
	}
	n := binary.LittleEndian.Uint32(raw)
	var doc struct {
		document
		Ends []int `json:"ends"`
	}
	if err := json.Unmarshal(raw[4:4+n], &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Plots) == 0 || doc.Plots[0].ID != "cpu" || len(doc.Ends) == 0 || doc.Ends[len(doc.Ends)-1] != len(raw)-4-int(n) {
		t.Errorf("plots %v, ends %v of %d bytes", doc.Plots, doc.Ends, len(raw)-4-int(n))
	}
}
