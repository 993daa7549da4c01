//go:build kube33

package fwk

import "k8s.io/kubernetes/pkg/scheduler/framework"

type (
	CycleState       = *framework.CycleState
	NodeInfo         = *framework.NodeInfo
	Status           = framework.Status
	NodePluginScores = framework.NodePluginScores
)

const (
	Error                        = framework.Error
	Unschedulable                = framework.Unschedulable
	UnschedulableAndUnresolvable = framework.UnschedulableAndUnresolvable
)

var NewStatus = framework.NewStatus
