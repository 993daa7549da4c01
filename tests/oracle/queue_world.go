//go:build !other

package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	clocktesting "k8s.io/utils/clock/testing"
)

// scriptStart is when scripts begin.
var scriptStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// The queue's timers run by its own goroutines; here somebody else says when it is time.
//
//go:linkname flushBackoffQCompleted k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushBackoffQCompleted
func flushBackoffQCompleted(queue *internalqueue.PriorityQueue, logger klog.Logger)

//go:linkname flushUnschedulablePodsLeftover k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushUnschedulablePodsLeftover
func flushUnschedulablePodsLeftover(queue *internalqueue.PriorityQueue, logger klog.Logger)

// queueWorld is a scheduler with a clock that stands still, in a cluster that changes when a script says so.
type queueWorld struct {
	store
	ctx       context.Context
	clock     *clocktesting.FakeClock
	logger    klog.Logger
	sched     *scheduler.Scheduler
	queue     *internalqueue.PriorityQueue
	profile   framework.Framework
	informers map[string]*liveInformer
	everNodes map[string]bool
	asked     []askedHint
	tried     []triedPod
	attempt   *queueAttempt
	// writing serializes the API server: bindings and evictions are made by goroutines of the scheduler.
	writing sync.Mutex
}

func newQueueWorld(ctx context.Context, s *script) (*queueWorld, error) {
	w := &queueWorld{
		ctx: ctx, clock: clocktesting.NewFakeClock(scriptStart), logger: klog.FromContext(ctx),
		store:     store{objects: map[storeKey]runtime.Object{}, patched: map[storeKey]bool{}},
		informers: map[string]*liveInformer{}, everNodes: map[string]bool{},
	}
	for _, text := range s.Cluster {
		obj, err := decodeObject(text)
		if err != nil {
			return nil, err
		}
		if obj != nil {
			w.add(obj)
		}
	}
	if err := w.start(s); err != nil {
		return nil, err
	}
	w.traceHints()
	return w, nil
}

func (w *queueWorld) start(s *script) error {
	config, err := latest.Default()
	if err != nil {
		return err
	}
	client := w.newClient()
	factory := informers.NewSharedInformerFactory(client, 0)
	for _, example := range watched {
		informer := newLiveInformer(example)
		w.informers[reflect.TypeOf(example).Elem().Name()] = informer
		factory.InformerFor(example, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return informer })
	}
	for _, watch := range w.take() { // before anybody listens
		w.show(watch)
	}
	initial, most := config.PodInitialBackoffSeconds, config.PodMaxBackoffSeconds
	if s.Config.PodInitialBackoffSeconds != nil {
		initial = *s.Config.PodInitialBackoffSeconds
	}
	if s.Config.PodMaxBackoffSeconds != nil {
		most = *s.Config.PodMaxBackoffSeconds
	}
	recorder := func(string) events.EventRecorderLogger { return &bindingRecorder{world: w} }
	sched, err := scheduler.New(w.ctx, client, factory, nil, recorder,
		scheduler.WithProfiles(config.Profiles...),
		scheduler.WithComponentConfigVersion(config.TypeMeta.APIVersion),
		scheduler.WithPercentageOfNodesToScore(&everyNode),
		scheduler.WithParallelism(1),
		scheduler.WithClock(w.clock),
		scheduler.WithPodInitialBackoffSeconds(initial),
		scheduler.WithPodMaxBackoffSeconds(most),
	)
	if err != nil {
		return err
	}
	w.sched = sched
	w.queue = sched.SchedulingQueue.(*internalqueue.PriorityQueue)
	for _, profile := range sched.Profiles {
		w.profile = profile
		profile.SetAPICacher(nil)
		profile.SetPodActivator(w)
	}
	w.watchAttempts()
	return nil
}

// traceHints has every queueing hint say what it answered. The map of hints is not to be had otherwise.
func (w *queueWorld) traceHints() {
	field := reflect.ValueOf(w.queue).Elem().FieldByName("queueingHintMap")
	hints := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Interface().(internalqueue.QueueingHintMapPerProfile)
	for _, ofProfile := range hints {
		for event, functions := range ofProfile {
			for _, function := range functions {
				ask := function.QueueingHintFn
				function.QueueingHintFn = func(logger klog.Logger, pod *corev1.Pod, old, new any) (fwk.QueueingHint, error) {
					hint, err := ask(logger, pod, old, new)
					said := hint
					if err != nil {
						said = fwk.Queue
					}
					w.asked = append(w.asked, askedHint{podName(pod), function.PluginName, event.Label(), said.String()})
					return hint, err
				}
			}
		}
	}
}

