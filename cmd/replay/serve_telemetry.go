package main

import (
	"tachograph/api/sysctl/sysctlconnect"
	"tachograph/cmd/replay/internal/serve"
	"tachograph/cmd/replay/internal/serve/telemetry"
)

// serveTelemetry answers the clients of another telemetry service for the Mac.
func (s *serving) serveTelemetry() {
	service := telemetry.New(telemetry.Options{Source: s.present(), Now: s.a.Now, Patience: presentTimeout, Stopping: s.server.Stopping()})
	path, handler := sysctlconnect.NewSysctlServiceHandler(service, s.server.RPC()...)
	s.server.Add(serve.Part{Path: path, Handler: handler, Service: sysctlconnect.SysctlServiceName,
		About: "present values of a Mac's sysctls, and what changes, as accretional/sysctl answers", AtOnce: mostStreams})
}
