package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func TestMain(m *testing.M) {
	silenceScheduler(false)
	os.Exit(m.Run())
}

// storedCases are the conformance cases, or those in the folder that ORACLE_CASES names.
func storedCases(t *testing.T) []string {
	t.Helper()
	root := os.Getenv("ORACLE_CASES")
	if root == "" {
		root = filepath.Join("..", "..", "fixtures", "conformance")
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "*", "cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("no cases in %s", root)
	}
	var dirs []string
	for _, file := range files {
		dirs = append(dirs, filepath.Dir(file))
	}
	return dirs
}

// writeCase makes a case of two files.
func writeCase(t *testing.T, cluster, pod string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"cluster.yaml": cluster, "pod.yaml": pod} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const oneNode = `
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {capacity: {cpu: "2", memory: 4Gi, pods: "10"}}
`

const smallPod = `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
`

// The oracle walks through the cycle itself, in order to see more than the scheduler tells. Here the
// scheduler's own function decides the same cases, and both must agree on what it does tell.
func TestAgreesWithSchedulePod(t *testing.T) {
	for _, dir := range storedCases(t) {
		answer := judge(dir)
		if answer.Error != "" {
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		sched, scene := world(ctx, t, dir)
		profile := sched.Profiles[scene.candidate.Spec.SchedulerName]
		checkSchedulePod(ctx, t, dir, sched, profile, scene.candidate, answer)
		cancel()
	}
}

func world(ctx context.Context, t *testing.T, dir string) (*scheduler.Scheduler, *scene) {
	t.Helper()
	raw, err := readCase(dir)
	if err != nil {
		t.Fatal(err)
	}
	scene, err := prepare(raw)
	if err != nil {
		t.Fatal(err)
	}
	considerAllCandidates(scene.config)
	sched, err := newWorld(ctx, scene)
	if err != nil {
		t.Fatal(err)
	}
	return sched, scene
}

// considerAllCandidates stops preemption from being content with a few of the candidates.
func considerAllCandidates(config *schedulerapi.KubeSchedulerConfiguration) {
	for _, profile := range config.Profiles {
		for _, plugin := range profile.PluginConfig {
			if args, ok := plugin.Args.(*schedulerapi.DefaultPreemptionArgs); ok {
				args.MinCandidateNodesPercentage = 100
			}
		}
	}
}

func checkSchedulePod(ctx context.Context, t *testing.T, dir string, sched *scheduler.Scheduler, profile framework.Framework, pod *corev1.Pod, answer *expected) {
	t.Helper()
	state := framework.NewCycleState()
	result, err := schedulePod(ctx, sched, profile, state, pod)
	var fitError *framework.FitError
	switch {
	case err == nil:
		if !slices.Contains(answer.Best, result.SuggestedHost) || result.FeasibleNodes != len(answer.Feasible) {
			t.Errorf("%s: the scheduler takes %s of %d nodes, the oracle says %v of %v",
				dir, result.SuggestedHost, result.FeasibleNodes, answer.Best, answer.Feasible)
		}
	case errors.As(err, &fitError):
		if err.Error() != answer.Message || len(answer.Feasible) != 0 {
			t.Errorf("%s: the scheduler says %q, the oracle %q", dir, err, answer.Message)
		}
		if plugins := sets.List(fitError.Diagnosis.UnschedulablePlugins); !slices.Equal(plugins, answer.UnschedulablePlugins) {
			t.Errorf("%s: rejected by %v, the oracle says %v", dir, plugins, answer.UnschedulablePlugins)
		}
		checkNomination(ctx, t, dir, profile, state, fitError, answer)
	case err.Error() != answer.Message:
		t.Errorf("%s: the scheduler fails with %q, the oracle says %q", dir, err, answer.Message)
	}
}

// checkNomination lets the real PostFilter choose a node: it must be one of those the oracle calls best.
func checkNomination(ctx context.Context, t *testing.T, dir string, profile framework.Framework, state *framework.CycleState, fitError *framework.FitError, answer *expected) {
	t.Helper()
	plugin := findDefaultPreemption(profile)
	if plugin == nil {
		return
	}
	spare(plugin)
	result, status := plugin.PostFilter(ctx, state, fitError.Pod, fitError.Diagnosis.NodeToStatus)
	nominated := status.IsSuccess()
	if nominated != (len(answer.Preemption.Chosen) > 0) {
		t.Errorf("%s: preemption ends with %v, the oracle would choose %v", dir, status, answer.Preemption.Chosen)
	} else if nominated && !slices.Contains(answer.Preemption.Chosen, result.NominatedNodeName) {
		t.Errorf("%s: preemption takes %s, the oracle says %v", dir, result.NominatedNodeName, answer.Preemption.Chosen)
	}
}

func TestSimplestCase(t *testing.T) {
	answer := judge(writeCase(t, oneNode, smallPod))
	if answer.Error != "" || !slices.Equal(answer.Best, []string{"n1"}) || answer.Pod != "default/p" {
		t.Errorf("got %+v", answer)
	}
}

// A broken case is answered, and does not touch the one after it.
func TestBrokenCases(t *testing.T) {
	const broken, stranger = "kind: [", "{apiVersion: v1, kind: Service, metadata: {name: s}}"
	for _, c := range []struct{ cluster, pod, want string }{
		{broken, smallPod, "cluster.yaml"},
		{oneNode, stranger, "want a Pod"},
		{oneNode, smallPod + "---" + smallPod, "want one pod"},
		{oneNode, strings.Replace(smallPod, "spec: {", "spec: {priorityClassName: none, ", 1), "no PriorityClass with name none"},
		{oneNode, strings.Replace(smallPod, "spec: {", "spec: {schedulerName: other, ", 1), `scheduler name "other"`},
	} {
		answer := judge(writeCase(t, c.cluster, c.pod))
		data, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(answer.Error, c.want) || !strings.HasPrefix(string(data), `{"error":`) || strings.Contains(string(data), "feasible") {
			t.Errorf("want an error about %q alone, got %s", c.want, data)
		}
	}
	TestSimplestCase(t)
}

func TestListsOfAllKinds(t *testing.T) {
	const podList = `
kind: PodList
apiVersion: v1
items: [{metadata: {name: a}}, {metadata: {name: b, namespace: x}}]
---
# nothing here
---
{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: c}}]}]}
---
{apiVersion: example.com/v1, kind: Custom, metadata: {name: d}}
`
	path := filepath.Join(writeCase(t, podList, smallPod), "cluster.yaml")
	objects, err := readObjects(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, obj := range objects {
		names = append(names, obj.(*corev1.Pod).Name)
	}
	if !reflect.DeepEqual(names, []string{"a", "b", "c"}) {
		t.Errorf("got %v", names)
	}
}

// A panic in one of the scheduler's goroutines would end the process, were it not for the crash handler.
func TestPanicInWorker(t *testing.T) {
	ctx, panics := watchForPanics()
	other, others := watchForPanics()
	done := make(chan struct{})
	workqueue.ParallelizeUntil(ctx, 1, 1, func(int) {
		defer close(done)
		panic("worker")
	})
	<-done
	workqueue.ParallelizeUntil(other, 1, 1, func(int) {})
	for panics.first() == nil {
		if t.Context().Err() != nil {
			t.Fatal("the panic was not noticed")
		}
	}
	if panics.first() != "worker" || others.first() != nil {
		t.Errorf("got %v and %v", panics.first(), others.first())
	}
}

func TestDifferencesInMeaning(t *testing.T) {
	priority := int32(0)
	answer := &expected{Pod: "default/p", Priority: &priority, Feasible: []string{"n1"}, Rejected: map[string]verdict{},
		Scores: map[string]nodeScore{"n1": {Total: 5, Plugins: map[string]int64{"A": 5, "B": 0}}}}
	const same = `{"pod": "default/p", "priority": 0, "feasible": ["n1"], "best": null, "scores": {"n1": {"total": 5, "plugins": {"A": 5}}}}`
	if differences, err := compareAnswer([]byte(same), answer); err != nil || len(differences) != 0 {
		t.Errorf("got %v, %v", differences, err)
	}
	answer.Best = []string{"n1"}
	differences, err := compareAnswer([]byte(same), answer)
	if err != nil || !slices.Equal(differences, []string{`best: stored nothing, now ["n1"]`}) {
		t.Errorf("got %v, %v", differences, err)
	}
}
