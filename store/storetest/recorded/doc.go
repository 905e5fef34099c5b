// Package recorded makes recordings of a storetest.Machine with a real Writer,
// for the tests of those who read them.
package recorded
