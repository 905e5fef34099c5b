package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/pushstate"
)

// TestServicesAreUnderstood takes the commands of the services that recorder install
// makes, and has push understand them.
func TestServicesAreUnderstood(t *testing.T) {
	t.Parallel()
	units, err := filepath.Glob("../../launchd/testdata/tachograph-push*.service")
	if err != nil || len(units) < 2 {
		t.Fatalf("%d units: %v", len(units), err)
	}
	secrets := t.TempDir()
	for _, name := range []string{"token", "password"} {
		if err := os.WriteFile(filepath.Join(secrets, name), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(string(text), "ExecStart=")
		line, _, _ = strings.Cut(line, "\n")
		words := strings.Fields(strings.ReplaceAll(line, "${CREDENTIALS_DIRECTORY}", secrets))
		a := newApp(io.Discard, io.Discard, time.Now)
		root := a.command()
		cmd, rest, err := root.Find(words[1:])
		if err != nil || cmd.Name() != "push" {
			t.Fatalf("%s: %v", unit, err)
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", unit, err)
		}
		if _, _, _, err := flagsOf(cmd).sink(); err != nil || len(cmd.Flags().Args()) > 0 {
			t.Errorf("%s: %v, and of no meaning are %q", unit, err, cmd.Flags().Args())
		}
	}
}

// flagsOf are those that say where a push goes to.
func flagsOf(cmd *cobra.Command) *pushFlags {
	f := new(pushFlags)
	for name, to := range map[string]*string{"to": &f.to, "protocol": &f.protocol, "names": &f.names, "database": &f.database, "cluster": &f.cluster, "keep": &f.keep,
		"token-file": &f.access.TokenFile, "user": &f.access.User, "password-file": &f.access.PasswordFile} {
		*to, _ = cmd.Flags().GetString(name)
	}
	return f
}

// TestDatabasesAreTargets: how far a push to one database is says nothing of another on
// the same server.
func TestDatabasesAreTargets(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for _, f := range []pushFlags{
		{to: "clickhouse://ch:8123/a"},
		{to: "clickhouse://ch:8123/b?async_insert=1"},
		{to: "http://ch:8123/", database: "c"},
	} {
		_, to, _, err := f.sink()
		if err != nil {
			t.Fatal(err)
		}
		if want := "http://ch:8123/" + f.database; to.String() != want {
			t.Errorf("%s is %s, want %s", f.to, to, want)
		}
		name := pushstate.Name(to.String(), "")
		if other := seen[name]; other != "" {
			t.Errorf("%s and %s have one state", f.to, other)
		}
		seen[name] = f.to
	}
}