// watched lists what the scheduler has informers for.
var watched = []runtime.Object{
	&corev1.Pod{}, &corev1.Node{}, &corev1.Namespace{}, &corev1.PersistentVolume{}, &corev1.PersistentVolumeClaim{},
	&storagev1.StorageClass{}, &storagev1.CSINode{}, &storagev1.CSIDriver{}, &storagev1.CSIStorageCapacity{},
	&storagev1.VolumeAttachment{}, &resourcev1.ResourceClaim{}, &resourcev1.ResourceSlice{}, &resourcev1.DeviceClass{},
	&policyv1.PodDisruptionBudget{},
}

func (s *store) take() []watchEvent {
	taken := s.pending
	s.pending = nil
	return taken
}

// deliver lets the scheduler see whatever was written.
func (w *queueWorld) deliver() {
	for {
		w.writing.Lock()
		watches := w.take()
		w.writing.Unlock()
		if len(watches) == 0 {
			return
		}
		for _, watch := range watches {
			w.show(watch)
		}
	}
}

func (w *queueWorld) show(watch watchEvent) {
	old, new := live(watch.old), live(watch.new)
	switch {
	case old != nil:
		w.informerOf(old).change(old, new)
	case new != nil:
		w.informerOf(new).change(old, new)
	}
	switch obj := new.(type) {
	case *corev1.Node:
		w.everNodes[obj.Name] = true
	case *corev1.Pod:
		if node := obj.Status.NominatedNodeName; node != "" {
			w.everNodes[node] = true
		}
	}
}

// live leaves out pods that ended, as the scheduler's informer does.
func live(obj runtime.Object) runtime.Object {
	if isTerminalPod(obj) {
		return nil
	}
	return obj
}

func (w *queueWorld) informerOf(obj runtime.Object) *liveInformer {
	return w.informers[reflect.TypeOf(obj).Elem().Name()]
}

// liveInformer hands changes to its handlers when it is told of them, one after the other.
type liveInformer struct {
	// Lends the store with its indexes; never run.
	cache.SharedIndexInformer
	handlers []cache.ResourceEventHandler
	// order keeps objects as they came, for handlers that come later.
	order []string
}

func newLiveInformer(example runtime.Object) *liveInformer {
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	return &liveInformer{SharedIndexInformer: cache.NewSharedIndexInformer(&cache.ListWatch{}, example, 0, byNamespace)}
}

func (l *liveInformer) change(old, new runtime.Object) {
	if new == nil {
		key, _ := cache.MetaNamespaceKeyFunc(old)
		l.order = slices.DeleteFunc(l.order, func(other string) bool { return other == key })
		_ = l.GetIndexer().Delete(old)
		for _, handler := range l.handlers {
			handler.OnDelete(old)
		}
		return
	}
	_ = l.GetIndexer().Update(new)
	if old == nil {
		key, _ := cache.MetaNamespaceKeyFunc(new)
		l.order = append(l.order, key)
	}
	for _, handler := range l.handlers {
		if old == nil {
			handler.OnAdd(new, false)
		} else {
			handler.OnUpdate(old, new)
		}
	}
}

func (l *liveInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	l.handlers = append(l.handlers, handler)
	for _, key := range l.order {
		if obj, found, _ := l.GetIndexer().GetByKey(key); found {
			handler.OnAdd(obj, true)
		}
	}
	return settled{}, nil
}

func (l *liveInformer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return l.AddEventHandler(handler)
}

func (l *liveInformer) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return l.AddEventHandler(handler)
}

func (l *liveInformer) HasSynced() bool                                                 { return true }
func (l *liveInformer) HasSyncedChecker() cache.DoneChecker                             { return settled{} }
func (l *liveInformer) RemoveEventHandler(cache.ResourceEventHandlerRegistration) error { return nil }

var _ cache.SharedIndexInformer = &liveInformer{}

// bindingRecorder hears when a pod is bound: the last thing of a binding that matters.
type bindingRecorder struct{ world *queueWorld }

func (r *bindingRecorder) Eventf(regarding, _ runtime.Object, _, reason, _, note string, args ...any) {
	accessor, err := meta.Accessor(regarding)
	if err != nil || reason != "Scheduled" {
		return
	}
	_ = fmt.Sprintf(note, args...)
	r.world.attempt.bound(accessor.GetName())
}

func (r *bindingRecorder) WithLogger(klog.Logger) events.EventRecorderLogger { return r }
