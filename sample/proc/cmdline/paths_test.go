package cmdline

import (
	std "encoding/base64"
	encodehex "encoding/hex"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"testing"
)

// draws make random words, in the way in which keys and passwords are made.
var draws = []struct {
	name string
	word func(rng *rand.Rand, bytes int) string
}{
	{"base64", func(rng *rand.Rand, n int) string { return std.StdEncoding.EncodeToString(random(rng, n)) }},
	{"base64 unpadded", func(rng *rand.Rand, n int) string { return std.RawStdEncoding.EncodeToString(random(rng, n)) }},
	{"base64 of addresses", func(rng *rand.Rand, n int) string {
		return strings.TrimLeft(std.URLEncoding.EncodeToString(random(rng, n)), "-")
	}},
	{"hex", func(rng *rand.Rand, n int) string { return encodehex.EncodeToString(random(rng, n)) }},
	{"hex with a slash", func(rng *rand.Rand, n int) string { return parted(rng, encodehex.EncodeToString(random(rng, n)), "/") }},
	{"hex behind 0x", func(rng *rand.Rand, n int) string { return "0x" + encodehex.EncodeToString(random(rng, n)) }},
	{"base62 with a slash", func(rng *rand.Rand, n int) string { return parted(rng, base62(rng, n), "/") }},
	{"base62 with a dot", func(rng *rand.Rand, n int) string { return parted(rng, base62(rng, n), ".") }},
}

func random(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	rng.Read(b)
	return b
}

func base62(rng *rand.Rand, n int) string {
	return strings.NewReplacer("+", "a", "/", "Z").Replace(std.RawStdEncoding.EncodeToString(random(rng, n)))
}

func parted(rng *rand.Rand, w, sign string) string {
	i := len(w)/4 + rng.Intn(len(w)/2)
	return w[:i] + sign + w[i:]
}

// Nearly no random word is mistaken for a path, a file or a number.
func TestRedactHidesWhatIsDrawn(t *testing.T) {
	const words = 3000
	for _, d := range draws {
		for _, n := range []int{12, 16, 24, 32, 48} {
			t.Run(fmt.Sprint(d.name, " of ", n, " bytes"), func(t *testing.T) {
				rng := rand.New(rand.NewSource(int64(n)))
				kept, example := 0, ""
				for range words {
					w := d.word(rng, n)
					if out := strings.Join(Redact([]string{"acme", "login", w, "to=" + w}), " "); shows(out, w) {
						kept++
						example = out
					}
				}
				t.Logf("%d of %d kept: %s", kept, words, example)
				if kept*100 >= words {
					t.Error("too many")
				}
			})
		}
	}
}

// shows reports whether the redacted text contains much of a word.
func shows(out, w string) bool {
	const much = 6
	for i := 0; i+much <= len(w); i++ {
		if strings.Contains(out, w[i:i+much]) {
			return true
		}
	}
	return false
}

// testdata/paths.txt has paths of a machine with Debian, of Go's modules and of this
// repository, drawn once, and names with slashes that occur in command lines.
func TestRedactKeepsPaths(t *testing.T) {
	text, err := os.ReadFile("testdata/paths.txt")
	if err != nil {
		t.Fatal(err)
	}
	paths := strings.Fields(string(text))
	hidden := 0
	for _, p := range paths {
		if out := Redact([]string{"acme", "login", p}); out[2] != p {
			hidden++
			t.Logf("%s became %s", p, out[2])
		}
	}
	t.Logf("%d of %d hidden", hidden, len(paths))
	if hidden*100 >= len(paths)*2 {
		t.Error("too many")
	}
}
