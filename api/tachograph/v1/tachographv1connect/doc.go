// Package tachographv1connect has the services of package tachographv1: what a
// server implements, and clients for programs in Go. It speaks gRPC, gRPC-Web and
// JSON over HTTP by the same methods.
package tachographv1connect
