// Package kcdata reads stackshots of Darwin's kernel: tagged items, nested in containers, of
// which each release brings new kinds. It skips unknown kinds. It makes no calls and is the
// same, and tested, on every platform.
package kcdata
