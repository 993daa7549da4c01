//go:build !kube33

// Package fwk has the scheduler framework's types that the judge uses, wherever a release keeps them. Most of them
// moved from k8s.io/kubernetes/pkg/scheduler/framework to k8s.io/kube-scheduler/framework, some in 1.34, some in 1.35.
package fwk

import "k8s.io/kube-scheduler/framework"

type (
	CycleState = framework.CycleState
	NodeInfo   = framework.NodeInfo
	Status     = framework.Status
)

const (
	Error                        = framework.Error
	Unschedulable                = framework.Unschedulable
	UnschedulableAndUnresolvable = framework.UnschedulableAndUnresolvable
)

var NewStatus = framework.NewStatus
