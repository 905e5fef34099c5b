// Package kcdata reads what Darwin's kernel writes when it takes a stackshot: tagged
// items, nested in containers, of which each release brings new kinds. What is not
// known is skipped. It calls nothing and is the same, and tested, on every
// platform.
package kcdata
