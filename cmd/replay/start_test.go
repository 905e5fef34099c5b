package main

import (
	"bytes"
	"os/exec"
	"testing"
)

// Every command starts with what the packages that it is made of do first. One that
// puts descriptions of protocols together takes a third of that time.
func TestNothingThatStartsSlowly(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "tachograph/cmd/replay").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"google.golang.org/protobuf/reflect/protodesc", "connectrpc.com/grpcreflect"} {
		if bytes.Contains(out, []byte(path+"\n")) {
			t.Errorf("replay links %s", path)
		}
	}
}
