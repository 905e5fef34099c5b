package push

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/sample"
	"tachograph/store/disk"
)

// Access says how a push identifies itself to a receiver. Secrets are in files, because all
// users of a machine can read the arguments of its programs.
type Access struct {
	TokenFile, User, PasswordFile string
	// HeaderFile has lines of the form NAME: VALUE.
	HeaderFile                string
	CAFile, CertFile, KeyFile string
	// Insecure allows secrets to be sent to other machines unencrypted.
	Insecure bool
	// Timeout is how long a receiver may take to answer; 0: DefaultTimeout.
	Timeout time.Duration
}

// DefaultTimeout is how long a receiver may take to answer.
const DefaultTimeout = 30 * time.Second

// An Endpoint is an address that batches are posted to.
type Endpoint struct {
	url    url.URL
	access Access
	client *http.Client
	kept   http.Header // the headers that identify the push, if files are not read again
	within string
	socket string // path of a unix socket, "" if the address is not one
}

// Within names the part of the receiver that is pushed to, if its address does not: a database.
// How far the push to another database is says nothing about this one.
func (p *Endpoint) Within(name string) { p.within = name }

// Answer is the answer of a receiver.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // its beginning
}

const (
	// mostSecret bounds a file with a secret, mostCertificates one with certificates: the bundle of a system has
	// 250 KB. mostAnswer bounds what is read of an answer.
	mostSecret       = 64 << 10
	mostCertificates = 4 << 20
	mostAnswer       = 64 << 10
)

// NewEndpoint checks the address, and that all files can be read.
func NewEndpoint(target string, access Access) (*Endpoint, error) {
	socket, local := strings.CutPrefix(target, "unix:")
	if local {
		target = "http://localhost" // the name that is sent to the server
	} else {
		socket = ""
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no address: write http://HOST:PORT/PATH, https://HOST/PATH or unix:PATH", visible.Text(withoutUser(target)))
	}
	if u.User != nil {
		if _, password := u.User.Password(); password {
			return nil, fmt.Errorf("the address of %s has a password in it, which every user of this machine could read: write --user NAME --password-file FILE", u.Host)
		}
		return nil, fmt.Errorf("the address of %s has a user in it: write --user NAME --password-file FILE", u.Host)
	}
	if access.Timeout <= 0 {
		access.Timeout = DefaultTimeout
	}
	p := &Endpoint{url: *u, access: access, socket: socket}
	secret := access.TokenFile != "" || access.PasswordFile != "" || access.HeaderFile != ""
	switch {
	case (access.User == "") != (access.PasswordFile == ""):
		return nil, errors.New("--user and --password-file go together")
	case access.TokenFile != "" && access.User != "":
		return nil, errors.New("--token-file and --user are two ways to log in: choose one")
	case (access.CertFile == "") != (access.KeyFile == ""):
		return nil, errors.New("--tls-cert and --tls-key go together")
	case secret && u.Scheme == "http" && !loopback(u.Hostname()) && !access.Insecure:
		return nil, fmt.Errorf("a secret would go to %s unencrypted: use https://, or say --insecure where the network between is trusted", u.Host)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if access.CAFile != "" {
		text, err := readCertificates(access.CAFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate", access.CAFile)
		}
	}
	if access.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(access.CertFile, access.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("the certificate in %s cannot be used with the key in %s: %w", access.CertFile, access.KeyFile, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if err := p.identify(make(http.Header)); err != nil {
		return nil, err
	}
	p.client = &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			TLSClientConfig:     config,
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 2,
			IdleConnTimeout:     90 * time.Second,
			DisableCompression:  true,
			DialContext:         p.dial,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p, nil
}

func (p *Endpoint) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if p.socket != "" {
		network, address = "unix", p.socket
	}
	return (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, network, address)
}

// Client returns a client for other requests to the receiver, which identifies itself in each.
func (p *Endpoint) Client() *http.Client {
	return &http.Client{Transport: identified{p}, CheckRedirect: p.client.CheckRedirect}
}

// Base returns the address for a Client.
func (p *Endpoint) Base() string { return strings.TrimSuffix(p.url.String(), "/") }

type identified struct{ *Endpoint }

// RoundTrip implements http.RoundTripper.
func (p identified) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", "tachograph/"+sample.Version())
	if err := p.identify(r.Header); err != nil {
		return nil, err
	}
	return p.client.Transport.RoundTrip(r)
}

// withoutUser returns an address without the part that may hold a password.
func withoutUser(target string) string {
	if i := strings.LastIndex(target, "@"); i >= 0 {
		return "..." + target[i:]
	}
	return target
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// String returns the address without what may be secret in it.
func (p *Endpoint) String() string {
	if p.socket != "" {
		return visible.Text(p.socket)
	}
	u := url.URL{Scheme: p.url.Scheme, Host: p.url.Host, Path: p.url.Path}
	if p.within != "" {
		u.Path = strings.TrimSuffix(u.Path, "/") + "/" + p.within
	}
	return visible.Text(u.String())
}

// readSecret reads a small file, and refuses one that all users may read.
func readSecret(path string) ([]byte, error) {
	return readGuarded(path, mostSecret, 0o006, "read or write %s, which has a secret: chmod o= it")
}

// readCertificates reads a file of those who are trusted, and refuses one that all users may write.
func readCertificates(path string) ([]byte, error) {
	return readGuarded(path, mostCertificates, 0o002, "write %s, which says whom to trust: chmod o-w it")
}

// readGuarded reads a file of at most so many bytes. It refuses one that gives all users any of the
// rights; refused says what they may do.
func readGuarded(path string, most int, rights os.FileMode, refused string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&rights != 0 {
		return nil, fmt.Errorf("every user may "+refused, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("%s is too large: it may have %d bytes", path, most)
	}
	return text, err
}

// secretLine returns the only line of a file.
func secretLine(path string) (string, error) {
	text, err := readSecret(path)
	if err != nil {
		return "", err
	}
	line := strings.TrimRight(string(text), "\r\n")
	if line == "" || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("%s should hold one line", path)
	}
	return line, nil
}

// Keep reads the files with secrets for the last time. A program that is about to lose the right
// to read them calls it.
func (p *Endpoint) Keep() error {
	kept := make(http.Header)
	if err := p.identify(kept); err != nil {
		return err
	}
	p.kept = kept
	return nil
}

// identify adds the headers that identify the push. It reads the files each time, because tokens
// are replaced.
func (p *Endpoint) identify(h http.Header) error {
	for name, values := range p.kept {
		h[name] = values
	}
	switch {
	case p.kept != nil:
		return nil
	case p.access.TokenFile != "":
		token, err := secretLine(p.access.TokenFile)
		if err != nil {
			return err
		}
		h.Set("Authorization", "Bearer "+token)
	case p.access.PasswordFile != "":
		password, err := secretLine(p.access.PasswordFile)
		if err != nil {
			return err
		}
		r := http.Request{Header: h}
		r.SetBasicAuth(p.access.User, password)
	}
	if p.access.HeaderFile == "" {
		return nil
	}
	text, err := readSecret(p.access.HeaderFile)
	if err != nil {
		return err
	}
	for n, line := range strings.Split(strings.TrimRight(string(text), "\r\n"), "\n") {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t\"(),/;<=>?@[\\]{}") {
			return fmt.Errorf("%s: line %d is no header: write NAME: VALUE", p.access.HeaderFile, n+1)
		}
		h.Set(name, strings.TrimSpace(value))
	}
	return nil
}

// Post sends a body to the address, with additional query parameters. An error says that no
// complete answer came: the body may have arrived.
func (p *Endpoint) Post(ctx context.Context, query url.Values, header http.Header, body []byte) (*Answer, error) {
	return p.do(ctx, http.MethodPost, query, header, body)
}

// Try posts a body without values, to find out whether the receiver answers. The receiver may
// refuse it.
func (p *Endpoint) Try(ctx context.Context, header http.Header, body []byte) error {
	a, err := p.Post(ctx, nil, header, body)
	if err != nil {
		return err
	}
	var refused *Refused
	if err := a.Err(); !errors.As(err, &refused) {
		return err
	}
	return nil
}

// Get sends a GET request to the address.
func (p *Endpoint) Get(ctx context.Context, query url.Values, header http.Header) (*Answer, error) {
	return p.do(ctx, http.MethodGet, query, header, nil)
}

func (p *Endpoint) do(ctx context.Context, method string, query url.Values, header http.Header, body []byte) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, p.access.Timeout)
	defer cancel()
	u := p.url
	if len(query) > 0 {
		all := u.Query()
		for name, values := range query {
			all[name] = append(all[name], values...)
		}
		u.RawQuery = all.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, &Fatal{err}
	}
	r.Header.Set("User-Agent", "tachograph/"+sample.Version())
	for name, values := range header {
		r.Header[name] = values
	}
	if err := p.identify(r.Header); err != nil {
		return nil, &Retry{Slow: true, Err: err}
	}
	res, err := p.client.Do(r)
	if err != nil {
		return nil, p.network(ctx, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	if err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("its answer broke off: %w", err)
		}
		return nil, p.network(ctx, err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, mostAnswer)) // so that the connection can be reused
	return &Answer{Status: res.StatusCode, Header: res.Header, Body: text}, nil
}

