package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/cmd/internal/cli"
	"tachograph/store/storetest/proof"
)

// Pictures of descriptions are the same bytes every time.
func TestPlotPicture(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ golden, question string }{
		{"plot-fleet.svg", "plot mem.util.used disk.dev.read --host laptop --archive testdata/fleet.txt"},
		{"plot-mac.svg", "plot kernel.all.cpu.user filesys.full --dark --size 900x420 --archive testdata/mac.txt"},
	} {
		t.Run(c.golden, func(t *testing.T) {
			got, errs, status := replay(openText, append(words(c.question), "--utc", "-o", "-")...)
			if status != cli.Yes {
				t.Fatalf("status %d: %s", status, errs)
			}
			wellFormed(t, got)
			path := filepath.Join("testdata", c.golden)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil || string(want) != got {
				t.Errorf("%s differs (go test -update writes it anew): %v, %s", path, err, firstDifference(string(want), got))
			}
			dir := t.TempDir()
			file := filepath.Join(dir, "x.svg")
			if _, errs, status := replay(openText, append(words(c.question), "--utc", "-o", file)...); status != cli.Yes || !strings.Contains(errs, "x.svg: ") {
				t.Fatalf("status %d: %s", status, errs)
			}
			if written, err := os.ReadFile(file); err != nil || string(written) != got {
				t.Errorf("the file is another one: %v", err)
			}
			if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
				t.Errorf("beside it lies %v", list)
			}
		})
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && !strings.Contains("svg title rect path text", e.Name.Local) {
			t.Fatalf("there is an element %s", e.Name.Local)
		}
	}
}

func TestPlotPNG(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	question := words("plot mem.util.used disk.dev.read --archive testdata/fleet.txt --utc --size 640x480 --png -o -")
	got, errs, status := replay(openText, question...)
	if status != cli.Yes {
		t.Fatalf("status %d: %s", status, errs)
	}
	picture, err := png.Decode(bytes.NewReader([]byte(got)))
	if err != nil {
		t.Fatal(err)
	}
	if b := picture.Bounds(); b.Dx() != 640 || b.Dy() != 480 {
		t.Errorf("it is %v", b)
	}
	again, _, _ := replay(openText, question...)
	if again != got {
		t.Error("the same question makes another picture")
	}
}

func TestPlotPictureRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct{ flags, want string }{
		{"-o x.jpg", "a picture ends in .svg or .png"},
		{"-o x", "a picture ends in .svg or .png"},
		{"-o x.svg --png", "with --png it ends in .png"},
		{"-o x.svg --size 12", "write width x height"},
		{"-o x.svg --size 10x10", "no size for a picture"},
		{"-o x.svg --size 600x100x3", "write width x height"},
		{"-o x.svg --size 600x130", "has no room for 2 panels: make it 272 high, or ask for fewer"},
		{"-o x.svg --size 600x-3", "write width x height"},
		{"-o x.svg --size 99999999999999999999x3", "write width x height"},
		{"-o x.svg --height 3", "--size says"},
		{"--dark", "name its file with --output"},
		{"-o gone/x.svg", "gone/x.svg"},
	} {
		t.Run(c.flags, func(t *testing.T) {
			flags := strings.Replace(c.flags, "-o ", "-o "+dir+"/", 1)
			_, errs, status := replay(openText, append(words("plot mem.util.used kernel.all.load --archive testdata/mac.txt"), words(flags)...)...)
			if status != cli.Failed || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
				t.Errorf("status %d: %s", status, errs)
			}
			if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
				t.Errorf("there lies %v", list)
			}
		})
	}
}
