//go:build !other

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// cacheOperation is a call of the cache, as fixtures/cache/README.md has it.
type cacheOperation struct {
	Op  string          `json:"op"`
	Old json.RawMessage `json:"old"`
	New json.RawMessage `json:"new"`
}

type cacheState struct {
	Op        int               `json:"op"`
	Error     string            `json:"error,omitempty"`
	Nodes     []cachedNode      `json:"nodes"`
	Pods      map[string]string `json:"pods"`
	Assumed   []string          `json:"assumed"`
	Snapshots []cacheSnapshot   `json:"snapshots"`
}

type cachedNode struct {
	Name         string           `json:"name"`
	Imaginary    bool             `json:"imaginary,omitempty"`
	Version      string           `json:"version,omitempty"`
	Allocatable  map[string]int64 `json:"allocatable"`
	Pods         []string         `json:"pods"`
	Affinity     []string         `json:"affinity"`
	AntiAffinity []string         `json:"antiAffinity"`
	Requested    map[string]int64 `json:"requested"`
	NonZero      []int64          `json:"nonZero"`
	Ports        []string         `json:"ports"`
	Claims       map[string]int   `json:"claims"`
	Images       map[string]image `json:"images"`
}

type image [2]int64

type cacheSnapshot struct {
	Error        string       `json:"error,omitempty"`
	Newer        int          `json:"newer"`
	Nodes        []cachedNode `json:"nodes"`
	Found        []string     `json:"found"`
	Affinity     []string     `json:"affinity"`
	AntiAffinity []string     `json:"antiAffinity"`
	Claims       []string     `json:"claims"`
}

// cacheWorld is a cache, a snapshot that is updated after every operation, and one that is updated on demand.
type cacheWorld struct {
	cache     internalcache.Cache
	logger    klog.Logger
	snapshots [2]*internalcache.Snapshot
	// What scripts have named so far: the cache is asked for each of them.
	nodes, claims sets.Set[string]
	pods          map[string]*corev1.Pod
}

func playCache(line []byte) (any, error) {
	var script struct {
		Operations []cacheOperation `json:"operations"`
	}
	if err := json.Unmarshal(line, &script); err != nil {
		return nil, err
	}
	metrics.Register()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w := &cacheWorld{
		cache: internalcache.New(ctx, nil, false), logger: klog.FromContext(ctx),
		snapshots: [2]*internalcache.Snapshot{internalcache.NewEmptySnapshot(), internalcache.NewEmptySnapshot()},
		nodes:     sets.New[string](), claims: sets.New[string](), pods: map[string]*corev1.Pod{},
	}
	states := []*cacheState{}
	for number, op := range script.Operations {
		state, err := w.step(op)
		if err != nil {
			return nil, fmt.Errorf("operation %d: %w", number, err)
		}
		state.Op = number
		states = append(states, state)
	}
	return states, nil
}

func (w *cacheWorld) step(op cacheOperation) (*cacheState, error) {
	failures := [2]error{}
	var failure error
	if op.Op == "UpdateSnapshot" {
		failures[1] = w.cache.UpdateSnapshot(w.logger, w.snapshots[1])
	} else {
		var err error
		if failure, err = w.call(op); err != nil {
			return nil, err
		}
	}
	failures[0] = w.cache.UpdateSnapshot(w.logger, w.snapshots[0])
	state := w.state()
	state.Error = message(failure)
	for i, snapshot := range w.snapshots {
		shown, err := w.show(snapshot)
		if err != nil {
			return nil, err
		}
		shown.Error = message(failures[i])
		state.Snapshots = append(state.Snapshots, shown)
	}
	return state, nil
}

// call calls the cache; what the cache refuses is the first result.
func (w *cacheWorld) call(op cacheOperation) (refused, err error) {
	if op.Op == "AddNode" || op.Op == "UpdateNode" || op.Op == "RemoveNode" {
		return w.callForNode(op)
	}
	old, err := w.pod(op.Old)
	if err != nil {
		return nil, err
	}
	pod, err := w.pod(op.New)
	if err != nil {
		return nil, err
	}
	switch op.Op {
	case "AssumePod":
		return w.cache.AssumePod(w.logger, pod), nil
	case "ForgetPod":
		return w.cache.ForgetPod(w.logger, old), nil
	case "AddPod":
		return w.cache.AddPod(w.logger, pod), nil
	case "UpdatePod":
		return w.cache.UpdatePod(w.logger, old, pod), nil
	case "RemovePod":
		return w.cache.RemovePod(w.logger, old), nil
	}
	return nil, fmt.Errorf("unknown operation %q", op.Op)
}

func (w *cacheWorld) callForNode(op cacheOperation) (refused, err error) {
	old, err := w.node(op.Old)
	if err != nil {
		return nil, err
	}
	node, err := w.node(op.New)
	if err != nil {
		return nil, err
	}
	switch op.Op {
	case "AddNode":
		w.cache.AddNode(w.logger, node)
	case "UpdateNode":
		w.cache.UpdateNode(w.logger, old, node)
	default:
		return w.cache.RemoveNode(w.logger, old), nil
	}
	return nil, nil
}

