// Package config reads the recorder's configuration: a TOML file in which
// every key is optional.
//
// The keys are rows of one table (keys.go): path, how to read the value, how to write it back.
// default.toml has the same keys for people, with a comment for each; tests keep the two in
// step.
//
// The recorder runs as root and may be pointed at any file, so nothing in this
// package ever puts the content of a line into an error: an error names the
// file, the line, the key and what is expected.
package config
