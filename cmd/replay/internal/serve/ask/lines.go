package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/cmd/replay/internal/out"
	httpstatus "tachograph/cmd/replay/internal/serve/status"
)

// longestQuestion is the most bytes that a question in JSON may have.
const longestQuestion = 256 << 10

// ServeHTTP answers like Query, for clients that have only curl. The request is the JSON of a
// QueryRequest, the answer what the command prints with --format json. Additional lines say what
// the answer lacks, and why it ended early.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "ask for this with POST, as in curl -d '{\"top\": {}}'", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	to := &lines{ctx: r.Context(), to: w}
	question, err := readQuestion(w, r)
	var aside Aside
	if err == nil {
		err = s.answer(r.Context(), question, func(ctx context.Context, args []string) (err error) {
			to.ctx = ctx
			aside, err = s.run(ctx, Command{Args: args, Begin: to.begin})
			return err
		})
	}
	tell := json.NewEncoder(w)
	tell.SetEscapeHTML(false)
	code := connect.CodeOf(err)
	if err != nil && !to.begun {
		w.WriteHeader(httpstatus.HTTP(code))
	}
	for _, text := range aside.Lost {
		_ = tell.Encode(map[string]string{"lost": valid(text)})
	}
	for _, text := range aside.Notes {
		_ = tell.Encode(map[string]string{"note": valid(text)})
	}
	if err == nil {
		return
	}
	text := err.Error()
	if told := (*connect.Error)(nil); errors.As(err, &told) {
		text = told.Message()
	}
	_ = tell.Encode(map[string]string{"error": valid(text), "code": code.String()})
}

// readQuestion reads the body of a request.
func readQuestion(w http.ResponseWriter, r *http.Request) (*tachographv1.QueryRequest, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, longestQuestion))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("the question has more than %d bytes", longestQuestion))
	}
	q := &tachographv1.QueryRequest{}
	if err == nil {
		err = protojson.Unmarshal(body, q)
	}
	if err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, shown(fmt.Errorf("the question is no QueryRequest in JSON: %w", err)))
	}
	return q, nil
}

// lines writes an answer, until the question is withdrawn.
type lines struct {
	ctx   context.Context
	to    io.Writer
	begun bool
}

func (l *lines) begin(columns []out.Column) (out.Writer, error) {
	return out.New(l, columns, out.Options{Format: out.JSON, Zone: time.UTC}), nil
}

func (l *lines) Write(b []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	l.begun = true
	return l.to.Write(b)
}
