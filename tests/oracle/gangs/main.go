// The judge of groups of pods: see README.md.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	_ "k8s.io/kubernetes/pkg/features"
)

// A question: a cluster, and what is made in it, in this order.
type question struct {
	Cluster  []json.RawMessage `json:"cluster"`
	Manifest []json.RawMessage `json:"manifest"`
	// How often to run it: ties are broken by chance.
	Runs int `json:"runs"`
}

func main() {
	gates := flag.String("feature-gates", "GenericWorkload=true", "the gates of all questions")
	workers := flag.Int("workers", 16, "how many schedulers run at a time: they mostly wait")
	admitted := flag.String("admission", "", "a file of PodGroups and Workloads: what the API server makes of each is written into it")
	flag.Parse()
	if *admitted != "" {
		if err := decideAdmission(*admitted); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		return
	}
	silent := flag.NewFlagSet("", flag.ExitOnError)
	klog.InitFlags(silent)
	for _, each := range []string{"-logtostderr=false", "-stderrthreshold=FATAL"} {
		_ = silent.Parse([]string{each})
	}
	klog.SetOutput(io.Discard)
	if err := utilfeature.DefaultMutableFeatureGate.Set(*gates); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	slots := make(chan struct{}, *workers)
	var writing sync.Mutex
	var running sync.WaitGroup
	out := json.NewEncoder(os.Stdout)
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for number := 0; ; number++ {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			running.Add(1)
			go func() {
				defer running.Done()
				answer := judge(line, slots)
				answer["number"] = number
				writing.Lock()
				defer writing.Unlock()
				if err := out.Encode(answer); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(2)
				}
			}()
		}
		if err != nil {
			break
		}
	}
	running.Wait()
}

// Every distinct outcome of a question with how often it was seen, or why there is none.
func judge(line []byte, slots chan struct{}) map[string]any {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return map[string]any{"failure": err.Error()}
	}
	runs := max(asked.Runs, 1)
	found := make([]string, runs)
	failures := make([]error, runs)
	var running sync.WaitGroup
	for i := range runs {
		running.Add(1)
		go func() {
			defer running.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			outcome, err := run(asked)
			if err != nil {
				failures[i] = err
				return
			}
			text, _ := json.Marshal(outcome)
			found[i] = string(text)
		}()
	}
	running.Wait()
	times := map[string]int{}
	for i, err := range failures {
		if err != nil {
			return map[string]any{"failure": err.Error()}
		}
		times[found[i]]++
	}
	outcomes := []any{}
	for text, count := range times {
		outcomes = append(outcomes, map[string]any{"times": count, "outcome": json.RawMessage(text)})
	}
	return map[string]any{"outcomes": outcomes}
}
