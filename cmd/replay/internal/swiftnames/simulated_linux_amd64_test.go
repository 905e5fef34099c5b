package swiftnames

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/sample/darwin/darwintest"
)

// On a Mac without the library, or with one that lacks the function, the child answers that it does
// not know.
func TestWithoutLibrary(t *testing.T) {
	t.Parallel()
	mac, err := darwintest.FindMac("../../../..")
	darwintest.Need(t, err)
	program, err := mac.Program("tachograph/cmd/replay/internal/swiftnames.test")
	darwintest.Need(t, err)
	for name, scenario := range map[string]string{"no function": "include \"macbook-m.scn\"\n", "no library": "include \"macbook-m.scn\"\nfail dlopen 1 from 0 until 1000\n"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "test.scn")
			if err := os.WriteFile(path, []byte(scenario), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := mac.Command([]string{"--scenario", path}, program)
			cmd.Env = append(os.Environ(), mode+"=system")
			cmd.Stdin = strings.NewReader("$s4main3fooyyF\n$s4main3baryyF\n")
			var errs bytes.Buffer
			cmd.Stderr = &errs
			if out, err := cmd.Output(); err != nil || string(out) != "\n\n" {
				t.Errorf("%v: %q\n%s", err, out, errs.Bytes())
			}
		})
	}
}
