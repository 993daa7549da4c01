package main

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
)

// everyNode is the percentageOfNodesToScore of all cases.
var everyNode int32 = 100

// newWorld starts a scheduler in a cluster that holds exactly the objects of the scene. The scheduler is put
// together by its own constructor: cache, queue, nominator, DRA manager and volume caches fill themselves
// through the event handlers it registers.
func newWorld(ctx context.Context, scene *scene) (*scheduler.Scheduler, error) {
	client := newClient()
	sched, err := scheduler.New(ctx, client, newInformerFactory(client, scene.objects), nil, newRecorder,
		scheduler.WithProfiles(scene.config.Profiles...),
		scheduler.WithComponentConfigVersion(scene.config.TypeMeta.APIVersion),
		scheduler.WithPercentageOfNodesToScore(&everyNode),
		// The oracle judges several cases at once instead.
		scheduler.WithParallelism(1),
	)
	if err != nil {
		return nil, err
	}
	for _, profile := range sched.Profiles {
		writeAtOnce(profile)
		snapshot, ok := profile.SnapshotSharedLister().(*internalcache.Snapshot)
		if !ok {
			return nil, fmt.Errorf("the snapshot is a %T", profile.SnapshotSharedLister())
		}
		if err := sched.Cache.UpdateSnapshot(klog.FromContext(ctx), snapshot); err != nil {
			return nil, err
		}
	}
	return sched, nil
}

// newClient makes an API server that accepts every write and forgets it. The scheduler reads through
// informers alone, and what it writes (deallocated claims, cleared nominations) comes after its verdict.
func newClient() kubernetes.Interface {
	client := &fake.Clientset{}
	client.AddReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if write, ok := action.(clienttesting.UpdateAction); ok {
			return true, write.GetObject(), nil
		}
		return true, nil, nil
	})
	return client
}

// newInformerFactory makes a factory whose informers have seen all objects already. Kinds of which there is
// no object get the ordinary informer, which is never started and therefore empty.
func newInformerFactory(client kubernetes.Interface, objects []runtime.Object) informers.SharedInformerFactory {
	byKind := map[reflect.Type][]runtime.Object{}
	for _, obj := range objects {
		byKind[reflect.TypeOf(obj)] = append(byKind[reflect.TypeOf(obj)], obj)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	for _, same := range byKind {
		factory.InformerFor(same[0], func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
			return newSettledInformer(same)
		})
	}
	return factory
}

// settledInformer is an informer after its first list, in a cluster where nothing ever changes. It hands the
// objects to a new handler before AddEventHandler returns, in order. A started informer would deliver the
// same from goroutines, some of which cannot be waited for, at a hundred times the cost.
type settledInformer struct {
	// Lends the store with its indexes; never run.
	cache.SharedIndexInformer
	objects []runtime.Object
}

func newSettledInformer(objects []runtime.Object) *settledInformer {
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, objects[0], 0, byNamespace)
	for _, obj := range objects {
		if err := informer.GetIndexer().Add(obj); err != nil {
			panic(err) // only an object without metadata could do that, and it was identified before
		}
	}
	return &settledInformer{informer, objects}
}

func (s *settledInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	for _, obj := range s.objects {
		handler.OnAdd(obj, true)
	}
	return settled{}, nil
}

func (s *settledInformer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(handler)
}

func (s *settledInformer) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(handler)
}

func (s *settledInformer) HasSynced() bool { return true }

// settled says that there is nothing to wait for.
type settled struct{}

func (settled) HasSynced() bool { return true }

var (
	_ cache.SharedIndexInformer              = &settledInformer{}
	_ cache.ResourceEventHandlerRegistration = settled{}
)
