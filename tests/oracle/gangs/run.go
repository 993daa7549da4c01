package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

const (
	// The end: nothing was written for so long.
	silence = 3500 * time.Millisecond
	// Whatever goes on for longer is called unsettled.
	patience = 60 * time.Second
)

type group struct {
	Group   string `json:"group"`
	Outcome string `json:"outcome"`
	Message string `json:"message,omitempty"`
}

type pod struct {
	Pod           string `json:"pod"`
	Node          string `json:"node,omitempty"`
	NominatedNode string `json:"nominatedNode,omitempty"`
	Message       string `json:"message,omitempty"`
}

type outcome struct {
	Groups  []group  `json:"groups"`
	Pods    []pod    `json:"pods"`
	Victims []string `json:"victims"`
	Settled bool     `json:"settled"`
}

// A world: an API server that only plays one, with all that it was asked to write.
type world struct {
	client  *fake.Clientset
	last    atomic.Int64
	watches atomic.Int64
	bound   map[string]bool
	lock    sync.Mutex
	victims []string
}

func decode(raw []json.RawMessage) ([]runtime.Object, error) {
	var found []runtime.Object
	for _, each := range raw {
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(each, nil, nil)
		if err != nil {
			return nil, err
		}
		if accessor, err := meta.Accessor(obj); err == nil && accessor.GetResourceVersion() == "" {
			if kind := obj.GetObjectKind().GroupVersionKind().Kind; kind == "ResourceClaim" {
				accessor.SetResourceVersion("1")
			}
		}
		found = append(found, obj)
	}
	return found, nil
}

func newWorld(objects []runtime.Object) *world {
	w := &world{client: fake.NewSimpleClientset(objects...), bound: map[string]bool{}}
	for _, obj := range objects {
		if one, ok := obj.(*corev1.Pod); ok && one.Spec.NodeName != "" {
			w.bound[keyOf(one)] = true
		}
	}
	w.client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		binding := action.(clienttesting.CreateAction).GetObject().(*corev1.Binding)
		return true, binding, w.bind(binding)
	})
	w.client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		w.lock.Lock()
		defer w.lock.Unlock()
		w.victims = append(w.victims, action.GetNamespace()+"/"+action.(clienttesting.DeleteAction).GetName())
		return false, nil, nil
	})
	w.client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if verb := action.GetVerb(); verb != "list" && verb != "get" && verb != "watch" {
			w.last.Store(time.Now().UnixNano())
		}
		return false, nil, nil
	})
	// The scheduler takes only newer versions of claims.
	var version atomic.Int64
	w.client.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		accessor, err := meta.Accessor(action.(clienttesting.UpdateAction).GetObject())
		if err == nil {
			accessor.SetResourceVersion(strconv.FormatInt(version.Add(1)+1, 10))
		}
		return false, nil, err
	})
	// What is made between a list and its watch is lost: so the watches are waited for.
	w.client.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		var options metav1.ListOptions
		if asked, ok := action.(clienttesting.WatchActionImpl); ok {
			options = asked.ListOptions
		}
		found, err := w.client.Tracker().Watch(action.GetResource(), action.GetNamespace(), options)
		if resource := action.GetResource().Resource; err == nil && (resource == "pods" || resource == "podgroups" || resource == "nodes") {
			w.watches.Add(1)
		}
		return true, found, err
	})
	return w
}

