//go:build !other

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"
)

const selectedNode = "volume.kubernetes.io/selected-node"

// newClient makes the API server that the scheduler writes to.
func (w *queueWorld) newClient() kubernetes.Interface {
	client := &fake.Clientset{}
	client.AddReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		obj, err := w.answer(action)
		return true, obj, err
	})
	return &patientClient{client, w}
}

func (w *queueWorld) answer(action clienttesting.Action) (runtime.Object, error) {
	switch write := action.(type) {
	case clienttesting.CreateActionImpl:
		if binding, ok := write.GetObject().(*corev1.Binding); ok {
			return binding, w.bindPod(binding)
		}
		return write.GetObject(), nil
	case clienttesting.DeleteActionImpl:
		return nil, w.evict(write)
	case clienttesting.PatchActionImpl:
		return w.patch(write)
	case clienttesting.UpdateActionImpl:
		return w.update(write.GetObject())
	}
	return nil, nil
}

// patientClient has bindings and preemptions wait with their writes until the attempt is over. Each begins with a
// write to a pod.
type patientClient struct {
	kubernetes.Interface
	world *queueWorld
}

func (c *patientClient) CoreV1() typedcorev1.CoreV1Interface {
	return &patientCore{c.Interface.CoreV1(), c.world}
}

type patientCore struct {
	typedcorev1.CoreV1Interface
	world *queueWorld
}

func (c *patientCore) Pods(namespace string) typedcorev1.PodInterface {
	return &patientPods{c.CoreV1Interface.Pods(namespace), c.world, namespace}
}

type patientPods struct {
	typedcorev1.PodInterface
	world     *queueWorld
	namespace string
}

func (p *patientPods) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*corev1.Pod, error) {
	a := p.world.attempt
	if own := a.info.Pod; !a.tryFailed || own.Namespace != p.namespace || own.Name != name {
		<-a.released
	}
	return p.PodInterface.Patch(ctx, name, kind, data, opts, subresources...)
}

func (p *patientPods) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	<-p.world.attempt.released
	return p.PodInterface.Delete(ctx, name, opts)
}

func (p *patientPods) Bind(ctx context.Context, binding *corev1.Binding, opts metav1.CreateOptions) error {
	<-p.world.attempt.released
	return p.PodInterface.Bind(ctx, binding, opts)
}

func (w *queueWorld) bindPod(binding *corev1.Binding) error {
	if w.attempt.fail == "bind" {
		return errors.New("bind refused")
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	if w.pod(binding.Namespace, binding.Name) == nil {
		return apierrors.NewNotFound(corev1.Resource("pods"), binding.Name)
	}
	w.bind(binding.Namespace, binding.Name, binding.Target.Name)
	return nil
}

func (w *queueWorld) evict(action clienttesting.DeleteActionImpl) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	if w.attempt.fail == "evict" {
		w.attempt.refused = true
		return errors.New("delete refused")
	}
	if !w.terminate(action.GetNamespace(), action.GetName()) {
		return apierrors.NewNotFound(action.GetResource().GroupResource(), action.GetName())
	}
	w.attempt.tried.Victims = append(w.attempt.tried.Victims, action.GetNamespace()+"/"+action.GetName())
	return nil
}

func (w *queueWorld) patch(action clienttesting.PatchActionImpl) (runtime.Object, error) {
	w.writing.Lock()
	defer w.writing.Unlock()
	kind := map[string]string{"pods": "Pod", "resourceclaims": "ResourceClaim"}[action.GetResource().Resource]
	old := w.objects[storeKey{kind, action.GetNamespace(), action.GetName()}]
	if old == nil {
		return nil, apierrors.NewNotFound(action.GetResource().GroupResource(), action.GetName())
	}
	before, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, action.GetPatch(), old)
	if err != nil {
		return nil, err
	}
	if _, err := w.patchTo(old, after); err != nil {
		return nil, err
	}
	return w.objects[storeKeyOf(old)], nil
}

// update stores claims and volumes. What the controllers make of it is seen at once.
func (w *queueWorld) update(obj runtime.Object) (runtime.Object, error) {
	obj = obj.DeepCopyObject()
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		w.showAtOnce(obj)
		bound := obj.DeepCopy()
		bound.Status.Phase = corev1.VolumeBound
		w.showAtOnce(bound)
		w.completeClaim(obj.Spec.ClaimRef.Namespace, obj.Spec.ClaimRef.Name, obj.Name)
	case *corev1.PersistentVolumeClaim:
		w.showAtOnce(obj)
		if obj.Annotations[selectedNode] != "" && obj.Spec.VolumeName == "" {
			volume := w.provision(obj)
			w.completeClaim(obj.Namespace, obj.Name, volume)
		}
	case *resourcev1.ResourceClaim:
		claim, err := stored(obj) // times are written in whole seconds
		if err != nil {
			return nil, err
		}
		w.writing.Lock()
		defer w.writing.Unlock()
		w.put(claim)
		return claim, nil
	default:
		return nil, fmt.Errorf("an update of a %T", obj)
	}
	return obj, nil
}

// showAtOnce stores an object, and lets the scheduler see it before anything that waits to be seen.
func (w *queueWorld) showAtOnce(obj runtime.Object) {
	w.writing.Lock()
	waiting := w.take()
	if !w.add(obj) {
		w.put(obj)
	}
	now := w.take()
	w.pending = waiting
	w.writing.Unlock()
	for _, watch := range now {
		w.show(watch)
	}
}

func (w *queueWorld) completeClaim(namespace, name, volume string) {
	claim := w.objects[storeKey{"PersistentVolumeClaim", namespace, name}].(*corev1.PersistentVolumeClaim).DeepCopy()
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
	claim.Spec.VolumeName = volume
	claim.Status.Phase = corev1.ClaimBound
	w.showAtOnce(claim)
}

func (w *queueWorld) provision(claim *corev1.PersistentVolumeClaim) string {
	class := ""
	if claim.Spec.StorageClassName != nil {
		class = *claim.Spec.StorageClassName
	}
	driver := ""
	if found, ok := w.objects[storeKey{"StorageClass", "", class}].(*storagev1.StorageClass); ok {
		driver = found.Provisioner
	}
	name := "pvc-" + claim.Namespace + "-" + claim.Name
	if w.objects[storeKey{"PersistentVolume", "", name}] != nil {
		return name // of an earlier claim of this name
	}
	filesystem := corev1.PersistentVolumeFilesystem
	w.showAtOnce(&corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:         claim.Spec.Resources.Requests,
			AccessModes:      claim.Spec.AccessModes,
			StorageClassName: class,
			VolumeMode:       &filesystem,
			ClaimRef:         &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: name},
			},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	})
	return name
}
