package main

import (
	"cmp"
	"context"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"kwhatif.dev/oracle/fwk"
)

// rankings is how often two candidates are ranked against each other before they count as unequal. The
// scheduler ranks them in the order of a map, which starts at a random one of eight slots: of two equal ones the
// second wins one time in eight, so it stays unnoticed with a probability of (7/8)^512, about 2^-98.
const rankings = 512

// findDefaultPreemption returns the plugin if the profile runs it at PostFilter, else nil. A framework does
// not give out its plugins, except to those who register their events.
func findDefaultPreemption(profile framework.Framework) *defaultpreemption.DefaultPreemption {
	enabled := slices.ContainsFunc(profile.ListPlugins().PostFilter.Enabled, func(plugin schedulerapi.Plugin) bool {
		return plugin.Name == defaultpreemption.Name
	})
	if !enabled {
		return nil
	}
	for _, extension := range profile.EnqueueExtensions() {
		if plugin, ok := extension.(*defaultpreemption.DefaultPreemption); ok {
			return plugin
		}
	}
	return nil
}

// preempt does what Evaluator.Preempt does up to the choice, but tries every node and keeps all candidates.
// fitMessage is the reason to give when there is no node to try.
func (c *cycle) preempt(ctx context.Context, evaluator *preemption.Evaluator, fitMessage string) (*preemptionOutcome, error) {
	outcome := &preemptionOutcome{Candidates: []candidate{}, Chosen: []string{}}
	statuses := c.diagnosis.NodeToStatus
	outcome.Eligible, outcome.Message = evaluator.PodEligibleToPreemptOthers(ctx, c.pod, statuses.Get(c.pod.Status.NominatedNodeName))
	if !outcome.Eligible {
		return outcome, nil
	}
	nodes, err := statuses.NodesForStatusCode(c.profile.SnapshotSharedLister().NodeInfos(), fwk.Unschedulable)
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		outcome.Message = fitMessage
		return outcome, nil
	}
	budgets, err := evaluator.PdbLister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	found, failed := c.tryNodes(ctx, evaluator, nodes, budgets)
	outcome.Candidates = tellCandidates(found)
	outcome.Chosen = equallyGood(ctx, evaluator, found)
	outcome.NodeStatuses = failed
	return outcome, nil
}

// tryNodes asks about one node at a time. A dry run over all of them would stop when it has as many
// candidates as nodes: never too early, but it would also throw errors of single nodes together.
func (c *cycle) tryNodes(ctx context.Context, evaluator *preemption.Evaluator, nodes []fwk.NodeInfo, budgets []*policyv1.PodDisruptionBudget) ([]preemption.Candidate, map[string]verdict) {
	var found []preemption.Candidate
	failed := map[string]verdict{}
	for _, node := range nodes {
		// The error repeats what the status of its node says.
		candidates, statuses, _ := evaluator.DryRunPreemption(ctx, c.state, c.pod, []fwk.NodeInfo{node}, budgets, 0, 1)
		found = append(found, candidates...)
		statuses.ForEachExplicitNode(func(name string, status *fwk.Status) {
			failed[name] = newVerdict(status)
		})
	}
	return found, failed
}

func tellCandidates(found []preemption.Candidate) []candidate {
	told := []candidate{}
	for _, f := range found {
		victims := []string{}
		for _, pod := range f.Victims().Pods {
			victims = append(victims, pod.Namespace+"/"+pod.Name)
		}
		told = append(told, candidate{Node: f.Name(), Victims: victims, PDBViolations: f.Victims().NumPDBViolations})
	}
	slices.SortFunc(told, func(a, b candidate) int { return cmp.Compare(a.Node, b.Node) })
	return told
}

// equallyGood names all candidates that the scheduler might choose: one that it did choose, and those that
// can win against that one.
func equallyGood(ctx context.Context, evaluator *preemption.Evaluator, found []preemption.Candidate) []string {
	names := []string{}
	if len(found) == 0 {
		return names
	}
	winner := evaluator.SelectCandidate(ctx, found)
	for _, other := range found {
		if other.Name() == winner.Name() || beats(ctx, evaluator, other, winner) {
			names = append(names, other.Name())
		}
	}
	slices.Sort(names)
	return names
}

func beats(ctx context.Context, evaluator *preemption.Evaluator, other, winner preemption.Candidate) bool {
	for range rankings {
		if evaluator.SelectCandidate(ctx, []preemption.Candidate{winner, other}).Name() == other.Name() {
			return true
		}
	}
	return false
}
