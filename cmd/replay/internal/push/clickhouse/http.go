package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/push"
)

// Target splits an address: clickhouse://HOST:PORT/DATABASE, or clickhouse+https:// for TLS. Its
// query holds settings that go with every request.
func Target(address string) (endpoint, database string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", "", fmt.Errorf("%q is no address: write clickhouse://HOST:8123/DATABASE", visible.Text(address))
	}
	switch u.Scheme {
	case "clickhouse", "clickhouse+http":
		u.Scheme = "http"
	case "clickhouse+https":
		u.Scheme = "https"
	default:
		return "", "", fmt.Errorf("%q is no address of ClickHouse: write clickhouse://HOST:8123/DATABASE or clickhouse+https://HOST:8443/DATABASE", visible.Text(address))
	}
	database = strings.Trim(u.Path, "/")
	if !databaseName().MatchString(database) {
		return "", "", fmt.Errorf("an address of ClickHouse ends with the database, of letters, digits and _: clickhouse://%s/DATABASE", visible.Text(u.Host))
	}
	if q := u.Query(); q.Has("user") || q.Has("password") {
		return "", "", fmt.Errorf("the address of %s has a user in it, which every user of this machine could read: write --user NAME --password-file FILE", visible.Text(u.Host))
	}
	u.Path = "/"
	return u.String(), database, nil
}

// ask sends a statement and returns its result.
func (s *Sink) ask(ctx context.Context, statement string) (string, error) {
	answer, err := s.opt.Endpoint.Post(ctx, nil, nil, []byte(statement))
	if err != nil {
		return "", err
	}
	return string(answer.Body), judge(answer)
}

// insert sends the rows of a table.
func (s *Sink) insert(ctx context.Context, table int, b *body, id string) error {
	settings := url.Values{
		"query":      {s.inserts[table]},
		"decompress": {"1"},
		"http_native_compression_disable_checksumming_on_decompress": {"1"},
		"insert_distributed_sync":                                    {"1"},
	}
	// The rows that others refer to are sent again after a restart, and then are not identical.
	if s.release.tokens() && table >= numberOf()[ticksTable] {
		settings.Set("insert_deduplication_token", id)
	}
	answer, err := s.opt.Endpoint.Post(ctx, settings, nil, b.sealed)
	if err != nil {
		return err
	}
	return judge(answer)
}

// codeOf finds ClickHouse's own error code in its answer.
var codeOf = pattern(`^Code: (\d+)`)

// judge returns the meaning of an answer. ClickHouse answers 500 to nearly every error; its own
// code is more precise. After an unknown error the batch is sent again: that loses nothing, and
// the user sees how far the receiver is behind.
func judge(answer *push.Answer) error {
	err := answer.Err()
	if err == nil {
		return nil
	}
	code := 0
	if m := codeOf().FindSubmatch(answer.Body); m != nil {
		code, _ = strconv.Atoi(string(m[1]))
	} else if n, err := strconv.Atoi(answer.Header.Get("X-ClickHouse-Exception-Code")); err == nil {
		code = n
	}
	switch code {
	case 0:
		return err
	case 16, 36, 43, 44, 47, 53, 60, 62, 81, 82, 115, 164, 192, 193, 194, 195, 291, 497, 516:
		// No such column, table or database, a setting or a statement that the server does not
		// accept, or a user without permission: until a person does something about it.
		return &push.Retry{Slow: true, Err: errors.New(answer.Says())}
	case 6, 27, 72, 117, 131: // the rows cannot be understood
		return &push.Refused{Err: errors.New(answer.Says())}
	}
	var again *push.Retry
	if errors.As(err, &again) {
		return err
	}
	return &push.Retry{Err: errors.New(answer.Says())}
}
