package cmdline

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		// Nothing to hide.
		{"ls|-la|/tmp", "ls|-la|/tmp"},
		{"/usr/bin/ssh|-p|2222|ana@example.org", "/usr/bin/ssh|-p|2222|ana@example.org"},
		{"nginx: worker process", "nginx: worker process"},
		{"postgres: writer process   ", "postgres: writer process   "},
		{"mkdir|-p|/srv/a", "mkdir|-p|/srv/a"},
		{"server|--port=8080|--config|/etc/server.toml", "server|--port=8080|--config|/etc/server.toml"},
		{"git|clone|git@github.com:owner/repo.git", "git|clone|git@github.com:owner/repo.git"},
		{"app|--password-file=/run/p|--auth-type|basic", "app|--password-file=/run/p|--auth-type|basic"},
		{"app|--no-password|x", "app|--no-password|x"},
		{"app|--password-stdin|x", "app|--password-stdin|x"},
		{"find|/|-path|/proc|-prune|-print", "find|/|-path|/proc|-prune|-print"},
		{"java|-Xmx2g|-cp|a.jar:b.jar|Main", "java|-Xmx2g|-cp|a.jar:b.jar|Main"},
		{"wget|https://example.org/a?page=2&sort=name", "wget|https://example.org/a?page=2&sort=name"},
		{"ssh|ssh://ana@host/x", "ssh|ssh://ana@host/x"},
		// Long options.
		{"app|--password=hunter2", "app|--password=***"},
		{"app|--password|hunter2|next", "app|--password|***|next"},
		{"app|-password|hunter2|next", "app|-password|***|next"},
		{"app|--db-passwd=a=b,c;d", "app|--db-passwd=***"},
		{"app|--token|x|--secret-id=y|--apiKey=z", "app|--token|***|--secret-id=***|--apiKey=***"},
		{"app|--password|--looks-like-an-option", "app|--password|***"},
		{"app|--clientSecret:abc", "app|--clientSecret:***"},
		{"java|-Djavax.net.ssl.keyStorePassword=changeit|Main", "java|-Djavax.net.ssl.keyStorePassword=***|Main"},
		{"vault|write|auth/approle|secret_id=abc", "vault|write|auth/approle|secret_id=***"},
		// Short options of known programs.
		{"mysql|-uroot|-phunter2|db", "mysql|-uroot|-p***|db"},
		{"mysql|-p|db", "mysql|-p|db"},
		{"sshpass|-p|hunter2|ssh|host", "sshpass|-p|***|ssh|host"},
		{"sshpass|-phunter2|ssh|host", "sshpass|-p***|ssh|host"},
		{"curl|-u|ana:hunter2|https://h/", "curl|-u|***|https://h/"},
		{"redis-cli|-a|hunter2|ping", "redis-cli|-a|***|ping"},
		{"ldapsearch|-x|-w|hunter2", "ldapsearch|-x|-w|***"},
		{"7z|x|-phunter2|a.7z", "7z|x|-p***|a.7z"},
		{"openssl|enc|-passin|pass:hunter2", "openssl|enc|-passin|***"},
		{"other|-phunter2", "other|-p***"},
		{"openssl2|pass:hunter2", "openssl2|pass:***"},
		{"zip|-P|hunter2|a.zip", "zip|-P|***|a.zip"},
		// Assignments.
		{"env|PGPASSWORD=hunter2|psql", "env|PGPASSWORD=***|psql"},
		{"docker|run|-e|API_KEY=abc|-e|LANG=C|img", "docker|run|-e|API_KEY=***|-e|LANG=C|img"},
		{"docker|run|-eAPI_KEY=abc|img", "docker|run|-eAPI_KEY=***|img"},
		{"mount|-o|user=ana,password=hunter2,uid=3", "mount|-o|user=ana,password=***"},
		{"AWS_SECRET_ACCESS_KEY=abc", "AWS_SECRET_ACCESS_KEY=***"},
		{`curl|-d|{"user":"ana","password":"hunter2"}`, `curl|-d|{"user":"ana","password":***`},
		{"sqlcmd|Server=h;User Id=sa;Password=hunter2;", "sqlcmd|Server=h;User Id=sa;Password=***"},
		// URLs.
		{"psql|postgres://ana:hunter2@db/x", "psql|postgres://ana:***@db/x"},
		{"git|clone|https://ghtoken@github.com/a/b", "git|clone|https://***@github.com/a/b"},
		{"curl|https://h/?user=ana&access_token=abc&x=1", "curl|https://h/?user=ana&access_token=***&x=1"},
		{"curl|https://ana:pw@h/?api_key=abc", "curl|https://ana:***@h/?api_key=***"},
		{"ftp|ana:hunter2@host", "ftp|ana:***@host"},
		{"app|--dsn=mysql://root:pw@h/db", "app|--dsn=mysql://root:***@h/db"},
		// Headers.
		{"curl|-H|Authorization: Bearer abc", "curl|-H|Authorization: ***"},
		{"curl|-HAuthorization: Bearer abc", "curl|-HAuthorization: ***"},
		{"curl|--header=X-Api-Key: abc", "curl|--header=X-Api-Key: ***"},
		{"curl|-H|Cookie: a=b; c=d", "curl|-H|Cookie: ***"},
		{"curl|-H|Accept: text/html", "curl|-H|Accept: text/html"},
		// Commands inside an argument.
		{"sh|-c|mysql -uroot -phunter2 db; echo done", "sh|-c|mysql -uroot -p*** db; echo done"},
		{"sh|-c|TOKEN=abc ./run --password 'a b c' x", "sh|-c|TOKEN=*** ./run --password *** x"},
		{`sh|-c|curl -H "Authorization: Bearer abc" h`, `sh|-c|curl -H "Authorization: ***" h`},
		{"curl -H Authorization: Bearer abc h", "curl -H Authorization: Bearer *** h"},
		{"sh|-c|app --password 'never closed and more", "sh|-c|app --password ***"},
		// Tokens with a known form.
		{"app|ghp_abcdefghijklmnopqrstuvwxyz012345", "app|***"},
		{"app|--x|AKIAABCDEFGHIJKLMNOP", "app|--x|***"},
		{"app|eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "app|***"},
	} {
		t.Run(c.in, func(t *testing.T) {
			in, want := strings.Split(c.in, "|"), strings.Split(c.want, "|")
			if got := Redact(in); !reflect.DeepEqual(got, want) {
				t.Errorf("Redact(%q)\n  got  %q\n  want %q", in, got, want)
			}
		})
	}
}

