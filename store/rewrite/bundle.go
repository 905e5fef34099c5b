package rewrite

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tachograph/store/disk"
	"tachograph/store/fault"
	"tachograph/store/layout"
)

// writeBundle makes a bundle of the archives of several boots: one archive for each boot, in the
// order of time.
func writeBundle(dst string, boots []*bootFiles, opt *CopyOptions, report *Report, p *progress) error {
	if _, err := os.Lstat(dst); err == nil {
		return exists(dst)
	}
	scratch := dst + layout.TmpSuffix
	var paths, names []string
	defer func() {
		for _, path := range append(paths, scratch) {
			_ = os.Remove(path)
		}
	}()
	for i, b := range boots {
		path := fmt.Sprintf("%s.%d", scratch, i)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &fault.Error{Op: "create bundle", Path: dst, Err: err}
		}
		written, err := b.write(path, opt, report, p)
		if err != nil {
			return err
		}
		if written == nil {
			continue
		}
		paths = append(paths, path)
		for n := 0; written.Name == "" || slices.Contains(names, written.Name); n++ {
			written.Name = layout.FinishedName(written.Host.Name, written.From, written.To, n)
		}
		names = append(names, written.Name)
		report.Archives = append(report.Archives, *written)
	}
	switch len(paths) {
	case 0:
		return opt.nothing()
	case 1:
		// The other boots turned out to hold nothing.
		if err := rename(paths[0], dst); err != nil {
			return err
		}
		report.Archives[0].Name = ""
		return disk.OS.SyncDir(filepath.Dir(dst))
	}
	return pack(dst, scratch, paths, names)
}

// pack makes the bundle dst of archives.
func pack(dst, scratch string, paths, names []string) error {
	f, err := disk.OpenNoFollow(scratch, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return &fault.Error{Op: "create bundle", Path: dst, Err: err}
	}
	out := bufio.NewWriterSize(f, 1<<20)
	err = layout.WriteBundle(out, paths, names)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = rename(scratch, dst)
	}
	if err != nil {
		return &fault.Error{Op: "create bundle", Path: dst, Kind: fault.Of(err), Err: err}
	}
	return disk.OS.SyncDir(filepath.Dir(dst))
}
