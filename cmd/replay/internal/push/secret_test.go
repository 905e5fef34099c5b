package push

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A secret that everybody may read is none, and is not sent.
func TestSecretsThatEverybodyMayRead(t *testing.T) {
	for mode, refused := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: true, 0o604: true} {
		path := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(path, []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := secretLine(path); refused != (err != nil) || refused && !strings.Contains(err.Error(), "chmod o= it") {
			t.Errorf("%v: %v", mode, err)
		}
	}
}
