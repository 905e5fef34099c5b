package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"
)

// asProgram makes the test's binary replay itself, on descriptions.
const asProgram = "REPLAY_TEST_AS_PROGRAM"

// atOnce is how many tests run at the same time where nobody says: most of those that
// take long wait for a recorder, a terminal or another program.
const atOnce = "8"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		a := newApp(os.Stdout, os.Stderr, func() time.Time { return testNow })
		a.Open = openText
		os.Exit(a.run(os.Args[1:]))
	}
	if os.Getenv(asMeter) != "" {
		exitWith(meter(os.Args[1:]))
	}
	if spec := os.Getenv(makeEnv); spec != "" {
		exitWith(makeRecording(spec))
	}
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		_ = flag.Set("test.parallel", atOnce)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // What tests share, like recordings, is collected in vain.
	}
	home, err := ownConfiguration()
	if err != nil {
		exitWith(err)
	}
	code := m.Run()
	for _, d := range append(scratchDirs, home) {
		os.RemoveAll(d)
	}
	os.Exit(code)
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// ownConfiguration hides that of whoever runs the tests, except the go command's,
// which they use: no definitions of theirs are found, and times are of no zone of
// theirs.
func ownConfiguration() (dir string, err error) {
	if theirs, err := os.UserConfigDir(); err == nil && os.Getenv("GOENV") == "" {
		os.Setenv("GOENV", filepath.Join(theirs, "go", "env"))
	}
	if dir, err = os.MkdirTemp("", "replay-tests"); err != nil {
		return "", err
	}
	os.Setenv("XDG_CONFIG_HOME", dir)
	os.Setenv("TZ", "UTC")
	return dir, nil
}
