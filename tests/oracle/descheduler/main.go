// The judge of `kwhatif deschedule`: see README.md.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"k8s.io/klog/v2"

	"sigs.k8s.io/descheduler/pkg/descheduler"
)

// A question: a cluster, a policy, and the moment that ages count to.
type question struct {
	Now     string            `json:"now"`
	Policy  string            `json:"policy"`
	Cluster []json.RawMessage `json:"cluster"`
	// How often to run it: upstream walks over maps.
	Runs int `json:"runs"`
}

func main() {
	klog.SetOutput(os.Stderr)
	klog.LogToStderr(false)
	descheduler.SetupPlugins()
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
func judge(line []byte) map[string]any {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return map[string]any{"failure": err.Error()}
	}
	now, err := time.Parse(time.RFC3339, asked.Now)
	if err != nil {
		return map[string]any{"failure": err.Error()}
	}
	seen := map[string]bool{}
	outcomes := []outcome{}
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
		if found.Error != "" {
			break
		}
	}
	return map[string]any{"outcomes": outcomes}
}