func (w *world) bind(binding *corev1.Binding) error {
	resource := corev1.SchemeGroupVersion.WithResource("pods")
	obj, err := w.client.Tracker().Get(resource, binding.Namespace, binding.Name)
	if err != nil {
		return err
	}
	one := obj.(*corev1.Pod).DeepCopy()
	one.Spec.NodeName = binding.Target.Name
	one.Status.Conditions = slices.DeleteFunc(one.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
	one.Status.Conditions = append(one.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
	return w.client.Tracker().Update(resource, one, binding.Namespace)
}

func keyOf(obj runtime.Object) string {
	accessor, _ := meta.Accessor(obj)
	return accessor.GetNamespace() + "/" + accessor.GetName()
}

func run(asked question) (*outcome, error) {
	cluster, err := decode(asked.Cluster)
	if err != nil {
		return nil, err
	}
	made, err := decode(asked.Manifest)
	if err != nil {
		return nil, err
	}
	w := newWorld(cluster)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	informers := scheduler.NewInformerFactory(w.client, 0, nil)
	recorder := profile.RecorderFactory(func(string) events.EventRecorderLogger { return &events.FakeRecorder{} })
	sched, err := scheduler.New(ctx, w.client, informers, nil, recorder)
	if err != nil {
		return nil, err
	}
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	if err := sched.WaitForHandlersSync(ctx); err != nil {
		return nil, err
	}
	for w.watches.Load() < 3 {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond)
	for _, obj := range made {
		if err := w.create(ctx, obj); err != nil {
			return nil, fmt.Errorf("%T %s: %w", obj, keyOf(obj), err)
		}
	}
	// All of it is in the queue before the first attempt.
	time.Sleep(200 * time.Millisecond)
	begin := time.Now()
	w.last.Store(begin.UnixNano())
	go sched.Run(ctx)
	settled := false
	for time.Since(begin) < patience {
		if time.Since(time.Unix(0, w.last.Load())) > silence {
			settled = true
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return w.outcome(ctx, settled)
}

func (w *world) create(ctx context.Context, obj runtime.Object) error {
	switch one := obj.(type) {
	case *corev1.Pod:
		_, err := w.client.CoreV1().Pods(one.Namespace).Create(ctx, one, metav1.CreateOptions{})
		return err
	case *schedulingv1beta1.PodGroup:
		_, err := w.client.SchedulingV1beta1().PodGroups(one.Namespace).Create(ctx, one, metav1.CreateOptions{})
		return err
	}
	return w.client.Tracker().Add(obj)
}

func (w *world) outcome(ctx context.Context, settled bool) (*outcome, error) {
	found := &outcome{Groups: []group{}, Pods: []pod{}, Victims: []string{}, Settled: settled}
	pods, err := w.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	groups, err := w.client.SchedulingV1beta1().PodGroups("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	with := map[string]int32{}
	for i := range pods.Items {
		one := &pods.Items[i]
		if of := one.Spec.SchedulingGroup; of != nil && of.PodGroupName != nil && one.Spec.NodeName != "" {
			with[one.Namespace+"/"+*of.PodGroupName]++
		}
		if w.bound[keyOf(one)] {
			continue
		}
		row := pod{Pod: keyOf(one), Node: one.Spec.NodeName}
		if one.Spec.NodeName == "" {
			row.NominatedNode = one.Status.NominatedNodeName
			for _, condition := range one.Status.Conditions {
				if condition.Type == corev1.PodScheduled {
					row.Message = condition.Message
				}
			}
		}
		found.Pods = append(found.Pods, row)
	}
	for i := range groups.Items {
		found.Groups = append(found.Groups, judged(&groups.Items[i], with))
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	seen := map[string]bool{}
	for _, name := range w.victims {
		if !seen[name] {
			found.Victims = append(found.Victims, name)
		}
		seen[name] = true
	}
	slices.Sort(found.Victims)
	slices.SortFunc(found.Pods, func(a, b pod) int { return strings.Compare(a.Pod, b.Pod) })
	slices.SortFunc(found.Groups, func(a, b group) int { return strings.Compare(a.Group, b.Group) })
	return found, nil
}

func judged(one *schedulingv1beta1.PodGroup, with map[string]int32) group {
	key := keyOf(one)
	least := int32(1)
	if gang := one.Spec.SchedulingPolicy.Gang; gang != nil {
		least = gang.MinCount
	}
	if with[key] >= least {
		return group{Group: key, Outcome: "scheduled"}
	}
	for _, condition := range one.Status.Conditions {
		if condition.Type == schedulingv1beta1.PodGroupInitiallyScheduled {
			return group{Group: key, Outcome: "unscheduled", Message: condition.Message}
		}
	}
	return group{Group: key, Outcome: "waiting"}
}
