// Package debuginfod gets debug files of programs from a server that distributions run for
// debuggers, by the build IDs of the programs. The server learns from that which programs ran, so
// only a user who names a server gets files from it; no variable of the environment does.
//
// What a server sends is not trusted: it is bounded in size and time, compressed answers and
// redirects are refused, and a file is kept only if it has the build ID that was asked for.
package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/push"
	"tachograph/sample/stack"
	"tachograph/sample/stack/symbol"
)

// Limits bound what a Client asks for and keeps.
type Limits struct {
	File  int64         // bytes of one file
	Kept  int64         // bytes of all files that are kept for later
	One   time.Duration // for one file
	All   time.Duration // for all files together
	Files int           // how many are asked for
}

// DefaultLimits are enough for the libraries of a distribution, and not for a browser.
var DefaultLimits = Limits{File: 512 << 20, Kept: 4 << 30, One: time.Minute, All: 5 * time.Minute, Files: 200}

// Client asks one server for files.
type Client struct {
	ctx     context.Context
	to      *push.Endpoint
	dir     string
	limits  Limits
	asked   int
	spent   time.Duration
	missing []string // images that the server has no file of
	refused []string // sentences
	stopped bool     // it is not asked any more
}

// New makes a client of the server at an address, which keeps files in a directory.
func New(ctx context.Context, address, dir string, limits Limits) (*Client, error) {
	to, err := push.NewEndpoint(address, push.Access{})
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(to.Base(), "?#") {
		return nil, fmt.Errorf("the address of a server of debug files ends with its path: leave out what follows the ? or # in %s", to)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("debug files are kept in %s, which cannot be made: %w", dir, cli.Cause(err))
	}
	return &Client{ctx: ctx, to: to, dir: dir, limits: limits}, nil
}

// buildID is what a server can be asked for. It is a file name as well.
var buildID = regexp.MustCompile(`^([0-9a-f]{2}){4,64}$`)

// Fetch returns the path of the debug file of an image; "" if there is none.
func (c *Client) Fetch(m *stack.Image) string {
	if !buildID.MatchString(m.ID) || m.Path == "kernel" { // whose file is larger than all others
		return ""
	}
	path := filepath.Join(c.dir, m.ID+".debug")
	if has(path, m.ID) {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // those used last are kept longest
		return path
	}
	if c.stopped || c.ctx.Err() != nil {
		return ""
	}
	if c.asked == c.limits.Files || c.spent >= c.limits.All {
		c.refuse(fmt.Errorf("it was asked for %d files in %s: no more are asked for at once", c.asked, c.spent.Round(time.Second)))
		return ""
	}
	c.asked++
	began := time.Now()
	err := c.get(m.ID, path)
	c.spent += time.Since(began)
	var other errFile
	switch {
	case err == nil:
		return path
	case errors.Is(err, errNone):
		c.missing = append(c.missing, name(m))
	case errors.As(err, &other):
		c.refused = append(c.refused, fmt.Sprintf("its file of %s is not used: %v", name(m), err))
	case c.ctx.Err() == nil:
		c.refuse(err)
	}
	return ""
}

// refuse keeps a reason for which the server is not asked any more.
func (c *Client) refuse(err error) {
	c.stopped = true
	c.refused = append(c.refused, err.Error())
}

func name(m *stack.Image) string {
	if m.Path == "" {
		return m.ID
	}
	return visible.Text(filepath.Base(m.Path))
}

// has reports whether an image with an ID is at a path.
func has(path, id string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	ids, err := symbol.Identify(f, info.Size())
	return err == nil && slices.Contains(ids, id)
}

// errNone means that the server has no such file.
var errNone = errors.New("it has no such file")

// errFile says why one file is not used; others may be.
type errFile string

func (e errFile) Error() string { return string(e) }

// get gets a file.
func (c *Client) get(id, path string) error {
	ctx, cancel := context.WithTimeout(c.ctx, min(c.limits.One, c.limits.All-c.spent))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.to.Base()+"/buildid/"+id+"/debuginfo", nil)
	if err != nil {
		return err
	}
	answer, err := c.to.Client().Do(r)
	if err != nil {
		return c.network(ctx, err)
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusNotFound:
		return errNone
	case answer.StatusCode >= 300 && answer.StatusCode < 400:
		return fmt.Errorf("it points to %s: give --debuginfod that address if you trust it", visible.Text(short(answer.Header.Get("Location"))))
	case answer.StatusCode != http.StatusOK:
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 4096))
		return errors.New((&push.Answer{Status: answer.StatusCode, Body: text}).Says())
	case answer.Header.Get("Content-Encoding") != "":
		return errFile("it came compressed, which was not asked for")
	case answer.ContentLength > c.limits.File:
		return c.tooLarge()
	}
	return c.keep(ctx, answer.Body, id, path)
}

func (c *Client) tooLarge() error {
	return errFile(fmt.Sprintf("it has more than %d MB", c.limits.File>>20))
}

// keep writes what comes to a file, if it is what was asked for.
func (c *Client) keep(ctx context.Context, from io.Reader, id, path string) error {
	f, err := os.CreateTemp(c.dir, ".new-*")
	if err != nil {
		return c.unkept(err)
	}
	defer os.Remove(f.Name())
	n, err := io.Copy(f, io.LimitReader(from, c.limits.File+1))
	var own *os.PathError
	switch closed := f.Close(); {
	case errors.As(err, &own):
		return c.unkept(err)
	case err != nil:
		return c.network(ctx, err)
	case closed != nil:
		return c.unkept(closed)
	case n > c.limits.File:
		return c.tooLarge()
	case !has(f.Name(), id):
		return errFile("it does not have the build ID that was asked for")
	}
	c.makeRoom(n)
	if err := os.Rename(f.Name(), path); err != nil {
		return c.unkept(err)
	}
	return nil
}

func (c *Client) unkept(err error) error {
	return fmt.Errorf("its files cannot be kept in %s: %w", c.dir, cli.Cause(err))
}

// network describes an error without the address.
func (c *Client) network(ctx context.Context, err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	if ctx.Err() == context.DeadlineExceeded {
		return fmt.Errorf("no whole answer within %s", min(c.limits.One, c.limits.All))
	}
	return errors.New(visible.Text(err.Error()))
}

// makeRoom removes the files that have not been used for longest, until there is room for one of
// that size.
func (c *Client) makeRoom(size int64) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var files []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && buildID.MatchString(strings.TrimSuffix(e.Name(), ".debug")) {
			files = append(files, info)
			size += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if size <= c.limits.Kept {
			return
		}
		if os.Remove(filepath.Join(c.dir, f.Name())) == nil {
			size -= f.Size()
		}
	}
}

// Said returns sentences about what the server did not give.
func (c *Client) Said() (all []string) {
	const most = 5
	for _, text := range c.refused[:min(len(c.refused), most)] {
		all = append(all, fmt.Sprintf("--debuginfod %s: %s", c.to, text))
	}
	if n := len(c.refused) - most; n > 0 {
		all = append(all, fmt.Sprintf("--debuginfod %s: %d more of its files are not used", c.to, n))
	}
	if n := len(c.missing); n > 0 {
		list := strings.Join(c.missing[:min(n, most)], ", ")
		if n > most {
			list += fmt.Sprintf(" and %d others", n-most)
		}
		all = append(all, fmt.Sprintf("--debuginfod %s: it has no debug files of %s", c.to, list))
	}
	return all
}

func short(s string) string { return strings.ToValidUTF8(s[:min(len(s), 200)], "?") }