func (w *cacheWorld) pod(text json.RawMessage) (*corev1.Pod, error) {
	if text == nil {
		return nil, nil
	}
	obj, err := decodeObject(text)
	pod, ok := obj.(*corev1.Pod)
	if err != nil || !ok {
		return nil, fmt.Errorf("want a Pod, found %T: %w", obj, err)
	}
	w.nodes.Insert(pod.Spec.NodeName)
	w.pods[string(pod.UID)] = pod
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil {
			w.claims.Insert(pod.Namespace + "/" + volume.PersistentVolumeClaim.ClaimName)
		}
	}
	return pod, nil
}

func (w *cacheWorld) node(text json.RawMessage) (*corev1.Node, error) {
	if text == nil {
		return nil, nil
	}
	obj, err := decodeObject(text)
	node, ok := obj.(*corev1.Node)
	if err != nil || !ok {
		return nil, fmt.Errorf("want a Node, found %T: %w", obj, err)
	}
	w.nodes.Insert(node.Name)
	return node, nil
}

// --- what the cache is like ---------------------------------------------------------------------------

// state lists nodes in the order of the cache's list, the one that changed last first.
func (w *cacheWorld) state() *cacheState {
	dump := w.cache.Dump()
	state := &cacheState{Nodes: []cachedNode{}, Pods: map[string]string{}, Assumed: sets.List(dump.AssumedPods)}
	names := slices.SortedFunc(maps.Keys(dump.Nodes), func(a, b string) int {
		return cmp.Compare(dump.Nodes[b].Generation, dump.Nodes[a].Generation)
	})
	for _, name := range names {
		state.Nodes = append(state.Nodes, showNode(name, dump.Nodes[name]))
	}
	for uid, pod := range w.pods {
		if found, err := w.cache.GetPod(pod); err == nil {
			state.Pods[uid] = shown(found) + " on " + found.Spec.NodeName
		}
	}
	return state
}

func (w *cacheWorld) show(snapshot *internalcache.Snapshot) (cacheSnapshot, error) {
	all, _ := snapshot.List()
	affinity, _ := snapshot.HavePodsWithAffinityList()
	antiAffinity, _ := snapshot.HavePodsWithRequiredAntiAffinityList()
	result := cacheSnapshot{
		Nodes: []cachedNode{}, Found: []string{}, Affinity: namesOf(affinity), AntiAffinity: namesOf(antiAffinity), Claims: []string{},
	}
	for _, info := range all {
		concrete, ok := info.(*framework.NodeInfo)
		if !ok {
			return result, fmt.Errorf("want a NodeInfo, found %T", info)
		}
		result.Nodes = append(result.Nodes, showNode(concrete.Node().Name, concrete))
	}
	for _, name := range sets.List(w.nodes) {
		if _, err := snapshot.Get(name); err == nil {
			result.Found = append(result.Found, name)
		}
	}
	for _, claim := range sets.List(w.claims) {
		if snapshot.IsPVCUsedByPods(claim) {
			result.Claims = append(result.Claims, claim)
		}
	}
	generation := reflect.ValueOf(snapshot).Elem().FieldByName("generation").Int()
	for _, info := range w.cache.Dump().Nodes {
		if info.Generation > generation {
			result.Newer++
		}
	}
	return result, nil
}

func showNode(name string, info *framework.NodeInfo) cachedNode {
	result := cachedNode{
		Name: name, Imaginary: info.Node() == nil,
		Pods: showAll(info.Pods), Affinity: showAll(info.PodsWithAffinity), AntiAffinity: showAll(info.PodsWithRequiredAntiAffinity),
		Requested: amounts(info.Requested), Allocatable: amounts(info.Allocatable),
		NonZero: []int64{info.NonZeroRequested.MilliCPU, info.NonZeroRequested.Memory},
		Ports:   []string{}, Claims: info.PVCRefCounts, Images: map[string]image{},
	}
	if info.Node() != nil {
		result.Version = info.Node().Labels["version"]
	} else {
		// What remains of a node that is gone is never read.
		result.Allocatable = map[string]int64{}
		info.ImageStates = nil
	}
	for ip, ports := range info.UsedPorts {
		for port := range ports {
			result.Ports = append(result.Ports, fmt.Sprintf("%s %s %d", ip, port.Protocol, port.Port))
		}
	}
	slices.Sort(result.Ports)
	for name, state := range info.ImageStates {
		result.Images[name] = image{state.Size, int64(state.NumNodes)}
	}
	return result
}

func amounts(resource *framework.Resource) map[string]int64 {
	result := map[string]int64{}
	set := func(name string, amount int64) {
		if amount != 0 {
			result[name] = amount
		}
	}
	set("cpu", resource.MilliCPU)
	set("memory", resource.Memory)
	set("ephemeral-storage", resource.EphemeralStorage)
	set("pods", int64(resource.AllowedPodNumber))
	for name, amount := range resource.ScalarResources {
		set(string(name), amount)
	}
	return result
}

func showAll(pods []fwk.PodInfo) []string {
	result := []string{}
	for _, pod := range pods {
		result = append(result, shown(pod.GetPod()))
	}
	return result
}

func shown(pod *corev1.Pod) string {
	return string(pod.UID) + "@" + pod.Labels["version"]
}

func namesOf(nodes []fwk.NodeInfo) []string {
	result := []string{}
	for _, node := range nodes {
		result = append(result, node.Node().Name)
	}
	return result
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
