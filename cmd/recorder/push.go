package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tachograph/cmd/internal/pushstate"
	"tachograph/launchd"
)

// pushFlags are the flags of install for the push.
type pushFlags struct {
	to, token, user, password string
	options                   []string
}

func (f *pushFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.to, "push", "", "install replay push as a service, which brings what is recorded to the server at `URL`; --push=\"\" takes it away")
	flags.StringVar(&f.token, "push-token-file", "", "`FILE` with the token that the server wants")
	flags.StringVar(&f.user, "push-user", "", "`NAME` we have for the server; needs --push-password-file")
	flags.StringVar(&f.password, "push-password-file", "", "`FILE` with the password of --push-user")
	flags.StringArrayVar(&f.options, "push-option", nil, "further option of replay push, `NAME=VALUE`: processes=10 (repeatable)")
}

// pushOptions are the options of replay push that may be given to the service; options with
// files would need the right to read those files.
var pushOptions = []string{"protocol", "processes", "names", "label", "create", "database", "cluster", "keep", "batch", "every", "from", "insecure", "stop-refused", "timeout", "tls-ca"}

// pushSchemes are the schemes of addresses.
var pushSchemes = []string{"http", "https", "clickhouse", "clickhouse+http", "clickhouse+https"}

// databasePath is what replay push accepts as the database of ClickHouse: the service would
// report a mistake only in its log.
var databasePath = regexp.MustCompile(`^/+[A-Za-z_][A-Za-z0-9_]{0,62}/*$`)

// apply sets what the flags say about the push in the installer.
func (f *pushFlags) apply(in *launchd.Installer, flags *pflag.FlagSet) error {
	if in.Unpush = flags.Changed("push") && f.to == ""; in.Unpush {
		return nil
	}
	if f.to == "" {
		if f.token+f.user+f.password != "" || len(f.options) > 0 {
			return errors.New("--push-token-file, --push-user, --push-password-file and --push-option are of the push: add --push URL")
		}
		return nil
	}
	u, err := url.Parse(f.to)
	clickhouse := err == nil && strings.HasPrefix(u.Scheme, "clickhouse")
	switch {
	case err != nil || u.Host == "" || !slices.Contains(pushSchemes, u.Scheme):
		return errors.New("--push wants an address: http://HOST:PORT/PATH, https://... or clickhouse://HOST:PORT/DATABASE")
	case u.User != nil, clickhouse && (u.Query().Has("user") || u.Query().Has("password")):
		return fmt.Errorf("the address of %s has a user in it, which every user of this machine could read: write --push-user NAME --push-password-file FILE", u.Host)
	case clickhouse && !databasePath.MatchString(u.Path):
		return fmt.Errorf("an address of ClickHouse ends with the database, of letters, digits and _: %s://%s/DATABASE", u.Scheme, u.Host)
	case (f.user == "") != (f.password == ""):
		return errors.New("--push-user and --push-password-file go together")
	case f.user != "" && f.token != "":
		return errors.New("--push-token-file and --push-user are two ways to log in: choose one")
	case f.token+f.user != "" && !strings.HasSuffix(u.Scheme, "https") && !loopback(u.Hostname()) && !slices.Contains(f.options, "insecure"):
		return fmt.Errorf("a secret would go to %s unencrypted: push to https://, or add --push-option insecure where the network between is trusted", u.Host)
	}
	p := &launchd.Push{URL: f.to, User: f.user}
	for _, file := range []struct {
		flag, path string
		to         *string
	}{{"push-token-file", f.token, &p.TokenFile}, {"push-password-file", f.password, &p.PasswordFile}} {
		if file.path == "" {
			continue
		}
		path, err := filepath.Abs(file.path)
		if err != nil {
			return err
		}
		if info, err := os.Stat(filepath.Join(in.Root, path)); !in.Stage && (err != nil || !info.Mode().IsRegular()) {
			return fmt.Errorf("--%s %s: there is no such file", file.flag, file.path)
		}
		*file.to = path
	}
	for _, o := range f.options {
		name, value, has := strings.Cut(o, "=")
		if !slices.Contains(pushOptions, name) {
			return fmt.Errorf("--push-option %s: the push takes %s", o, strings.Join(pushOptions, ", "))
		}
		word := "--" + name
		if has {
			word += "=" + value
		}
		p.Options = append(p.Options, word)
	}
	if p.Archives, p.Group, err = readable(in, "the push"); err != nil {
		return err
	}
	target := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	p.State = pushstate.Name(target.String(), "")
	in.Push = p
	return nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
