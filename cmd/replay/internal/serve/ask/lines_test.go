package ask

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/scope"
)

// For who has no more than curl, an answer is what --format json prints, and what
// is wrong has a status and a line.
func TestLines(t *testing.T) {
	run := func(ctx context.Context, c Command) (Aside, error) {
		switch c.Args[0] {
		case "events":
			return Aside{}, &scope.Error{Kind: scope.Outside, Err: errors.New("nothing was recorded")}
		case "ranges":
			return forever(ctx, c)
		}
		w, err := c.Begin([]out.Column{{Name: "n"}, {Name: "by", Group: "of"}, {Name: "table", Only: out.InTables}})
		if err == nil {
			err = errors.Join(w.Row([]out.Cell{out.Whole(7), out.Str("a\x1b<"), out.Str("x")}), w.Close())
		}
		return Aside{Lost: []string{"a file"}, Notes: []string{"a note"}}, err
	}
	server := httptest.NewServer(New(run, Limits{AtOnce: 1, Waiting: 1, Longest: 300 * time.Millisecond}))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		name, question string
		status         int
		begin, end     string
	}{
		{"an answer", `{"top": {}}`, 200, `{"n":7,"of":{"by":"a\u001b<"}}` + "\n" + `{"lost":"a file"}` + "\n" + `{"note":"a note"}` + "\n", ""},
		{"nothing there", `{"events": {}}`, 400, `{"code":"out_of_range","error":"nothing was recorded"}` + "\n", ""},
		{"no question", `{}`, 400, `{"code":"invalid_argument"`, ""},
		{"no json", `top`, 400, `{"code":"invalid_argument","error":"the question is no QueryRequest in JSON`, ""},
		{"a field that there is not", `{"bottom": {}}`, 400, `{"code":"invalid_argument"`, ""},
		{"a giant", `{"top": {"by": "` + strings.Repeat("x", longestQuestion) + `"}}`, 400, `{"code":"invalid_argument","error":"the question has more than`, ""},
		{"too long", `{"ranges": {"metrics": ["a"]}}`, 200, `{"n":0}` + "\n" + `{"n":1}`, `{"code":"deadline_exceeded","error":"the answer took too long: ask about a shorter window or fewer metrics"}` + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := http.Post(server.URL, "application/json", strings.NewReader(c.question))
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close()
			body, err := io.ReadAll(got.Body)
			if err != nil || got.StatusCode != c.status || !strings.HasPrefix(string(body), c.begin) || !strings.HasSuffix(string(body), c.end) {
				t.Errorf("status %d, %.300q ... %.200q, %v", got.StatusCode, body, body[max(0, len(body)-200):], err)
			}
		})
	}
	if got, err := http.Get(server.URL); err != nil || got.StatusCode != http.StatusMethodNotAllowed {
		t.Error(got.Status, err)
	}
}