func TestRedactKeepsItsInput(t *testing.T) {
	in := []string{"app", "--password=x"}
	Redact(in)
	if in[1] != "--password=x" {
		t.Error("Redact changed the arguments it was given")
	}
}

// FuzzRedact plants a secret that no rule could mistake for anything else, with any text
// around it, and looks for it in the result.
func FuzzRedact(f *testing.F) {
	for _, s := range []string{"app", "sh -c", "curl -H", "x --y=z 'a", "https://u:p@h/", "\x00\xff", "-p -p -p", "a\"b\\", "a -= --: -==x -é7 ="} {
		f.Add(s, s)
	}
	const secret = "Zq7secretZq7"
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains(before+after, "Zq7") {
			return
		}
		for _, argv := range [][]string{
			{before, "--password=" + secret, after},
			{"app", "--x", "PGPASSWORD=" + secret, before, after},
			{"app", "--db=postgres://ana:" + secret + "@h/" + "x", before},
			{"app", "--token", secret, after},
		} {
			out := Redact(argv)
			if len(out) != len(argv) {
				t.Fatalf("%d arguments became %d", len(argv), len(out))
			}
			if strings.Contains(strings.Join(out, " "), "Zq7") {
				t.Fatalf("Redact(%q) = %q", argv, out)
			}
		}
		if s := Render(Redacted, []string{before, after}); len(s) > longest {
			t.Fatalf("rendered %d bytes", len(s))
		}
	})
}

func TestRender(t *testing.T) {
	long := make([]string, 5000)
	for i := range long {
		long[i] = "ä"
	}
	got := Render(Full, long)
	if len(got) > longest || !strings.HasSuffix(got, "…") {
		t.Errorf("a long command line became %d bytes ending in %q", len(got), got[len(got)-8:])
	}
	if got := Render(Off, []string{"a", "b"}); got != "" {
		t.Errorf("off kept %q", got)
	}
	if got := Render(Full, []string{"a", "--password=x"}); got != "a --password=x" {
		t.Errorf("full gave %q", got)
	}
	if got := Render(Redacted, []string{"a", "--password=x\x1b[31m", "b\nc\xff"}); got != "a --password=*** b c\uFFFD" {
		t.Errorf("redacted gave %q", got)
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil}, {"\x00\x00", nil}, {"a\x00", []string{"a"}}, {"a\x00\x00b\x00", []string{"a", "", "b"}},
		{"sshd: ana [priv]\x00\x00\x00", []string{"sshd: ana [priv]"}},
	} {
		t.Run(fmt.Sprintf("%q", c.in), func(t *testing.T) {
			if got := Split([]byte(c.in)); !reflect.DeepEqual(got, c.want) {
				t.Errorf("Split(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestParseMode(t *testing.T) {
	for _, m := range []Mode{Off, Redacted, Full} {
		t.Run(m.String(), func(t *testing.T) {
			if got, err := ParseMode(m.String()); err != nil || got != m {
				t.Errorf("ParseMode(%q) = %v, %v", m, got, err)
			}
		})
	}
	if _, err := ParseMode("some"); err == nil || !strings.Contains(err.Error(), "redacted") {
		t.Errorf("ParseMode(some): %v", err)
	}
}

func BenchmarkRedact(b *testing.B) {
	for _, line := range []string{
		"ls|-la|/tmp",
		"sh|-c|cd /srv && make -j4 && ./run --port 80",
		"clang|-cc1|-triple|arm64-apple-macosx14.0.0|-emit-obj|-main-file-name|NSTableViewController2.m|-I/usr/include|-I/opt/local/include/very/long/path|-DNDEBUG=1|-DFOO=bar|-o|/tmp/build/NSTableViewController2.o|-fmodules-cache-path=/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/C/clang/ModuleCache|-O2|-Wall",
	} {
		argv := strings.Split(line, "|")
		b.Run(argv[0], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Redact(argv)
			}
		})
	}
}
