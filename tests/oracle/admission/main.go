// Command admission asks the API server's own packages what they make of new pods, claims and workloads.
//
// It reads cases (see fixtures/admission), and writes their results back into the file: the object as it would be
// stored, as far as scheduling reads it, or the refusal.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// kase is a namespace with objects around (setup), and objects to create in it, one after another.
type kase struct {
	Title     string            `json:"title"`
	Namespace string            `json:"namespace"`
	Setup     []json.RawMessage `json:"setup"`
	Pods      []json.RawMessage `json:"pods"`
	Results   []any             `json:"results"`
}

func main() {
	for _, path := range os.Args[1:] {
		if err := judge(path); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(2)
		}
	}
}

func judge(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var cases []kase
	if err := json.Unmarshal(text, &cases); err != nil {
		return err
	}
	lines := make([]string, len(cases))
	for i := range cases {
		if cases[i].Results, err = create(cases[i]); err != nil {
			return fmt.Errorf("%s: %w", cases[i].Title, err)
		}
		line, err := json.Marshal(cases[i])
		if err != nil {
			return err
		}
		lines[i] = " " + string(line)
	}
	return os.WriteFile(path, []byte("[\n"+strings.Join(lines, ",\n")+"\n]\n"), 0o644)
}
