// Package sysctlconnect has the service of package sysctl: what a server implements, and a client
// for programs in Go.
package sysctlconnect
