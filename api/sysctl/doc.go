// Package sysctl is the interface of accretional/sysctl, a telemetry service for the Mac, as
// replay serve offers it to the clients of that service. The .proto file beside it says what each
// message means.
//
// Its names, numbers and types are fixed by that service. The code is made anew by
//
//	cd api && buf lint && buf generate
package sysctl
