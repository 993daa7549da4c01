package main

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"kwhatif.dev/oracle/fwk"
)

// cycle is one scheduling cycle of the candidate. It calls the extension points as the scheduler does, but
// looks at every node, and keeps what the scheduler throws away on success.
type cycle struct {
	profile framework.Framework
	state   fwk.CycleState
	pod     *corev1.Pod
	nodes   []fwk.NodeInfo

	feasible  []fwk.NodeInfo
	diagnosis framework.Diagnosis
	// preFilter is the status that ended the cycle before any node was looked at; nil otherwise.
	preFilter *fwk.Status
}

// decide runs the cycle and tells everything about it. An error is one that would have ended the cycle.
func decide(ctx context.Context, sched *scheduler.Scheduler, pod *corev1.Pod) (*expected, error) {
	profile, ok := sched.Profiles[pod.Spec.SchedulerName]
	if !ok {
		return nil, fmt.Errorf("profile not found for scheduler name %q", pod.Spec.SchedulerName)
	}
	c, err := newCycle(profile, pod)
	if err != nil {
		return nil, err
	}
	result := c.newResult(ctx)
	if err := c.run(ctx, result); err != nil && result.PreEnqueue == "" {
		return nil, err
	}
	// What the cycle of a pod that stays out of the queue would have come to does not matter.
	return result, nil
}

func (c *cycle) run(ctx context.Context, result *expected) error {
	if len(c.nodes) == 0 {
		result.Message = scheduler.ErrNoNodesAvailable.Error()
		return nil
	}
	if err := c.filter(ctx); err != nil {
		return err
	}
	c.tellFilter(result)
	if len(c.feasible) == 0 {
		return c.tellFailure(ctx, result)
	}
	return c.tellScores(ctx, result)
}

func newCycle(profile framework.Framework, pod *corev1.Pod) (*cycle, error) {
	nodes, err := profile.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return nil, err
	}
	state := framework.NewCycleState()
	state.Write(framework.PodsToActivateKey, framework.NewPodsToActivate())
	return &cycle{
		profile:   profile,
		state:     state,
		pod:       pod,
		nodes:     nodes,
		diagnosis: framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()},
	}, nil
}

// newResult holds what is known before the cycle begins.
func (c *cycle) newResult(ctx context.Context) *expected {
	priority := corev1helpers.PodPriority(c.pod)
	return &expected{
		Pod:        c.pod.Namespace + "/" + c.pod.Name,
		Priority:   &priority,
		PreEnqueue: c.preEnqueue(ctx),
		Feasible:   []string{},
		Rejected:   map[string]verdict{},
	}
}

// preEnqueue says what keeps the pod out of the queue. The queue asks the plugins in an order left to chance,
// the oracle in that of the profile.
func (c *cycle) preEnqueue(ctx context.Context) string {
	for _, plugin := range c.profile.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(ctx, c.pod); !status.IsSuccess() {
			return describe(status.WithPlugin(plugin.Name()))
		}
	}
	return ""
}

// filter finds the feasible nodes and diagnoses the others (upstream: findNodesThatFitPod).
func (c *cycle) filter(ctx context.Context) error {
	subset, status, restrictors := c.profile.RunPreFilterPlugins(ctx, c.state, c.pod)
	c.diagnosis.UnschedulablePlugins = restrictors
	if !status.IsSuccess() {
		return c.stopAtPreFilter(status)
	}
	if c.fitsNominatedNode(ctx) {
		return nil
	}
	nodes := c.nodes
	if !subset.AllNodes() {
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(node fwk.NodeInfo) bool {
			return !subset.NodeNames.Has(node.Node().Name)
		})
		c.diagnosis.NodeToStatus.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
			fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(restrictors))))
	}
	feasible, err := c.filterNodes(ctx, nodes)
	c.feasible = feasible
	return err
}

// stopAtPreFilter gives every node the status with which PreFilter turned the pod down.
func (c *cycle) stopAtPreFilter(status *fwk.Status) error {
	if !status.IsRejected() {
		return status.AsError()
	}
	c.preFilter = status
	c.diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
	c.diagnosis.PreFilterMsg = status.Message()
	c.diagnosis.AddPluginStatus(status)
	return nil
}

// fitsNominatedNode tries the node that preemption promised the pod. If it fits, no other node is looked at;
// if anything fails, the search goes on over all nodes.
func (c *cycle) fitsNominatedNode(ctx context.Context) bool {
	name := c.pod.Status.NominatedNodeName
	if name == "" {
		return false
	}
	node, err := c.profile.SnapshotSharedLister().NodeInfos().Get(name)
	if err != nil {
		return false
	}
	feasible, err := c.filterNodes(ctx, []fwk.NodeInfo{node})
	if err != nil || len(feasible) == 0 {
		return false
	}
	c.feasible = feasible
	return true
}

