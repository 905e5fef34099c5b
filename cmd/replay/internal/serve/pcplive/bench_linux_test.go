package pcplive

import (
	"path/filepath"
	"strings"
	"testing"

	"tachograph/cmd/internal/pcp/pcpclient"
	"tachograph/sample/catalog"
)

// BenchmarkFetch is what a client waits for, over a unix socket, while everything that
// Linux has is read four times a second.
func BenchmarkFetch(b *testing.B) {
	door, _, _ := served(b, "unix:"+filepath.Join(short(b), "s"), catalog.Linux, "linux", "boot-1")
	c, err := pcpclient.Dial(b.Context(), "unix", door.Path())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	all, err := c.Traverse("")
	if err != nil {
		b.Fatal(err)
	}
	var system []string
	for _, name := range all {
		if !strings.HasPrefix(name, "proc.") && !strings.HasPrefix(name, "thread.") && len(system) < 250 {
			system = append(system, name)
		}
	}
	for what, names := range map[string][]string{"one": {"kernel.all.load"}, "250": system, "everything": all} {
		ids, err := c.IDs(names...)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(what, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Fetch(ids...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
