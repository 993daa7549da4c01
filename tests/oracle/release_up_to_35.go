//go:build kube33 || kube34 || kube35

package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// spare keeps the plugin from evicting anybody when it runs for the sake of its message.
func spare(plugin *defaultpreemption.DefaultPreemption) {
	plugin.Evaluator.PreemptPod = func(context.Context, preemption.Candidate, *corev1.Pod, *corev1.Pod, string) error {
		return nil
	}
}

func newRecorder(string) events.EventRecorder { return &events.FakeRecorder{} }
