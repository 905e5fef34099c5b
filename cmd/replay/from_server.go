package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/api/tachograph/v1/tachographv1connect"
	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/push"
)

// serverFlags are the flags that say which server answers, and how to be let in.
var serverFlags = []string{"from-server", "server-token-file", "server-ca"}

// serverWords are the values of these flags.
type serverWords map[string]string

// serverOf returns the server that a command line names, and the other words. While a shell asks
// for the value of one of the flags, no server is asked.
func serverOf(args []string) (serverWords, []string) {
	words := make(serverWords)
	var rest []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			rest = append(rest, args[i:]...)
			break
		}
		name, value, found := flagOf(args[i])
		switch {
		case name == "":
			rest = append(rest, args[i])
			continue
		case !found && i+1 < len(args):
			i++
			value = args[i]
		case !found:
			return nil, args
		}
		if completing(args) && i == len(args)-1 {
			return nil, args
		}
		words[name] = value
	}
	if _, ok := words["from-server"]; !ok {
		return nil, args
	}
	return words, rest
}

// flagOf returns the name of the flag of serverFlags that a word is, and its value if the word has it.
func flagOf(word string) (name, value string, found bool) {
	for _, name := range serverFlags {
		if word == "--"+name {
			return name, "", false
		}
		if value, found = strings.CutPrefix(word, "--"+name+"="); found {
			return name, value, true
		}
	}
	return "", "", false
}

// askServer runs a command line on a server, and prints what it prints. Its errors mean the exit
// status of the command there.
func (a *app) askServer(server serverWords, args []string) error {
	ctx, stop := a.untilEnded()
	defer stop()
	status, err := a.fromServer(ctx, server, args)
	a.stdout.Flush()
	a.stderr.Flush()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && completing(args), err == nil && status == cli.Failed:
		return errUntold // The server has said why.
	case err == nil && status == cli.No:
		return errNo
	}
	return err
}

func (a *app) fromServer(ctx context.Context, server serverWords, args []string) (int, error) {
	address := server["from-server"]
	to, err := push.NewEndpoint(address, push.Access{TokenFile: server["server-token-file"], CAFile: server["server-ca"]})
	if err != nil {
		return cli.Failed, err
	}
	a.stdout.Styles(a.terminalOut)
	if a.ascii && a.terminalOut {
		a.stdout.ASCII()
		a.stderr.ASCII()
	}
	client := tachographv1connect.NewCommandServiceClient(to.Client(), to.Base())
	stream, err := client.Run(ctx, connect.NewRequest(&tachographv1.RunRequest{
		Args: args, Width: uint32(max(a.width, 0)), Height: uint32(max(a.height, 0)), Server: address,
		Color: wantsColor(colorAuto, a.terminalOut, a.env)}))
	if err != nil {
		return cli.Failed, serverError(to, err)
	}
	defer stream.Close()
	for stream.Receive() {
		m := stream.Msg()
		if len(m.Output) > 0 {
			if err := a.pass(m.Output); err != nil {
				return cli.Failed, err
			}
		}
		if len(m.Errors) > 0 {
			if _, err := a.stderr.Write(m.Errors); err != nil {
				return cli.Failed, err
			}
		}
		if m.Status != nil {
			return int(m.GetStatus()), nil
		}
	}
	if err := stream.Err(); err != nil {
		return cli.Failed, serverError(to, err)
	}
	return cli.Failed, fmt.Errorf("%s ended its answer too early", to)
}

// pass prints what a server has printed. A terminal gets no sequences but those that this program
// prints itself; elsewhere the output may be a picture.
func (a *app) pass(b []byte) error {
	if a.terminalOut {
		_, err := a.stdout.Write(b)
		return err
	}
	_, err := a.stdout.Unwrap().Write(b)
	return err
}

// serverError says what went wrong between a server and this program.
func serverError(to *push.Endpoint, err error) error {
	text := err.Error()
	if told := (*connect.Error)(nil); errors.As(err, &told) {
		text = told.Message()
		switch told.Code() {
		case connect.CodeUnimplemented:
			text = "it answers no command lines: its version is older, or it is no replay serve"
		case connect.CodeUnauthenticated, connect.CodePermissionDenied:
			text += " (--server-token-file)"
		case connect.CodeUnavailable:
			if untrusted := (*tls.CertificateVerificationError)(nil); errors.As(err, &untrusted) {
				text = untrusted.Error() + " (--server-ca)"
			} else if !connect.IsWireError(told) {
				text += " (does replay serve run there?)"
			}
		}
	}
	return fmt.Errorf("the server at %s: %s", to, visible.Text(text))
}
