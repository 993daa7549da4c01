package main

import (
	"context"
	"flag"
	"fmt"
	"sort"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	requirements "sigs.k8s.io/karpenter/pkg/scheduling"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"
)

type claim struct {
	Group         string   `json:"group"`
	InstanceTypes []string `json:"instanceTypes"`
	Requirements  []string `json:"requirements"`
	Cheapest      string   `json:"cheapest"`
	Pods          []string `json:"pods"`
}

type round struct {
	NewNodes []claim             `json:"newNodes"`
	Existing []map[string]any    `json:"existing"`
	Refused  []map[string]string `json:"refused"`
	Ignored  []map[string]string `json:"ignored"`
}

type command struct {
	Reason       string   `json:"reason"`
	Nodes        []string `json:"nodes"`
	Replacements []claim  `json:"replacements"`
}

type plan struct {
	Commands []command        `json:"commands"`
	Kept     []map[string]any `json:"kept"`
}

func run(asked question, now time.Time) (any, error) {
	settings := &options.Options{}
	flags := &options.FlagSet{FlagSet: flag.NewFlagSet("karpenter", flag.ContinueOnError)}
	settings.AddFlags(flags)
	if err := settings.Parse(flags, asked.Flags...); err != nil {
		return nil, err
	}
	ctx := log.IntoContext(options.ToContext(context.Background(), settings), logr.Discard())
	w, err := newWorld(ctx, asked, now)
	if err != nil {
		return nil, err
	}
	if asked.Ask == "consolidate" {
		return w.disrupt(ctx)
	}
	return w.provision(ctx)
}

// --- provisioning ---------------------------------------------------------------------------------------------------

func (w *world) provision(ctx context.Context) (any, error) {
	found := round{}
	pending, err := nodeutils.GetProvisionablePods(ctx, w.client)
	if err != nil {
		return nil, err
	}
	for _, pod := range pending {
		if wrong := w.provisioner.Validate(ctx, pod); wrong != nil {
			found.Ignored = append(found.Ignored, map[string]string{"pod": key(pod), "reason": wrong.Error()})
		}
	}
	results, err := w.provisioner.Schedule(ctx)
	if err != nil {
		return nil, err
	}
	for _, each := range results.NewNodeClaims {
		found.NewNodes = append(found.NewNodes, newClaim(each))
	}
	for _, each := range results.ExistingNodes {
		if len(each.Pods) > 0 {
			found.Existing = append(found.Existing, map[string]any{"node": each.Name(), "pods": keys(each.Pods)})
		}
	}
	for pod, refusal := range results.PodErrors {
		row := map[string]string{"pod": key(pod), "message": refusal.Error()}
		if scheduling.IsReservedOfferingError(refusal) {
			found.Ignored = append(found.Ignored, map[string]string{"pod": key(pod), "reason": refusal.Error()})
		} else {
			found.Refused = append(found.Refused, row)
		}
	}
	sortRows(found.Refused)
	sortRows(found.Ignored)
	sort.Slice(found.NewNodes, func(i, j int) bool { return fmt.Sprint(found.NewNodes[i].Pods) < fmt.Sprint(found.NewNodes[j].Pods) })
	return found, nil
}

func sortRows(rows []map[string]string) {
	sort.Slice(rows, func(i, j int) bool { return rows[i]["pod"] < rows[j]["pod"] })
}

