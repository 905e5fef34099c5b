package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/picture"
	"tachograph/cmd/replay/internal/plot"
)

func (f *pictureFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&f.path, "output", "o", "", "write a picture: a file that ends in .svg or .png, or - for the standard output")
	fl.StringVar(&f.size, "size", "", "how large the picture is, such as 1200x600 (default 1200 wide, as high as its panels)")
	fl.BoolVar(&f.png, "png", false, "with -o -: PNG")
	fl.BoolVar(&f.dark, "dark", false, "on a dark ground")
}

// check refuses invalid flags before anything is read.
func (f *pictureFlags) check(cmd *cobra.Command) error {
	fl := cmd.Flags()
	if f.path == "" {
		for _, name := range []string{"size", "png", "dark"} {
			if fl.Changed(name) {
				return fmt.Errorf("--%s is of a picture: name its file with --output", name)
			}
		}
		return nil
	}
	if fl.Changed("height") {
		return fmt.Errorf("--height is of charts in the terminal: --size says how large a picture is")
	}
	switch ending := strings.ToLower(filepath.Ext(f.path)); {
	case f.path == "-":
	case ending == ".png":
		f.png = true
	case ending != ".svg":
		return fmt.Errorf("--output %s: a picture ends in .svg or .png", f.path)
	case f.png:
		return fmt.Errorf("--output %s: with --png it ends in .png", f.path)
	}
	f.width = 1200
	if f.size == "" {
		return nil
	}
	var rest string
	if n, _ := fmt.Sscanf(f.size+" ", "%dx%d%s", &f.width, &f.height, &rest); n != 2 || f.width < 1 || f.height < 1 {
		return fmt.Errorf("--size %s: write width x height in dots, such as 1200x600", f.size)
	}
	return nil
}

// picture writes the series that the arguments name as a picture.
func (p *plotting) picture(args []string) error {
	a, file := p.a, &p.file
	if file.path == "-" && file.png && a.width > 0 {
		return fmt.Errorf("a terminal shows no PNG: name a file with --output, or lead the output elsewhere")
	}
	list, w, err := p.read(args, picture.Points(min(max(file.width, 100), 1<<14)))
	if err != nil {
		return err
	}
	w.Hosts = a.Used.Hosts
	drawn, left := plot.Picture(a.Archive, w, list)
	if left > 0 {
		a.tell(notDrawn(left))
	}
	drawn.Zone, drawn.Width, drawn.Height, drawn.Dark = a.Zone(), file.width, file.height, file.dark
	if drawn.Height == 0 {
		drawn.Height = picture.UsualHeight(len(drawn.Panels))
	}
	drawn.Subtitle = fmt.Sprintf("%s to %s (%s), times in %s", a.Show(w.From), a.Show(w.To), human.Duration(time.Duration(w.To-w.From)), a.Zone())
	draw := drawn.SVG
	if file.png {
		draw = drawn.PNG
	}
	bytes, err := draw()
	if err != nil {
		return err
	}
	if file.path == "-" {
		a.stdout.Flush()
		_, err = a.stdout.Unwrap().Write(bytes)
		return err
	}
	if _, err := a.writeWhole(a.ctx, file.path, func(w io.Writer) error { _, err := w.Write(bytes); return err }); err != nil {
		return err
	}
	a.tell(fmt.Sprintf("%s: %s, %d x %d", file.path, human.Bytes(float64(len(bytes))), drawn.Width, drawn.Height))
	return nil
}
