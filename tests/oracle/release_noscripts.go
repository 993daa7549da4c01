//go:build other

package main

import "errors"

// playScripts refuses: scripts say what one release's queue does, which is the one in go.mod.
func playScripts(options) error {
	return errors.New("scripts are played with the release in go.mod only: make oracle, without RELEASE")
}
