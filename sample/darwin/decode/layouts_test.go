package decode

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// measured is one row of the table of layouts measured with Apple's headers.
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

// Some structs are not listed on their own: timeval was measured inside kinfo_proc's times,
// and caches is not a struct of Apple's.
var unlisted = map[string]bool{"timeval": true, "caches": true}

func TestFieldsStandWhereTheyWereMeasured(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			rows := readLayouts(t, arch)
			for _, f := range fields {
				if !unlisted[f.Struct] {
					t.Run(f.Struct+"."+f.Name, func(t *testing.T) { standsWhereMeasured(t, f, arch, rows) })
				}
			}
			for what, size := range map[string]int{
				"if_msghdr2": ifMsghdr2Size, "xinpgen": xinpgenSize, "smc_param": SMCSize,
				"nfsclntstats": NFSSize, "nfsrvstats": NFSDSize, "vfsconf": VFSConfSize,
			} {
				if got := rows[what+".(total)"].size; got != size {
					t.Errorf("%s has %d bytes, measured: %d", what, size, got)
				}
			}
			if got := rows["sockaddr_dl.sdl_data"]; got != (measured{dlDataOff, 12}) {
				t.Errorf("sockaddr_dl.sdl_data: %d; measured: %v", dlDataOff, got)
			}
		})
	}
}

func standsWhereMeasured(t *testing.T, f *Field, arch string, rows map[string]measured) {
	m, has := rows[f.Struct+"."+f.Name]
	there := f.On(arch)
	if there == nil {
		if has {
			t.Errorf("is not there; measured: %v", m)
		}
		return
	}
	if want := (measured{there.Off, there.Size * max(1, there.Len)}); m != want {
		t.Errorf("is at %d, %d bytes; measured: %v", want.off, want.size, m)
	}
}

// A struct that differs between processors.
func TestFieldsThatStandElsewhereOnARM64(t *testing.T) {
	for _, f := range []*Field{
		{Struct: "task_power_info_v2", Name: "task_energy", Off: 80, Size: 8, Only: "arm64"},
		{Struct: "task_power_info_v2", Name: "task_ptime", Off: 80, Size: 8, ARM64: 8},
		{Struct: "task_power_info_v2", Name: "gpu_energy.task_gpu_utilisation", Off: 48, Size: 8},
	} {
		for _, arch := range []string{"amd64", "arm64"} {
			t.Run(arch+" "+f.Name, func(t *testing.T) { standsWhereMeasured(t, f, arch, readLayouts(t, arch)) })
		}
	}
}
