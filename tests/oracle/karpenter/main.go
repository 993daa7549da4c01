// The judge of `kwhatif autoscale` and `consolidate` for Karpenter: see README.md.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"k8s.io/klog/v2"
)

// A question: a cluster, the instance types, the moment, and whether nodes are to come ("autoscale") or to go.
type question struct {
	Now     string            `json:"now"`
	Ask     string            `json:"ask"`
	Cluster []json.RawMessage `json:"cluster"`
	Types   []instanceType    `json:"types"`
	// How often to run it: upstream walks over maps.
	Runs int `json:"runs"`
	// Karpenter's own arguments, such as --preference-policy=Ignore.
	Flags []string `json:"flags"`
}

func main() {
	klog.SetOutput(os.Stderr)
	klog.LogToStderr(false)
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if failure := out.Encode(judge(line)); failure != nil {
				fmt.Fprintln(os.Stderr, failure)
				os.Exit(2)
			}
		}
		if err != nil {
			return
		}
	}
}

// Every distinct outcome of a question, or why there is none.
func judge(line []byte) (answer map[string]any) {
	defer func() {
		if panicked := recover(); panicked != nil {
			answer = map[string]any{"failure": fmt.Sprint(panicked)}
		}
	}()
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return map[string]any{"failure": err.Error()}
	}
	now, err := time.Parse(time.RFC3339, asked.Now)
	if err != nil {
		return map[string]any{"failure": err.Error()}
	}
	seen := map[string]bool{}
	outcomes := []any{}
	for i := 0; i < max(asked.Runs, 1); i++ {
		found, failure := run(asked, now)
		if failure != nil {
			return map[string]any{"failure": failure.Error()}
		}
		text, _ := json.Marshal(found)
		if !seen[string(text)] {
			seen[string(text)] = true
			outcomes = append(outcomes, found)
		}
	}
	return map[string]any{"outcomes": outcomes}
}
