package main

import (
	"bytes"
	"encoding/json"
	"slices"

	"kwhatif.dev/oracle/fwk"
)

// expected is the content of expected.json: everything kube-scheduler says about one case, in an order that
// does not depend on chance. The README of the cases explains each field.
type expected struct {
	// Error is set, alone, when the scheduler would not have finished its cycle or never begun one.
	Error string `json:"error,omitempty"`

	Pod                  string               `json:"pod,omitempty"`
	Priority             *int32               `json:"priority,omitempty"`
	PreEnqueue           string               `json:"preEnqueue,omitempty"`
	PreFilter            string               `json:"preFilter,omitempty"`
	Feasible             []string             `json:"feasible,omitzero"`
	Rejected             map[string]verdict   `json:"rejected,omitzero"`
	Scores               map[string]nodeScore `json:"scores,omitempty"`
	Best                 []string             `json:"best,omitempty"`
	Message              string               `json:"message,omitempty"`
	Event                string               `json:"event,omitempty"`
	UnschedulablePlugins []string             `json:"unschedulablePlugins,omitempty"`
	Preemption           *preemptionOutcome   `json:"preemption,omitempty"`
}

// verdict is why a node was turned down.
type verdict struct {
	Code    string   `json:"code"`
	Plugin  string   `json:"plugin"`
	Reasons []string `json:"reasons"`
}

// nodeScore is a node's sum of scores and what each plugin gave, normalised and weighted.
type nodeScore struct {
	Total   int64            `json:"total"`
	Plugins map[string]int64 `json:"plugins"`
}

// preemptionOutcome is what DefaultPreemption found on all nodes it could try.
type preemptionOutcome struct {
	Eligible     bool               `json:"eligible"`
	Message      string             `json:"message,omitempty"`
	Candidates   []candidate        `json:"candidates"`
	Chosen       []string           `json:"chosen"`
	NodeStatuses map[string]verdict `json:"nodeStatuses,omitempty"`
}

// candidate is a node on which evicting the victims makes room.
type candidate struct {
	Node          string   `json:"node"`
	Victims       []string `json:"victims"`
	PDBViolations int64    `json:"pdbViolations"`
}

// newVerdict copies a status. Reasons are sorted because the scheduler collects some of them from maps.
func newVerdict(status *fwk.Status) verdict {
	reasons := append([]string{}, status.Reasons()...)
	slices.Sort(reasons)
	return verdict{Code: status.Code().String(), Plugin: status.Plugin(), Reasons: reasons}
}

// describe is how a status of a single plugin is told: its name and its words.
func describe(status *fwk.Status) string {
	if status.Plugin() == "" {
		return status.Message()
	}
	return status.Plugin() + ": " + status.Message()
}

// render lays the answer out for a file that people read and version control compares.
func (e *expected) render() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(e); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