// network describes an error without the address, which may have secrets in it.
func (p *Endpoint) network(ctx context.Context, err error) error {
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	if ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("no whole answer within %s (--timeout)", p.access.Timeout)
	}
	return &Retry{Err: err}
}

// Err returns nil if the receiver has taken the body, else an error with the meaning of the
// status.
func (a *Answer) Err() error {
	err := errors.New(a.Says())
	switch {
	case a.Status >= 200 && a.Status < 300:
		return nil
	case a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden:
		return &Retry{Slow: true, After: a.after(), Err: fmt.Errorf("it does not accept this user (--token-file, --user, --header-file): %w", err)}
	case a.Status >= 300 && a.Status < 400:
		return &Retry{Slow: true, Err: fmt.Errorf("it has moved to %s: push to there", shortened(visible.Text(a.Header.Get("Location"))))}
	case a.Status == http.StatusNotFound || a.Status == http.StatusMethodNotAllowed:
		return &Retry{Slow: true, Err: fmt.Errorf("nothing takes what is pushed at this address: %w", err)}
	case a.Status == http.StatusTooManyRequests, a.Status == http.StatusRequestTimeout, a.Status == http.StatusTooEarly, a.Status >= 500, a.Status < 200:
		return &Retry{After: a.after(), Err: err}
	}
	return &Refused{err}
}

// Says returns the status with the first line of the answer.
func (a *Answer) Says() string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(a.Body)), "\n")
	text := strings.TrimSpace(strconv.Itoa(a.Status) + " " + http.StatusText(a.Status))
	if line != "" {
		text += ": " + shortened(visible.Text(strings.ToValidUTF8(line, "?")))
	}
	return text
}

// after returns the value of Retry-After, which is seconds or a date.
func (a *Answer) after() time.Duration {
	text := a.Header.Get("Retry-After")
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 {
		return time.Duration(min(n, longestAsked.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// EnsureDir makes the directory for a state.
func EnsureDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("the state of this push has no place: %w", err)
	}
	return disk.OS.SyncDir(path)
}
