//go:build !other

package main

import (
	"path/filepath"
	"slices"
	"testing"
)

// Several at once, as in a batch: cases must not disturb each other.
func TestStoredAnswers(t *testing.T) {
	for a := range judgeAll(slices.Values(storedCases(t)), 4) {
		for _, difference := range compareStored(filepath.Join(a.dir, "expected.json"), a.expected) {
			t.Errorf("%s: %s", a.dir, difference)
		}
	}
}
