package decode

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// measured is one row of the table of layouts that were measured with Apple's
// headers.
type measured struct{ off, size int }

// readLayouts reads the measured layouts of one processor.
func readLayouts(t *testing.T, arch string) map[string]measured {
	f, err := os.Open(filepath.Join("..", "..", "..", "testdata", "darwin", "facts", "layouts.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := make(map[string]measured)
	for s := bufio.NewScanner(f); s.Scan(); {
		c := strings.Split(s.Text(), "\t")
		if len(c) < 6 || c[5] != arch {
			continue
		}
		off, _ := strconv.Atoi(c[2])
		size, _ := strconv.Atoi(c[3])
		rows[c[0]+"."+c[1]] = measured{off, size}
	}
	return rows
}

func TestFieldsStandWhereTheyWereMeasured(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			rows := readLayouts(t, arch)
			for _, f := range fields {
				m, ok := rows[f.Struct+"."+f.Name]
				if !ok && f.Struct == "timeval" {
					// Not listed on its own: measured inside kinfo_proc's times.
					continue
				}
				if !ok || m.off != f.Off || m.size != f.Size {
					t.Errorf("%s.%s is at %d, %d bytes; measured: %v", f.Struct, f.Name, f.Off, f.Size, m)
				}
			}
			for _, c := range []struct {
				what string
				size int
			}{
				{"if_msghdr2", ifMsghdr2Size}, {"xinpgen", xinpgenSize}, {"smc_param", SMCSize},
				{"nfsclntstats", NFSSize}, {"nfsrvstats", NFSDSize}, {"vfsconf", VFSConfSize},
			} {
				if got := rows[c.what+".(total)"].size; got != c.size {
					t.Errorf("%s has %d bytes, measured: %d", c.what, c.size, got)
				}
			}
			for _, c := range []struct {
				what      string
				off, size int
			}{
				{"icmpstat.icps_inhist", ICMPInHist, 4 * ICMPTypes},
				{"icmpstat.icps_outhist", ICMPOutHist, 4 * ICMPTypes},
				{"nfsclntstats.rpccntv3", NFS3Client, 8 * NFS3Procs},
				{"nfsrvstats.srvrpccntv3", NFS3Server, 8 * NFS3Procs},
				{"loadavg.ldavg", 0, 12},
				{"sockaddr_dl.sdl_data", dlDataOff, 12},
			} {
				if got := rows[c.what]; got != (measured{c.off, c.size}) {
					t.Errorf("%s: %d, %d bytes; measured: %v", c.what, c.off, c.size, got)
				}
			}
		})
	}
}
