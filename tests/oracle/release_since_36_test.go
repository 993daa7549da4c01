//go:build !kube33 && !kube34 && !kube35

package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func schedulePod(ctx context.Context, sched *scheduler.Scheduler, profile framework.Framework, state *framework.CycleState, pod *corev1.Pod) (scheduler.ScheduleResult, error) {
	podInfo, err := framework.NewPodInfo(pod)
	if err != nil {
		return scheduler.ScheduleResult{}, err
	}
	return sched.SchedulePod(ctx, profile, state, &framework.QueuedPodInfo{PodInfo: podInfo})
}
