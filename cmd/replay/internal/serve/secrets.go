package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/serve/status"
)

// needsSecrets reports whether the server must listen only to this machine, because it has no
// certificate or no token.
func (s *Server) needsSecrets() bool {
	return s.opt.TLSCert == "" || s.opt.TokenFile == ""
}

// notBeyond returns the error for an address that other machines can reach.
func (s *Server) notBeyond() error {
	return fmt.Errorf("%s can be reached from other machines, which needs --tls-cert, --tls-key and --token-file; without them listen at a loopback address, as in --listen tcp:127.0.0.1:%s", s.opt.Listen, s.listen.Port)
}

// secure reads the certificate and the token, and returns an error if they are missing although
// other machines can connect.
func (s *Server) secure() error {
	if (s.opt.TLSCert == "") != (s.opt.TLSKey == "") {
		return errors.New("--tls-cert and --tls-key belong together: give both or neither")
	}
	if s.opt.Token != "" {
		s.tokens = tokenFile{log: s.opt.Log, made: s.opt.Token}
	}
	if s.listen.Unix {
		if s.opt.TLSCert != "" || s.opt.TokenFile != "" {
			return errors.New("on a unix socket the kernel says which user asks: --tls-cert, --tls-key and --token-file are for --listen tcp:HOST:PORT")
		}
		return nil
	}
	if s.opt.Mode != 0 || s.opt.Group != "" {
		return errors.New("--mode and --group are of a unix socket: on TCP use --token-file")
	}
	if len(s.opt.Access.Users)+len(s.opt.Access.Groups) > 0 {
		return errors.New("TCP does not show which user asks: --allow-user and --allow-group are for a unix socket; on TCP use --token-file")
	}
	if s.needsSecrets() && !s.listen.Loopback() {
		return s.notBeyond()
	}
	if s.opt.TokenFile != "" {
		s.tokens = tokenFile{path: s.opt.TokenFile, log: s.opt.Log}
		if _, err := s.tokens.sum(); err != nil {
			return err
		}
	}
	if s.opt.TLSCert != "" {
		c := &certificate{cert: s.opt.TLSCert, key: s.opt.TLSKey, log: s.opt.Log}
		if _, err := c.get(nil); err != nil {
			return err
		}
		s.tls = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: []string{"h2", "http/1.1"}}
	}
	return nil
}

// A changing is a set of files that are read again when they have changed.
type changing struct {
	looked time.Time
	stamp  string
}

// changed reports whether the files have changed; it checks at most once a second.
func (c *changing) changed(paths ...string) bool {
	now := time.Now()
	if now.Sub(c.looked) < time.Second {
		return false
	}
	c.looked = now
	stamp := ""
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil {
			stamp += fmt.Sprint(info.ModTime().UnixNano(), info.Size(), ";")
		}
	}
	changed := stamp != c.stamp
	c.stamp = stamp
	return changed
}

// A tokenFile is the token that clients must send.
type tokenFile struct {
	path string
	made string // in place of a file
	log  *slog.Logger

	mu     sync.Mutex
	file   changing
	hashed *[sha256.Size]byte
}

// shortestToken is the length from which on a token cannot be guessed.
const shortestToken = 16

// wanted reports whether clients must send a token.
func (t *tokenFile) wanted() bool { return t.path != "" || t.made != "" }

// sum returns the hash of the token. If the file becomes invalid, the token that was read before
// stays.
func (t *tokenFile) sum() (*[sha256.Size]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hashed != nil && (t.path == "" || !t.file.changed(t.path)) {
		return t.hashed, nil
	}
	token, err := t.made, error(nil)
	if t.path != "" {
		token, err = readToken(t.path)
	}
	if err != nil {
		if t.hashed == nil {
			return nil, err
		}
		t.log.Warn("the token stays as it was", "why", err)
		return t.hashed, nil
	}
	h := sha256.Sum256([]byte(token))
	t.hashed = &h
	return t.hashed, nil
}

func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot read the token from %s: %w", path, cli.Cause(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("the token in %s is not in a plain file", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("others may read the token in %s: chmod 600 it", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if err != nil {
		return "", fmt.Errorf("cannot read the token from %s: %w", path, cli.Cause(err))
	}
	token := strings.TrimSpace(string(b))
	if len(token) < shortestToken || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("the token in %s must be one word of at least %d characters: openssl rand -hex 32 makes one", path, shortestToken)
	}
	return token, nil
}

// check checks the token in a header. It takes the same time whatever the header has.
func (t *tokenFile) check(header string) *connect.Error {
	want, err := t.sum()
	if err != nil {
		return status.Errorf(connect.CodeUnauthenticated, "TOKEN_MISSING", "the server cannot read its token")
	}
	scheme, shown, _ := strings.Cut(header, " ")
	if header == "" {
		return status.Errorf(connect.CodeUnauthenticated, "TOKEN_MISSING", "this server wants a token: send the header Authorization: Bearer TOKEN")
	}
	got := sha256.Sum256([]byte(strings.TrimSpace(shown)))
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 || !strings.EqualFold(scheme, "Bearer") {
		return status.Errorf(connect.CodeUnauthenticated, "TOKEN_WRONG", "this is not the token of this server")
	}
	return nil
}

// A certificate is read again when its files have changed.
type certificate struct {
	cert, key string
	log       *slog.Logger

	mu   sync.Mutex
	file changing
	have *tls.Certificate
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.file.changed(c.cert, c.key) && c.have != nil {
		return c.have, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		if c.have == nil {
			return nil, fmt.Errorf("cannot use the certificate %s with the key %s: %w", c.cert, c.key, err)
		}
		c.log.Warn("the certificate stays as it was", "why", err)
		return c.have, nil
	}
	c.have = &pair
	return c.have, nil
}
