package main

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"k8s.io/kubernetes/pkg/api/legacyscheme"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/kubernetes/plugin/pkg/admission/priority"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/storageclass/setdefault"
)

// server is the chain of plugins, in the API server's order.
type server struct {
	world    *world
	mutate   map[string][]admission.Interface
	validate map[string][]admission.Interface
}

// initializer tells plugins where objects are found.
type initializer struct {
	client  kubernetes.Interface
	factory informers.SharedInformerFactory
}

func (i initializer) Initialize(plugin admission.Interface) {
	if p, ok := plugin.(interface{ SetExternalKubeClientSet(kubernetes.Interface) }); ok {
		p.SetExternalKubeClientSet(i.client)
	}
	if p, ok := plugin.(interface {
		SetExternalKubeInformerFactory(informers.SharedInformerFactory)
	}); ok {
		p.SetExternalKubeInformerFactory(i.factory)
	}
}

func newServer(w *world, stop <-chan struct{}) (*server, error) {
	client := fake.NewSimpleClientset(w.objects...)
	init := initializer{client, informers.NewSharedInformerFactory(client, 0)}
	namespaces, err := lifecycle.NewLifecycle(sets.New("default", "kube-system", "kube-public"))
	if err != nil {
		return nil, err
	}
	limits, err := limitranger.NewLimitRanger(nil)
	if err != nil {
		return nil, err
	}
	plugins := admission.NewPlugins()
	setdefault.Register(plugins)
	classes, err := plugins.InitPlugin(setdefault.PluginName, nil, init)
	if err != nil {
		return nil, err
	}
	priorities, runtimes := priority.NewPlugin(), runtimeclass.NewRuntimeClass()
	tolerations := defaulttolerationseconds.NewDefaultTolerationSeconds()
	tolerations.InspectFeatureGates(utilfeature.DefaultFeatureGate)
	for _, plugin := range []admission.Interface{namespaces, limits, priorities, runtimes} {
		init.Initialize(plugin)
	}
	init.factory.Start(stop)
	init.factory.WaitForCacheSync(stop)
	return &server{
		world: w,
		mutate: map[string][]admission.Interface{
			"Pod":                   {namespaces, limits, priorities, tolerations, runtimes},
			"PersistentVolumeClaim": {namespaces, classes},
		},
		validate: map[string][]admission.Interface{
			"Pod":                   {limits, priorities, runtimes},
			"PersistentVolumeClaim": {limits},
		},
	}, nil
}

func create(k kase) ([]any, error) {
	w, err := newWorld(k)
	if err != nil {
		return nil, err
	}
	stop := make(chan struct{})
	defer close(stop)
	s, err := newServer(w, stop)
	if err != nil {
		return nil, err
	}
	results := make([]any, len(k.Pods))
	for i, raw := range k.Pods {
		obj, err := s.create(k.Namespace, raw)
		if err == nil {
			results[i], err = told(obj)
		}
		if status, ok := err.(apierrors.APIStatus); ok {
			results[i] = map[string]string{"message": status.Status().Message}
		} else if err != nil {
			return nil, err
		}
	}
	return results, nil
}

func (s *server) create(namespace string, raw json.RawMessage) (runtime.Object, error) {
	ctx := genericapirequest.WithNamespace(context.Background(), namespace)
	obj, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), raw)
	if err != nil {
		return nil, err
	}
	access, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	access.SetNamespace(namespace)
	kind, resource, strategy := "Pod", "pods", rest.RESTCreateStrategy(podregistry.Strategy)
	switch obj.(type) {
	case *api.Pod:
	case *api.PersistentVolumeClaim:
		kind, resource, strategy = "PersistentVolumeClaim", "persistentvolumeclaims", persistentvolumeclaim.Strategy
	default:
		return obj, createWorkload(ctx, obj)
	}
	attributes := admission.NewAttributesRecord(
		obj, nil, api.Kind(kind).WithVersion("v1"), namespace, access.GetName(),
		api.Resource(resource).WithVersion("v1"), "", admission.Create, nil, false, nil)
	for _, plugin := range s.mutate[kind] {
		if err := plugin.(admission.MutationInterface).Admit(ctx, attributes, nil); err != nil {
			return nil, err
		}
	}
	rest.FillObjectMetaSystemFields(access)
	if err := rest.BeforeCreate(strategy, ctx, obj); err != nil {
		return nil, err
	}
	for _, plugin := range s.validate[kind] {
		if err := plugin.(admission.ValidationInterface).Validate(ctx, attributes, nil); err != nil {
			return nil, err
		}
	}
	var quotas []corev1.ResourceQuota
	if quotas, err = resourcequota.CheckRequest(s.world.quotas, attributes, s.world.evaluators[kind], nil); err != nil {
		return nil, err
	}
	s.world.quotas = quotas
	return obj, nil
}
