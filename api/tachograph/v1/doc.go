// Package tachographv1 is the interface that replay serve offers to programs:
// messages and services made from the .proto files beside it, which say what each
// means. Clients in Go may import it.
//
// Its wire format is a contract: fields are added, never renumbered or given
// another meaning. The code is made anew by
//
//	cd api && buf lint && buf generate
package tachographv1
