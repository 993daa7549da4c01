//go:build !other

package main

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// storeKey is how scripts name an object.
type storeKey struct{ kind, namespace, name string }

func storeKeyOf(obj runtime.Object) storeKey {
	accessor, _ := meta.Accessor(obj)
	return storeKey{reflect.TypeOf(obj).Elem().Name(), accessor.GetNamespace(), accessor.GetName()}
}

// watchEvent is a write that the scheduler has yet to see.
type watchEvent struct{ old, new runtime.Object }

// store is the API server: objects as they were written last.
type store struct {
	objects map[storeKey]runtime.Object
	// order holds the keys as they were created.
	order []storeKey
	// patched says which objects were patched before: the first patch of an object always counts as one, because
	// it brings the object into the form in which the API server writes it.
	patched map[storeKey]bool
	pending []watchEvent
	version int
	uids    int
}

func (s *store) stamp(obj runtime.Object) {
	s.version++
	accessor, _ := meta.Accessor(obj)
	accessor.SetResourceVersion(strconv.Itoa(s.version))
}

func (s *store) add(obj runtime.Object) bool {
	key := storeKeyOf(obj)
	if s.objects[key] != nil {
		return false
	}
	accessor, _ := meta.Accessor(obj)
	if accessor.GetUID() == "" {
		s.uids++
		accessor.SetUID(types.UID("uid-" + strconv.Itoa(s.uids)))
	}
	s.stamp(obj)
	s.objects[key] = obj
	s.order = append(s.order, key)
	s.pending = append(s.pending, watchEvent{nil, obj})
	return true
}

func (s *store) put(obj runtime.Object) {
	key := storeKeyOf(obj)
	s.stamp(obj)
	s.pending = append(s.pending, watchEvent{s.objects[key], obj})
	s.objects[key] = obj
}

func (s *store) remove(key storeKey) bool {
	old := s.objects[key]
	if old == nil {
		return false
	}
	delete(s.objects, key)
	delete(s.patched, key)
	s.order = slices.DeleteFunc(s.order, func(other storeKey) bool { return other == key })
	s.pending = append(s.pending, watchEvent{old, nil})
	return true
}

func (s *store) mergePatch(key storeKey, patch []byte) (bool, error) {
	old := s.objects[key]
	if old == nil {
		return false, nil
	}
	before, err := json.Marshal(old)
	if err != nil {
		return false, err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return false, err
	}
	return s.patchTo(old, after)
}

// patchTo stores the object that the patched text stands for; whether that is another one.
func (s *store) patchTo(old runtime.Object, text []byte) (bool, error) {
	obj, err := decodeObject(text)
	if err != nil {
		return false, err
	}
	keepTimes(old, obj)
	key := storeKeyOf(obj)
	if s.patched[key] && reflect.DeepEqual(old, obj) {
		return false, nil
	}
	s.patched[key] = true
	s.put(obj)
	return true, nil
}

// keepTimes restores what text rounds to seconds.
func keepTimes(old, obj runtime.Object) {
	before, ok := old.(*corev1.Pod)
	if !ok {
		return
	}
	after := obj.(*corev1.Pod)
	if before.Status.StartTime != nil && after.Status.StartTime != nil {
		after.Status.StartTime = before.Status.StartTime
	}
	if before.DeletionTimestamp != nil && after.DeletionTimestamp != nil {
		after.DeletionTimestamp = before.DeletionTimestamp
	}
}

func (s *store) pod(namespace, name string) *corev1.Pod {
	pod, _ := s.objects[storeKey{"Pod", namespace, name}].(*corev1.Pod)
	return pod
}

// pods lists the pods as they were created.
func (s *store) pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, key := range s.order {
		if pod, ok := s.objects[key].(*corev1.Pod); ok {
			pods = append(pods, pod)
		}
	}
	return pods
}

// terminate is a DELETE with the pod's own grace period; whether the pod was there.
func (w *queueWorld) terminate(namespace, name string) bool {
	pod := w.pod(namespace, name)
	switch {
	case pod == nil:
		return false
	case pod.Spec.NodeName == "":
		return w.remove(storeKeyOf(pod))
	case pod.DeletionTimestamp == nil:
		pod = pod.DeepCopy()
		grace := time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
		pod.DeletionTimestamp = &metav1.Time{Time: w.clock.Now().Add(grace)}
		w.put(pod)
	}
	return true
}

func (w *queueWorld) bind(namespace, name, node string) {
	pod := w.pod(namespace, name).DeepCopy()
	pod.Spec.NodeName = node
	pod.Status.NominatedNodeName = ""
	pod.Status.StartTime = &metav1.Time{Time: w.clock.Now()}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	w.put(pod)
}

func (w *queueWorld) create(text []byte) (bool, error) {
	obj, err := decodeObject(text)
	if err != nil {
		return false, err
	}
	if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" && pod.Status.StartTime == nil {
		pod.Status.StartTime = &metav1.Time{Time: w.clock.Now()}
	}
	return w.add(obj), nil
}

func sortByDeletion(pods []*corev1.Pod) {
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(
			a.DeletionTimestamp.Time.Compare(b.DeletionTimestamp.Time),
			cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name),
		)
	})
}
