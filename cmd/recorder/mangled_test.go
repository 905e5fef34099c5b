package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/visible"
	"tachograph/config"
	"tachograph/sample/platform"
	"tachograph/testdata/seed"
)

// Values that nobody writes into a configuration but strangers and accidents.
var oddValues = []string{
	"", "0", "-1", "1e999", "nan", "inf", "9223372036854775807", "9223372036854775808", "-9223372036854775808", `"0s"`, `"-5s"`, `"1ns"`, `"292y"`,
	`"99999999999h"`, `"1 PB"`, `"18446744073709551616B"`, "true", "[]", "{}", `[""]`, `["*"]`, `["**[[["]`, `"/dev/zero"`, `"/proc/self/mem"`, `"\u0000"`,
	`"\u001b]0;x\u0007"`, `"0 0 31 2 *"`, `"* * * * * * *"`, `"@every 1ns"`, "1979-05-27", `""" """`, strings.Repeat("[", 10_000), `"` + strings.Repeat("a*", 5000) + `"`,
}

// mangleText changes lines of a configuration, or its bytes.
func mangleText(rnd *rand.Rand, text string) []byte {
	lines := strings.Split(text, "\n")
	for range 1 + rnd.IntN(4) {
		at := rnd.IntN(len(lines))
		name, _, isKey := strings.Cut(strings.TrimLeft(lines[at], "# "), " = ")
		switch n := rnd.IntN(6); {
		case n < 3 && isKey && !strings.ContainsAny(name, " ."):
			lines[at] = name + " = " + oddValues[rnd.IntN(len(oddValues))]
		case n == 3:
			lines[at] = strings.TrimLeft(lines[at], "# ")
		case n == 4:
			lines = append(lines, lines[at])
		case n == 5:
			lines[at] = oddValues[rnd.IntN(len(oddValues))]
		}
	}
	b := []byte(strings.Join(lines, "\n"))
	if rnd.IntN(3) == 0 {
		for range 1 + rnd.IntN(8) {
			b[rnd.IntN(len(b))] = byte(rnd.Uint32())
		}
	}
	if rnd.IntN(20) == 0 {
		b = bytes.Repeat(b, 1+rnd.IntN(200))
	}
	return b
}

// TestMangledConfigurations checks configurations that nobody means well with.
// TACHO_LONG=1 goes on for TACHO_MANGLED_FOR (5m).
func TestMangledConfigurations(t *testing.T) {
	n, length := 300, time.Duration(0)
	if os.Getenv("TACHO_LONG") != "" {
		n, length = 1<<40, 5*time.Minute
		if text := os.Getenv("TACHO_MANGLED_FOR"); text != "" {
			var err error
			if length, err = time.ParseDuration(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	end, seed := time.Now().Add(length), seed.Of(t, 20)
	path := filepath.Join(t.TempDir(), "recorder.toml")
	for i := 0; i < n && (length == 0 || time.Now().Before(end)); i++ {
		text := mangleText(rand.New(rand.NewPCG(uint64(i), seed)), config.DefaultText)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		checkMangled(t, fmt.Sprint(i), path)
	}
}

// checkMangled puts a configuration to recorder check, within limits of the
// processor's time and memory.
func checkMangled(t *testing.T, what, path string) {
	t.Helper()
	// What is allocated in all, which is no less than what it ever holds and does
	// not depend on when it is collected.
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := platform.Worked()
	out, errs, status := runRecorder(t, "check", "--config", path)
	runtime.ReadMemStats(&after)
	switch took := platform.Worked() - began; {
	case took > 10*time.Second:
		t.Errorf("configuration %s takes %v", what, took)
	case after.TotalAlloc-before.TotalAlloc > 300<<20:
		t.Errorf("configuration %s takes %d MB", what, (after.TotalAlloc-before.TotalAlloc)>>20)
	case status != cli.Yes && errs == "":
		t.Errorf("configuration %s is refused without a word", what)
	}
	for _, text := range []string{out, errs} {
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && visible.Acts(r) }); i >= 0 {
			t.Errorf("configuration %s: what is printed does more than be read: %q", what, text[i:min(i+60, len(text))])
		}
	}
}

// FuzzCheck is the same for bytes that the fuzzer chooses.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(config.DefaultText))
	for i := range 40 {
		f.Add(mangleText(rand.New(rand.NewPCG(uint64(i), 7)), config.DefaultText))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "recorder.toml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		checkMangled(t, "of the fuzzer", path)
	})
}
