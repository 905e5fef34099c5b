package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/cmd/internal/cli"
	"tachograph/launchd"
)

// TestWhatIsInstalledOfThePush: it is in the group that may read the archives, and its
// secrets are in files.
func TestWhatIsInstalledOfThePush(t *testing.T) {
	const token = "/etc/tachograph/token"
	const to = "https://metrics.example/api/v1/write"
	for _, c := range []struct {
		name, config string
		args         []string
		want, errs   string
	}{
		{"not asked for", "", nil, "", ""},
		{"a group that is given", "", []string{"--push", to, "--group", "daemon"}, "SupplementaryGroups=daemon|--to " + to + "|--archive /var/lib/tachograph|--state /var/lib/tachograph-push/metrics.example-", ""},
		{"that of the configuration", "[archive]\ngroup = \"daemon\"\ndir = \"/srv/archives\"\n", []string{"--push", to}, "SupplementaryGroups=daemon|--archive /srv/archives", ""},
		{"options", "", []string{"--push", to, "--group", "daemon", "--push-option", "processes=10", "--push-option", "insecure"}, "--processes=10 --insecure", ""},
		{"ClickHouse", "", []string{"--push", "clickhouse+https://shard-1:8443/fleet?async_insert=1", "--group", "daemon", "--push-user", "me", "--push-password-file", token, "--push-option", "create", "--push-option", "keep=30d"},
			"--to clickhouse+https://shard-1:8443/fleet?async_insert=1 |--state /var/lib/tachograph-push/shard-1-8443-|--user me --password-file ${CREDENTIALS_DIRECTORY}/password --create --keep=30d", ""},
		{"ClickHouse that asks for no password", "", []string{"--push", "clickhouse://shard-1:8123/fleet", "--group", "daemon"}, "--to clickhouse://shard-1:8123/fleet |--state /var/lib/tachograph-push/shard-1-8123-", ""},
		{"a secret in the clear", "", []string{"--push", "clickhouse://shard-1:8123/fleet", "--group", "daemon", "--push-user", "me", "--push-password-file", token}, "", "a secret would go to shard-1:8123 unencrypted"},
		{"a secret on a network that is trusted", "", []string{"--push", "clickhouse://shard-1:8123/fleet", "--group", "daemon", "--push-token-file", token, "--push-option", "insecure"}, "--insecure", ""},
		{"no database", "", []string{"--push", "clickhouse://shard-1:8123", "--group", "daemon"}, "", "an address of ClickHouse ends with the database, of letters, digits and _: clickhouse://shard-1:8123/DATABASE"},
		{"no name of a database", "", []string{"--push", "clickhouse://shard-1:8123/fleet/samples", "--group", "daemon"}, "", "an address of ClickHouse ends with the database"},
		{"a secret behind the address", "", []string{"--push", "clickhouse://shard-1:8123/fleet?user=me&password=x", "--group", "daemon"}, "", "the address of shard-1:8123 has a user in it, which every user of this machine could read: write --push-user NAME --push-password-file FILE"},
		{"no group", "", []string{"--push", to}, "", "the push is nobody in particular, and needs a group that may read the archives: name one with --group"},
		{"a secret in the address", "", []string{"--push", "https://a:b@metrics.example/", "--group", "daemon"}, "", "which every user of this machine could read: write --push-user NAME --push-password-file FILE"},
		{"no address", "", []string{"--push", "metrics.example", "--group", "daemon"}, "", "--push wants an address"},
		{"a file that is not there", "", []string{"--push", to, "--group", "daemon", "--push-token-file", "/no/such"}, "", "--push-token-file /no/such: there is no such file"},
		{"a user alone", "", []string{"--push", to, "--group", "daemon", "--push-user", "me"}, "", "go together"},
		{"two ways", "", []string{"--push", to, "--group", "daemon", "--push-user", "me", "--push-password-file", token, "--push-token-file", token}, "", "choose one"},
		{"an option that is none", "", []string{"--push", to, "--group", "daemon", "--push-option", "token-file=/x"}, "", "the push takes protocol, processes"},
		{"of nothing", "", []string{"--push-token-file", token}, "", "add --push URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := configured(t, "systemd", c.config)
			if err := os.MkdirAll(filepath.Join(h.root, filepath.Dir(token)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(h.root, token), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			out, errs, status := ran(h, append([]string{"install", "--print"}, c.args...)...)
			if c.errs != "" {
				if status == cli.Yes || !strings.Contains(errs, c.errs) || strings.Count(errs, "\n") != 1 {
					t.Errorf("status %d: %s", status, errs)
				}
				return
			}
			if status != cli.Yes {
				t.Fatalf("status %d: %s", status, errs)
			}
			if strings.Contains(out, launchd.PushUnit) != (c.want != "") {
				t.Errorf("shown:\n%s", out)
			}
			for _, want := range strings.Split(c.want, "|") {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not shown:\n%s", want, out)
				}
			}
		})
	}
}

// What cannot be done is not said to have been.
func TestInstallAndUninstallOfNothing(t *testing.T) {
	h := configured(t, "systemd", "")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"install", "--group", "no such group", "--print"}, "there is no group no such group"},
		{[]string{"uninstall", "--root", filepath.Join(t.TempDir(), "nowhere")}, "nothing is installed under "},
	} {
		if _, errs, status := ran(h, c.args...); status == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%v: %d, %q", c.args, status, errs)
		}
	}
}
