package main

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	schedulingdefaults "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
)

// scene is a case made ready: the objects as the scheduler's informers would deliver them.
type scene struct {
	// objects are sorted by namespace and name, as the API server lists them. The candidate is among them,
	// without a node.
	objects   []runtime.Object
	candidate *corev1.Pod
	config    *schedulerapi.KubeSchedulerConfiguration
}

// objectKey identifies an object in a cluster.
type objectKey struct {
	kind            reflect.Type
	namespace, name string
}

func keyOf(obj runtime.Object) (objectKey, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return objectKey{}, err
	}
	return objectKey{reflect.TypeOf(obj), accessor.GetNamespace(), accessor.GetName()}, nil
}

// prepare does what happens to objects between a manifest and the scheduler, and nothing else.
func prepare(raw *rawCase) (*scene, error) {
	if err := identify(raw.candidate); err != nil {
		return nil, err
	}
	objects, err := distinct(append(raw.objects, pending(raw.candidate)))
	if err != nil {
		return nil, err
	}
	objects = slices.DeleteFunc(objects, isTerminalPod)
	objects = append(objects, missingNamespaces(objects)...)
	if err := admitPriorities(objects, raw.candidate); err != nil {
		return nil, err
	}
	sortAsListed(objects)
	return &scene{objects, raw.candidate, raw.config}, nil
}

// identify gives an object what the API server always adds: a namespace and a UID, by which the scheduler
// tells pods apart.
func identify(obj runtime.Object) error {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if accessor.GetName() == "" {
		return fmt.Errorf("a %T without a name", obj)
	}
	if isClusterScoped(obj) {
		accessor.SetNamespace("")
	} else if accessor.GetNamespace() == "" {
		accessor.SetNamespace(metav1.NamespaceDefault)
	}
	if accessor.GetUID() == "" {
		accessor.SetUID(types.UID(fmt.Sprintf("%T/%s/%s", obj, accessor.GetNamespace(), accessor.GetName())))
	}
	return nil
}

// isClusterScoped goes by the kind's name, which all versions of an API share.
func isClusterScoped(obj runtime.Object) bool {
	switch reflect.TypeOf(obj).Elem().Name() {
	case "Node", "Namespace", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "VolumeAttachment",
		"DeviceClass", "ResourceSlice", "PriorityClass", "RuntimeClass":
		return true
	}
	return false
}

// pending is the candidate as the informers have it: a pod that names a node counts as bound, and the
// scheduler would never look at it again.
func pending(candidate *corev1.Pod) *corev1.Pod {
	pod := candidate.DeepCopy()
	pod.Spec.NodeName = ""
	pod.Status.Phase = corev1.PodPending
	return pod
}

// distinct keeps the last of several objects of one name: as if all had been applied one after the other, the
// candidate at the end.
func distinct(objects []runtime.Object) ([]runtime.Object, error) {
	index := map[objectKey]int{}
	var kept []runtime.Object
	for _, obj := range objects {
		if err := identify(obj); err != nil {
			return nil, err
		}
		key, err := keyOf(obj)
		if err != nil {
			return nil, err
		}
		if at, seen := index[key]; seen {
			kept[at] = obj
			continue
		}
		index[key] = len(kept)
		kept = append(kept, obj)
	}
	return kept, nil
}

// isTerminalPod tells the pods that the scheduler's informer filters out by a field selector.
func isTerminalPod(obj runtime.Object) bool {
	pod, ok := obj.(*corev1.Pod)
	return ok && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
}

// missingNamespaces makes up the Namespaces that must exist because something is in them.
func missingNamespaces(objects []runtime.Object) []runtime.Object {
	known := map[string]bool{"": true}
	for _, obj := range objects {
		if namespace, ok := obj.(*corev1.Namespace); ok {
			known[namespace.Name] = true
		}
	}
	var missing []runtime.Object
	for _, obj := range objects {
		accessor, err := meta.Accessor(obj)
		if err != nil || known[accessor.GetNamespace()] {
			continue
		}
		known[accessor.GetNamespace()] = true
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: accessor.GetNamespace()}}
		// Adds the label that every Namespace carries.
		legacyscheme.Scheme.Default(namespace)
		missing = append(missing, namespace)
	}
	return missing
}

// admitPriorities resolves priorities as the Priority admission plugin does, for pods of the cluster too: one
// that is in a dump from before admission must not count as priority 0. Only a candidate is refused for
// naming a class that does not exist.
func admitPriorities(objects []runtime.Object, candidate *corev1.Pod) error {
	classes := newPriorityClasses(objects)
	for _, obj := range objects {
		if pod, ok := obj.(*corev1.Pod); ok {
			classes.admit(pod)
		}
	}
	if !classes.admit(candidate) {
		return fmt.Errorf("no PriorityClass with name %s was found", candidate.Spec.PriorityClassName)
	}
	return nil
}

// priorityClasses are the classes by name, with the one that serves pods which name none (nil if none does).
type priorityClasses struct {
	byName        map[string]*schedulingv1.PriorityClass
	globalDefault *schedulingv1.PriorityClass
}

func newPriorityClasses(objects []runtime.Object) priorityClasses {
	classes := priorityClasses{byName: map[string]*schedulingv1.PriorityClass{}}
	for _, system := range schedulingdefaults.SystemPriorityClasses() {
		class := &schedulingv1.PriorityClass{ObjectMeta: system.ObjectMeta, Value: system.Value}
		legacyscheme.Scheme.Default(class)
		classes.byName[class.Name] = class
	}
	for _, obj := range objects {
		class, ok := obj.(*schedulingv1.PriorityClass)
		if !ok {
			continue
		}
		classes.byName[class.Name] = class
		if class.GlobalDefault && (classes.globalDefault == nil || class.Value < classes.globalDefault.Value) {
			classes.globalDefault = class
		}
	}
	return classes
}

// admit fills in priority and preemption policy; false if the pod names a class that is not there.
func (c priorityClasses) admit(pod *corev1.Pod) bool {
	class, found := c.byName[pod.Spec.PriorityClassName], true
	if pod.Spec.PriorityClassName != "" {
		found = class != nil || pod.Spec.Priority != nil
	} else if pod.Spec.Priority == nil {
		class = c.globalDefault
	}
	if pod.Spec.Priority == nil {
		pod.Spec.Priority = new(int32)
		if class != nil {
			*pod.Spec.Priority = class.Value
		}
	}
	if pod.Spec.PreemptionPolicy == nil && class != nil {
		pod.Spec.PreemptionPolicy = class.PreemptionPolicy
	}
	return found
}

// sortAsListed brings objects into the order in which an API server lists them. It decides the order of pods
// within a node, and with it what the scheduler does about pods that are equal in all else.
func sortAsListed(objects []runtime.Object) {
	slices.SortStableFunc(objects, func(a, b runtime.Object) int {
		x, _ := keyOf(a)
		y, _ := keyOf(b)
		return cmp.Or(cmp.Compare(x.namespace, y.namespace), cmp.Compare(x.name, y.name))
	})
}
