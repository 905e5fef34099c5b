// Package recorded makes recordings of a storetest.Machine with a real Writer, for tests of the
// packages that read them.
package recorded
