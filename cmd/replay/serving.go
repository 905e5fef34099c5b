package main

import (
	"log/slog"
	"time"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/cmd/replay/internal/serve"
	"tachograph/cmd/replay/internal/serve/catalogue"
	"tachograph/cmd/replay/internal/serve/live"
)

// serving is a server. Each of services adds its parts to it.
type serving struct {
	a          *app
	opt        serve.Options
	pcpOptions pcpOptions
	user       string   // whom to become
	showing    *showing // nil: no browser is opened

	server *serve.Server // nil: only PCP's tools are served
	hub    *live.Hub
	keeper *catalogue.Keeper
	pcp    *pcpServer // nil: PCP's tools are not answered
	served []string   // the paths of the archives
	log    *slog.Logger
}

// pcpOptions say how to answer PCP's tools.
type pcpOptions struct {
	listen            string // the address; "" if they are not answered
	remote, allAccess bool
}

// A pcpServer answers PCP's tools.
type pcpServer struct {
	door   *serve.Door
	server *pcpserve.Server
}

// presentTimeout is how long a question about the present may take.
const presentTimeout = 10 * time.Second

// mostStreams is how many requests to a service with streams are answered at a time, including streams.
const mostStreams = 512
