//go:build !other

package main

import (
	"cmp"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// queueState is what the queue is like after an operation.
type queueState struct {
	Op           int                    `json:"op"`
	T            float64                `json:"t"`
	Ignored      bool                   `json:"ignored,omitempty"`
	Asked        []askedHint            `json:"asked,omitempty"`
	Tried        []triedPod             `json:"tried,omitempty"`
	Active       []string               `json:"active"`
	Backoff      []string               `json:"backoff"`
	ErrorBackoff []string               `json:"errorBackoff"`
	Pool         []string               `json:"unschedulable"`
	Gated        []string               `json:"gated"`
	Pods         map[string]queueRecord `json:"pods"`
	Nominated    map[string][]string    `json:"nominated"`
	Assigned     map[string]string      `json:"assigned"`
	Terminating  []string               `json:"terminating"`
}

// askedHint is a queueing hint that the scheduler did ask, in the order in which it did. It stops at the first
// that says Queue.
type askedHint struct {
	Pod    string `json:"pod"`
	Plugin string `json:"plugin"`
	// Event is what the plugin is registered for.
	Event string `json:"event"`
	Hint  string `json:"hint"`
}

type triedPod struct {
	Pod        string   `json:"pod"`
	T          float64  `json:"t"`
	Result     string   `json:"result"`
	Node       string   `json:"node,omitempty"`
	Message    string   `json:"message,omitempty"`
	RejectedBy []string `json:"rejectedBy,omitempty"`
	Nominated  string   `json:"nominated,omitempty"`
	Victims    []string `json:"victims,omitempty"`
}

type queueRecord struct {
	Queue      string   `json:"queue"`
	Since      float64  `json:"since"`
	Attempts   int      `json:"attempts"`
	Rejections int      `json:"rejections"`
	Errors     int      `json:"errors"`
	Until      float64  `json:"until,omitempty"`
	RejectedBy []string `json:"rejectedBy,omitempty"`
	Gate       string   `json:"gate,omitempty"`
}

func seconds(t time.Time) float64 {
	return math.Round(t.Sub(scriptStart).Seconds()*1000) / 1000
}

func podName(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

func (w *queueWorld) state() *queueState {
	state := &queueState{
		T: seconds(w.clock.Now()), Asked: w.asked, Tried: w.tried,
		Pods: map[string]queueRecord{}, Nominated: map[string][]string{}, Assigned: map[string]string{},
	}
	less := w.profile.QueueSortFunc()
	inOrder := func(a, b *framework.QueuedPodInfo) int {
		if c := a.BackoffExpiration.Compare(b.BackoffExpiration); c != 0 && a.BackoffExpiration.Unix() > 0 {
			return c
		}
		if less(a, b) {
			return -1
		}
		return 1
	}
	active, waiting, pool := w.infos(w.queue.PodsInActiveQ()), w.infos(w.queue.PodsInBackoffQ()), w.infos(w.queue.UnschedulablePods())
	slices.SortFunc(active, func(a, b *framework.QueuedPodInfo) int {
		if less(a, b) {
			return -1
		}
		return 1
	})
	slices.SortFunc(waiting, inOrder)
	slices.SortFunc(pool, func(a, b *framework.QueuedPodInfo) int { return cmp.Compare(podName(a.Pod), podName(b.Pod)) })
	for _, info := range active {
		state.Active = append(state.Active, state.record("active", info))
	}
	for _, info := range waiting {
		if len(info.UnschedulablePlugins)+len(info.PendingPlugins) == 0 {
			state.ErrorBackoff = append(state.ErrorBackoff, state.record("errorBackoff", info))
		} else {
			state.Backoff = append(state.Backoff, state.record("backoff", info))
		}
	}
	for _, info := range pool {
		if info.Gated() {
			state.Gated = append(state.Gated, state.record("gated", info))
		} else {
			state.Pool = append(state.Pool, state.record("unschedulable", info))
		}
	}
	w.tellCluster(state)
	return state
}

func (w *queueWorld) infos(pods []*corev1.Pod) []*framework.QueuedPodInfo {
	var infos []*framework.QueuedPodInfo
	for _, pod := range pods {
		if info, ok := w.queue.GetPod(pod.Name, pod.Namespace); ok {
			infos = append(infos, info)
		}
	}
	return infos
}

func (s *queueState) record(queue string, info *framework.QueuedPodInfo) string {
	record := queueRecord{
		Queue: queue, Since: seconds(info.Timestamp), Attempts: info.Attempts,
		Rejections: info.UnschedulableCount, Errors: info.ConsecutiveErrorsCount, Gate: info.GatingPlugin,
	}
	switch queue {
	case "backoff", "errorBackoff":
		record.Until = seconds(info.BackoffExpiration)
	case "unschedulable", "gated":
		record.RejectedBy = sets.List(info.UnschedulablePlugins.Union(info.PendingPlugins))
	}
	name := podName(info.Pod)
	s.Pods[name] = record
	return name
}

// tellCluster adds what is known outside the queue's parts: nominations, and where pods are.
func (w *queueWorld) tellCluster(state *queueState) {
	nodes := sets.New[string]()
	for key := range w.everNodes {
		nodes.Insert(key)
	}
	for node := range nodes {
		for _, info := range w.queue.NominatedPodsForNode(node) {
			state.Nominated[node] = append(state.Nominated[node], podName(info.GetPod()))
		}
	}
	for _, pod := range w.pods() {
		if isTerminalPod(pod) {
			continue
		}
		if pod.Spec.NodeName != "" {
			state.Assigned[podName(pod)] = pod.Spec.NodeName
		}
		if pod.DeletionTimestamp != nil {
			state.Terminating = append(state.Terminating, podName(pod))
		}
	}
	slices.Sort(state.Terminating)
}
