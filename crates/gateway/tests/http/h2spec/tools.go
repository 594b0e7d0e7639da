//go:build tools

// Package tools names h2spec, so that go.mod keeps the modules that it is built from.
package tools

import _ "github.com/summerwind/h2spec/cmd/h2spec"
