package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
)

// createWorkload asks the registry whether it would take a workload. Admission plugins judge its pods, later on.
func createWorkload(ctx context.Context, obj runtime.Object) error {
	var strategy rest.RESTCreateStrategy
	switch obj.(type) {
	case *apps.DaemonSet:
		strategy = daemonset.Strategy
	case *apps.Deployment:
		strategy = deployment.Strategy
	case *apps.ReplicaSet:
		strategy = replicaset.Strategy
	case *apps.StatefulSet:
		strategy = statefulset.Strategy
	case *batch.CronJob:
		strategy = cronjob.Strategy
	case *batch.Job:
		strategy = job.Strategy
	case *api.ReplicationController:
		strategy = replicationcontroller.Strategy
	default:
		return fmt.Errorf("%T is neither a pod, a claim nor a workload", obj)
	}
	access, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	rest.FillObjectMetaSystemFields(access)
	return rest.BeforeCreate(strategy, ctx, obj)
}
