package main

import (
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	core "k8s.io/client-go/testing"
	metricsapi "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

type metricsObject = runtime.Object

// load reads objects, and moves their times so that the moment of the question is now.
func load(raw []json.RawMessage, shift time.Duration) ([]runtime.Object, []metricsObject, error) {
	var objects []runtime.Object
	var metrics []metricsObject
	for _, each := range raw {
		var head metav1.TypeMeta
		if err := json.Unmarshal(each, &head); err != nil {
			return nil, nil, err
		}
		var object runtime.Object
		switch head.Kind {
		case "NodeMetrics":
			object = &metricsapi.NodeMetrics{}
		case "PodMetrics":
			object = &metricsapi.PodMetrics{}
		default:
			made, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(head.APIVersion, head.Kind))
			if err != nil {
				return nil, nil, err
			}
			object = made
		}
		if err := json.Unmarshal(each, object); err != nil {
			return nil, nil, err
		}
		if head.Kind == "NodeMetrics" || head.Kind == "PodMetrics" {
			metrics = append(metrics, object)
			continue
		}
		if pod, ok := object.(*v1.Pod); ok {
			moved(pod, shift)
		}
		objects = append(objects, object)
	}
	return objects, metrics, nil
}

func moved(pod *v1.Pod, shift time.Duration) {
	times := []*metav1.Time{&pod.CreationTimestamp}
	if pod.Status.StartTime != nil {
		times = append(times, pod.Status.StartTime)
	}
	if pod.DeletionTimestamp != nil {
		times = append(times, pod.DeletionTimestamp)
	}
	for i := range pod.Status.Conditions {
		times = append(times, &pod.Status.Conditions[i].LastTransitionTime)
	}
	for _, each := range times {
		if !each.IsZero() {
			each.Time = each.Add(shift)
		}
	}
}

// A cluster whose Eviction API keeps budgets, and deletes at once.
type world struct {
	client *fake.Clientset
	pods   map[string]*v1.Pod
	pdbs   []*policyv1.PodDisruptionBudget
	gone   func(*v1.Pod)
}

func newWorld(objects []runtime.Object) *world {
	made := &world{client: fake.NewSimpleClientset(objects...), pods: map[string]*v1.Pod{}}
	for _, each := range objects {
		switch object := each.(type) {
		case *v1.Pod:
			made.pods[object.Namespace+"/"+object.Name] = object
		case *policyv1.PodDisruptionBudget:
			made.pdbs = append(made.pdbs, object.DeepCopy())
		}
	}
	made.client.PrependReactor("create", "pods", func(action core.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		eviction := action.(core.CreateAction).GetObject().(*policyv1.Eviction)
		return true, nil, made.evict(eviction.Namespace, eviction.Name)
	})
	return made
}

// evict is the rule of pkg/registry/core/pod/storage/eviction.go.
func (w *world) evict(namespace, name string) error {
	key := namespace + "/" + name
	pod, ok := w.pods[key]
	if !ok {
		return apierrors.NewNotFound(v1.Resource("pods"), name)
	}
	if err := w.allows(pod); err != nil {
		return err
	}
	delete(w.pods, key)
	_ = w.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), namespace, name)
	w.gone(pod)
	return nil
}

func (w *world) allows(pod *v1.Pod) error {
	switch pod.Status.Phase {
	case v1.PodSucceeded, v1.PodFailed, v1.PodPending:
		return nil
	}
	if pod.DeletionTimestamp != nil {
		return nil
	}
	var matching []*policyv1.PodDisruptionBudget
	for _, pdb := range w.pdbs {
		selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if err == nil && pdb.Namespace == pod.Namespace && selector.Matches(labels.Set(pod.Labels)) {
			matching = append(matching, pdb)
		}
	}
	if len(matching) == 0 {
		return nil
	}
	if len(matching) > 1 {
		return apierrors.NewInternalError(fmt.Errorf("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."))
	}
	pdb := matching[0]
	status := &pdb.Status
	if !ready(pod) {
		policy := pdb.Spec.UnhealthyPodEvictionPolicy
		if policy != nil && *policy == policyv1.AlwaysAllow || status.CurrentHealthy >= status.DesiredHealthy && status.DesiredHealthy > 0 {
			return nil
		}
	}
	if status.ObservedGeneration < pdb.Generation || status.DisruptionsAllowed == 0 {
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	}
	if status.DisruptionsAllowed < 0 {
		return apierrors.NewForbidden(policyv1.Resource("poddisruptionbudget"), pdb.Name, fmt.Errorf("pdb disruptions allowed is negative"))
	}
	status.DisruptionsAllowed--
	return nil
}

func ready(pod *v1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodReady {
			return condition.Status == v1.ConditionTrue
		}
	}
	return false
}
