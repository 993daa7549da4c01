//go:build kube37

package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// spare keeps the plugin from evicting anybody when it runs for the sake of its message.
func spare(plugin *defaultpreemption.DefaultPreemption) {
	plugin.Executor.PreemptPod = func(context.Context, preemption.Candidate, preemption.ExecutorPreemptor, *corev1.Pod, string) (bool, error) {
		return false, nil
	}
}

// prepareForCreate is what the pod strategy fills in, after defaults and admission: resources of the pod as a whole.
func prepareForCreate(obj runtime.Object) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	internal := &api.Pod{}
	if err := legacyscheme.Scheme.Convert(pod, internal, nil); err != nil {
		return err
	}
	podutil.DefaultPodLevelResources(internal)
	return legacyscheme.Scheme.Convert(internal, pod, nil)
}
