// The judge of Pod Security: what k8s.io/pod-security-admission says of pods in namespaces with labels.
//
// Reads cases from standard input, one JSON document a line, and writes each back with its answer:
//
//	{"labels": {...}, "minor": 36, "pod": {...}}  ->  the same, with "answer": {...}
//
// `minor` is the release of the API server: `latest` means that, and no newer version counts.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

type verdict struct {
	Policy    string `json:"policy"`
	Forbidden string `json:"forbidden"`
}

type answer struct {
	Enforce verdict `json:"enforce"`
	Warn    verdict `json:"warn"`
	Audit   verdict `json:"audit"`
}

type question struct {
	Labels map[string]string `json:"labels"`
	Minor  int               `json:"minor"`
	Pod    json.RawMessage   `json:"pod"`
	Answer *answer           `json:"answer,omitempty"`
}

var privileged = api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run() error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return err
		}
		var pod corev1.Pod
		if err := json.Unmarshal(asked.Pod, &pod); err != nil {
			return err
		}
		answered, err := judge(&asked, &pod)
		if err != nil {
			return err
		}
		asked.Answer = answered
		data, err := json.Marshal(asked)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, string(data))
	}
	return lines.Err()
}

func judge(asked *question, pod *corev1.Pod) (*answer, error) {
	emulated := api.MajorMinorVersion(1, asked.Minor)
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), &emulated)
	if err != nil {
		return nil, err
	}
	defaults := api.Policy{Enforce: privileged, Warn: privileged, Audit: privileged}
	levels, _ := api.PolicyToEvaluate(asked.Labels, defaults)
	say := func(level api.LevelVersion) verdict {
		result := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec))
		return verdict{Policy: level.String(), Forbidden: result.ForbiddenDetail()}
	}
	return &answer{Enforce: say(levels.Enforce), Warn: say(levels.Warn), Audit: say(levels.Audit)}, nil
}