// filterNodes returns the nodes that pass and notes why the others do not.
func (c *cycle) filterNodes(ctx context.Context, nodes []fwk.NodeInfo) ([]fwk.NodeInfo, error) {
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		status := c.profile.RunFilterPluginsWithNominatedPods(ctx, c.state, c.pod, node)
		switch {
		case status.IsSuccess():
			feasible = append(feasible, node)
		case status.Code() == fwk.Error:
			return nil, status.AsError()
		default:
			c.diagnosis.NodeToStatus.Set(node.Node().Name, status)
			c.diagnosis.AddPluginStatus(status)
		}
	}
	return feasible, nil
}

// tellFilter reports feasible and rejected nodes.
func (c *cycle) tellFilter(result *expected) {
	if c.preFilter != nil {
		result.PreFilter = describe(c.preFilter)
	}
	for _, node := range c.feasible {
		result.Feasible = append(result.Feasible, node.Node().Name)
	}
	slices.Sort(result.Feasible)
	for _, node := range c.nodes {
		name := node.Node().Name
		if _, fits := slices.BinarySearch(result.Feasible, name); !fits {
			result.Rejected[name] = newVerdict(c.diagnosis.NodeToStatus.Get(name))
		}
	}
	result.UnschedulablePlugins = sets.List(c.diagnosis.UnschedulablePlugins)
}

// tellScores reports how the feasible nodes compare (upstream: prioritizeNodes).
func (c *cycle) tellScores(ctx context.Context, result *expected) error {
	scores, err := c.score(ctx)
	if err != nil {
		return err
	}
	result.Scores = map[string]nodeScore{}
	for _, node := range scores {
		plugins := map[string]int64{}
		for _, score := range node.Scores {
			plugins[score.Name] = score.Score
		}
		result.Scores[node.Name] = nodeScore{Total: node.TotalScore, Plugins: plugins}
	}
	result.Best = best(scores)
	return nil
}

func (c *cycle) score(ctx context.Context) ([]fwk.NodePluginScores, error) {
	if !c.profile.HasScorePlugins() {
		var scores []fwk.NodePluginScores
		for _, node := range c.feasible {
			scores = append(scores, fwk.NodePluginScores{Name: node.Node().Name, TotalScore: 1})
		}
		return scores, nil
	}
	if status := c.profile.RunPreScorePlugins(ctx, c.state, c.pod, c.feasible); !status.IsSuccess() {
		return nil, status.AsError()
	}
	scores, status := c.profile.RunScorePlugins(ctx, c.state, c.pod, c.feasible)
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	return scores, nil
}

// best names the nodes of the highest total, any of which the scheduler may pick.
func best(scores []fwk.NodePluginScores) []string {
	var names []string
	var highest int64
	for _, score := range scores {
		if len(names) == 0 || score.TotalScore > highest {
			names, highest = nil, score.TotalScore
		}
		if score.TotalScore == highest {
			names = append(names, score.Name)
		}
	}
	slices.Sort(names)
	return names
}

// tellFailure reports what the scheduler says about a pod that fits nowhere, and what it would evict.
//
// Eviction is tried before PostFilter runs as a whole, because DynamicResources may end PostFilter before
// DefaultPreemption has its turn: the event says so, while preemption tells what eviction could have done. It
// has one side effect, which the stored cases have too. Claims that a dry run finds unavailable stay noted in
// the state of DynamicResources, which is shared by all copies of the cycle state. So its PostFilter may say
// "deallocation of ResourceClaim completed" where a live scheduler, in the other order, says "still not
// schedulable".
func (c *cycle) tellFailure(ctx context.Context, result *expected) error {
	fitError := &framework.FitError{Pod: c.pod, NumAllNodes: len(c.nodes), Diagnosis: c.diagnosis}
	result.Message = fitError.Error()
	if plugin := findDefaultPreemption(c.profile); plugin != nil {
		outcome, err := c.preempt(ctx, plugin.Evaluator, result.Message)
		if err != nil {
			return err
		}
		result.Preemption = outcome
		spare(plugin)
	}
	if c.profile.HasPostFilterPlugins() {
		_, status := c.profile.RunPostFilterPlugins(ctx, c.state, c.pod, c.diagnosis.NodeToStatus)
		fitError.Diagnosis.PostFilterMsg = status.Message()
	}
	result.Event = fitError.Error()
	return nil
}
