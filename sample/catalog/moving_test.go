package catalog

import (
	"strings"
	"testing"

	"tachograph/sample/metric"
)

// A metric of something that can be plugged in, mounted, swapped, renamed or updated while
// the machine runs must not be read only once an archive.
func TestWhatMovesIsNotStatic(t *testing.T) {
	for _, p := range []Platform{Darwin, Linux} {
		for _, d := range For(p) {
			moves := false
			for _, prefix := range []string{"filesys.", "disk.", "thermal.", "power.", "gpu.", "network.interface.", "hinv.ndisk", "hinv.nfan",
				"hinv.nfilesys", "hinv.ngpu", "hinv.ninterface", "kernel.uname.nodename", "kernel.uname.distro", "pmda.uname",
				"kern.osversion", "kern.osproductversion", "kern.iossupportversion"} {
				moves = moves || strings.HasPrefix(d.Name, prefix)
			}
			if moves && d.Class == metric.Static {
				t.Errorf("%s: %s is static", p, d.Name)
			}
		}
	}
}
