package ask

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/api/tachograph/v1/tachographv1connect"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/scope"
)

var top = &tachographv1.QueryRequest{Question: &tachographv1.QueryRequest_Top{}}

func serve(t *testing.T, run Run, limits Limits) tachographv1connect.QueryServiceClient {
	_, handler := New(run, limits).Handler()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return tachographv1connect.NewQueryServiceClient(server.Client(), server.URL)
}

// ask puts a question and returns how many rows the answer has.
func ask(ctx context.Context, client tachographv1connect.QueryServiceClient) (int, error) {
	stream, err := client.Query(ctx, connect.NewRequest(top))
	if err != nil {
		return 0, err
	}
	defer stream.Close()
	n := 0
	for stream.Receive() {
		n += len(stream.Msg().GetRows())
	}
	return n, stream.Err()
}

// forever answers without an end.
func forever(ctx context.Context, c Command) (Aside, error) {
	w, err := c.Begin([]out.Column{{Name: "n"}})
	for n := int64(0); err == nil; n++ {
		err = w.Row([]out.Cell{out.Whole(n)})
	}
	return Aside{}, err
}

func TestAnAnswerTakesNoLongerThanItMay(t *testing.T) {
	client := serve(t, forever, Limits{AtOnce: 1, Longest: 50 * time.Millisecond})
	for range 2 { // The turn is given back.
		if _, err := ask(t.Context(), client); connect.CodeOf(err) != connect.CodeDeadlineExceeded {
			t.Errorf("%v", err)
		}
	}
}

// The sink is told of a client that is gone with the next row.
func TestAQuestionIsWithdrawn(t *testing.T) {
	ended := make(chan error, 1)
	client := serve(t, func(ctx context.Context, c Command) (Aside, error) {
		aside, err := forever(ctx, c)
		ended <- err
		return aside, err
	}, Limits{AtOnce: 1, Longest: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := client.Query(ctx, connect.NewRequest(top))
	if err != nil || !stream.Receive() {
		t.Fatal(err, stream.Err())
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("it ended without an error")
	}
}

// Questions wait for their turn, and if there are too many of them are refused.
func TestQuestionsTakeTurns(t *testing.T) {
	goOn, begun := make(chan bool), make(chan bool, 3)
	client := serve(t, func(context.Context, Command) (Aside, error) {
		begun <- true
		<-goOn
		return Aside{}, nil
	}, Limits{AtOnce: 1, Waiting: 1, Longest: time.Minute})
	errs := make(chan error, 3)
	for range 3 {
		go func() {
			_, err := ask(context.Background(), client)
			errs <- err
		}()
	}
	<-begun
	// Of the other two one waits; the first error is that of the third.
	if err := <-errs; connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("the third: %v", err)
	}
	close(goOn)
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestFailuresHaveTheirCodes(t *testing.T) {
	for kind, code := range codes {
		client := serve(t, func(context.Context, Command) (Aside, error) {
			return Aside{}, &scope.Error{Kind: kind, Err: errors.New("what is \x1b wrong")}
		}, DefaultLimits)
		_, err := ask(t.Context(), client)
		var told *connect.Error
		if !errors.As(err, &told) || told.Code() != code || told.Message() != `what is \x1b wrong` {
			t.Errorf("%d: %v", kind, err)
		}
	}
}

// A why waits for the one before it, and other questions do not.
func TestOneWhyAtATime(t *testing.T) {
	goOn, begun := make(chan bool), make(chan string, 3)
	client := serve(t, func(_ context.Context, c Command) (Aside, error) {
		begun <- c.Args[0]
		<-goOn
		return Aside{}, nil
	}, Limits{AtOnce: 8, Waiting: 8, Longest: time.Minute})
	why := &tachographv1.QueryRequest{Question: &tachographv1.QueryRequest_Why{}}
	errs := make(chan error, 3)
	put := func(q *tachographv1.QueryRequest) {
		go func() {
			stream, err := client.Query(context.Background(), connect.NewRequest(q))
			if err == nil {
				for stream.Receive() {
				}
				err = stream.Err()
			}
			errs <- err
		}()
	}
	put(why)
	put(why)
	if first := <-begun; first != "why" {
		t.Fatal(first)
	}
	put(top)
	if second := <-begun; second != "top" {
		t.Errorf("%s is answered beside a why", second)
	}
	close(goOn)
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
