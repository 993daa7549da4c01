package main

import (
	"encoding/json"
	"sort"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	api "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	quotacore "k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
)

// world is what the API server would find in store.
type world struct {
	objects    []runtime.Object
	quotas     []corev1.ResourceQuota
	evaluators map[string]quota.Evaluator
}

var builtIn = map[string]int32{"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}

func newWorld(k kase) (*world, error) {
	w := &world{}
	used := map[string][]runtime.Object{}
	for _, raw := range k.Setup {
		obj, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
		if err != nil {
			return nil, err
		}
		legacyscheme.Scheme.Default(obj)
		access, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		switch t := obj.(type) {
		case *corev1.Pod:
			access.SetNamespace(k.Namespace)
			used["pods"] = append(used["pods"], t)
		case *corev1.PersistentVolumeClaim:
			access.SetNamespace(k.Namespace)
			used["persistentvolumeclaims"] = append(used["persistentvolumeclaims"], t)
		case *corev1.LimitRange:
			access.SetNamespace(k.Namespace)
		case *corev1.ResourceQuota:
			access.SetNamespace(k.Namespace)
			w.quotas = append(w.quotas, *t)
		}
		w.objects = append(w.objects, obj)
	}
	w.addBuiltIn(k.Namespace)
	return w, w.countUsed(k.Namespace, used)
}

func (w *world) addBuiltIn(namespace string) {
	ns := &corev1.Namespace{}
	ns.Name = namespace
	w.objects = append(w.objects, ns)
	for name, value := range builtIn {
		class := &schedulingv1.PriorityClass{Value: value}
		class.Name = name
		legacyscheme.Scheme.Default(class)
		w.objects = append(w.objects, class)
	}
}

// countUsed gives every quota the status that the quota controller would write.
func (w *world) countUsed(namespace string, used map[string][]runtime.Object) error {
	list := func(resource schema.GroupVersionResource) (cache.GenericLister, error) {
		index := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		for _, obj := range used[resource.Resource] {
			if err := index.Add(obj); err != nil {
				return nil, err
			}
		}
		return cache.NewGenericLister(index, resource.GroupResource()), nil
	}
	pods, claims := quotacore.NewPodEvaluator(list, clock.RealClock{}), quotacore.NewPersistentVolumeClaimEvaluator(list)
	w.evaluators = map[string]quota.Evaluator{"Pod": pods, "PersistentVolumeClaim": claims}
	registry := generic.NewRegistry([]quota.Evaluator{pods, claims})
	sort.Slice(w.quotas, func(i, j int) bool { return w.quotas[i].Name < w.quotas[j].Name })
	for i := range w.quotas {
		spec := w.quotas[i].Spec
		count, err := quota.CalculateUsage(namespace, spec.Scopes, spec.Hard, registry, spec.ScopeSelector)
		if err != nil {
			return err
		}
		w.quotas[i].Status = corev1.ResourceQuotaStatus{Hard: spec.Hard.DeepCopy(), Used: count}
	}
	return nil
}

// told keeps of a stored pod or claim what scheduling reads; of a workload, that it was taken.
func told(obj runtime.Object) (any, error) {
	switch obj.(type) {
	case *api.Pod, *api.PersistentVolumeClaim:
	default:
		return map[string]any{}, nil
	}
	text, err := runtime.Encode(legacyscheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion), obj)
	if err != nil {
		return nil, err
	}
	var stored struct {
		Spec map[string]any `json:"spec"`
	}
	if err := json.Unmarshal(text, &stored); err != nil {
		return nil, err
	}
	for _, field := range []string{"terminationGracePeriodSeconds", "dnsPolicy", "securityContext", "enableServiceLinks"} {
		delete(stored.Spec, field)
	}
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := stored.Spec[list].([]any)
		for _, container := range containers {
			for _, field := range []string{"terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy"} {
				delete(container.(map[string]any), field)
			}
		}
	}
	return stored, nil
}
