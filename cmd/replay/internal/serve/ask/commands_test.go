package ask

import (
	"context"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/api/tachograph/v1/tachographv1connect"
)

// TestACommandThatFollows has one command follow while another takes too long: only that one is ended,
// and it had the only turn there is.
func TestACommandThatFollows(t *testing.T) {
	cut := make(chan struct{})
	run := func(ctx context.Context, l Line) int {
		if l.Args[0] == "long" {
			<-ctx.Done()
			return 0
		}
		goOn, err := l.Follow()
		if err != nil {
			_, _ = io.WriteString(l.Errors, err.Error())
			return 2
		}
		_, _ = io.WriteString(l.Output, "before\n")
		for range 2 {
			if err := goOn(); err != nil {
				t.Error(err)
			}
		}
		_, _ = io.WriteString(l.Errors, "follows\n")
		<-cut
		if _, err := io.WriteString(l.Output, "after\n"); err != nil {
			t.Error(err)
		}
		return 1
	}
	_, handler := New(nil, Limits{AtOnce: 1, Longest: 50 * time.Millisecond, Following: 1}).Commands(run, t.Context()).Handler()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client := tachographv1connect.NewCommandServiceClient(server.Client(), server.URL)
	ask := func(word string) *connect.ServerStreamForClient[tachographv1.RunResponse] {
		stream, err := client.Run(t.Context(), connect.NewRequest(&tachographv1.RunRequest{Args: []string{word}}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stream.Close() })
		return stream
	}
	follows := ask("follow")
	for _, want := range []string{"before\n", "follows\n"} { // each comes before the command has ended
		if !follows.Receive() || string(follows.Msg().GetOutput())+string(follows.Msg().GetErrors()) != want {
			t.Fatalf("%v, %v, want %q", follows.Msg(), follows.Err(), want)
		}
	}
	if long := ask("long"); long.Receive() || connect.CodeOf(long.Err()) != connect.CodeDeadlineExceeded {
		t.Errorf("%v, %v", long.Msg(), long.Err())
	}
	if full := ask("follow"); !full.Receive() || full.Msg().GetStatus() != 2 || len(full.Msg().GetOutput()) > 0 || len(full.Msg().GetErrors()) == 0 {
		t.Errorf("with no room: %v, %v", full.Msg(), full.Err())
	}
	close(cut)
	if !follows.Receive() || string(follows.Msg().GetOutput()) != "after\n" || !follows.Receive() || follows.Msg().GetStatus() != 1 {
		t.Errorf("%v, %v", follows.Msg(), follows.Err())
	}
}