func key(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

func keys(pods []*corev1.Pod) []string {
	found := []string{}
	for _, pod := range pods {
		found = append(found, key(pod))
	}
	sort.Strings(found)
	return found
}

func newClaim(made *scheduling.NodeClaim) claim {
	found := claim{Group: made.NodePoolName, Pods: keys(made.Pods), InstanceTypes: []string{}}
	for _, each := range made.Requirements {
		found.Requirements = append(found.Requirements, shown(each))
	}
	sort.Strings(found.Requirements)
	best := ""
	least := 0.0
	for _, each := range made.InstanceTypeOptions {
		found.InstanceTypes = append(found.InstanceTypes, each.Name)
		for _, offered := range each.Offerings.Available().Compatible(made.Requirements) {
			text := fmt.Sprintf("%s %s %s %v", each.Name, offered.Zone(), offered.CapacityType(), offered.Price)
			if best == "" || offered.Price < least || (offered.Price == least && text < best) {
				best, least = text, offered.Price
			}
		}
	}
	sort.Strings(found.InstanceTypes)
	found.Cheapest = best
	return found
}

func shown(each *requirements.Requirement) string {
	selector := each.NodeSelectorRequirement()
	text := fmt.Sprintf("%s %s %v", selector.Key, selector.Operator, selector.Values)
	if selector.MinValues != nil {
		text += fmt.Sprintf(" minValues=%d", *selector.MinValues)
	}
	return text
}

// --- disruption -----------------------------------------------------------------------------------------------------

func (w *world) disrupt(ctx context.Context) (any, error) {
	queue := disruption.NewQueue(w.client, w.recorder, w.cluster, w.clock, w.provisioner)
	found := plan{Commands: []command{}}
	for _, method := range disruption.NewMethods(w.clock, w.cluster, w.client, w.provisioner, w.cloud, w.recorder, queue) {
		commands, err := w.commandsOf(ctx, method, queue)
		if err != nil {
			return nil, err
		}
		if len(commands) > 0 {
			found.Commands = commands
			break
		}
	}
	found.Kept = w.kept()
	return found, nil
}

func (w *world) commandsOf(ctx context.Context, method disruption.Method, queue *disruption.Queue) ([]command, error) {
	candidates, totals, err := disruption.GetCandidatesWithTotals(ctx, w.cluster, w.client, w.recorder, w.clock, w.cloud, method.ShouldDisrupt, method.Class(), queue, nil)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	if setter, ok := method.(disruption.NodePoolTotalsSetter); ok {
		setter.SetNodePoolTotals(totals)
	}
	budgets, err := disruption.BuildDisruptionBudgetMapping(ctx, w.cluster, w.clock, w.client, w.cloud, w.recorder, method.Reason())
	if err != nil {
		return nil, err
	}
	commands, err := w.waiting(func() ([]disruption.Command, error) { return method.ComputeCommands(ctx, budgets, candidates...) })
	if err != nil {
		return nil, err
	}
	found := []command{}
	for _, each := range commands {
		if each.Decision() == disruption.NoOpDecision {
			continue
		}
		row := command{Reason: string(method.Reason()), Nodes: each.SourceNodeNames(), Replacements: []claim{}}
		sort.Strings(row.Nodes)
		for _, replacement := range each.Replacements {
			row.Replacements = append(row.Replacements, newClaim(replacement.NodeClaim))
		}
		found = append(found, row)
	}
	return found, nil
}

// Commands are validated after a while: let it pass.
func (w *world) waiting(compute func() ([]disruption.Command, error)) ([]disruption.Command, error) {
	type answer struct {
		commands []disruption.Command
		err      error
	}
	done := make(chan answer)
	start := w.clock.Now()
	go func() {
		commands, err := compute()
		done <- answer{commands, err}
	}()
	for {
		select {
		case found := <-done:
			w.clock.SetTime(start)
			return found.commands, found.err
		case <-time.After(time.Millisecond):
			if w.clock.HasWaiters() {
				w.clock.Step(15 * time.Second)
			}
		}
	}
}

func (w *world) kept() []map[string]any {
	messages := map[string]map[string]bool{}
	for _, event := range w.recorder.seen {
		node, ok := event.InvolvedObject.(*corev1.Node)
		name := ""
		if ok && node != nil {
			name = node.Name
		} else if claim, ok := event.InvolvedObject.(*v1.NodeClaim); ok && claim.Status.NodeName == "" {
			name = claim.Name
		}
		if name == "" || (event.Reason != events.DisruptionBlocked && event.Reason != events.Unconsolidatable) {
			continue
		}
		if messages[name] == nil {
			messages[name] = map[string]bool{}
		}
		messages[name][event.Reason+": "+event.Message] = true
	}
	rows := []map[string]any{}
	for name, said := range messages {
		texts := []string{}
		for text := range said {
			texts = append(texts, text)
		}
		sort.Strings(texts)
		rows = append(rows, map[string]any{"node": name, "messages": texts})
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i]["node"].(string) < rows[j]["node"].(string) })
	return rows
}
