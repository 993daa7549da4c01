//go:build kube34

package fwk

import "k8s.io/kubernetes/pkg/scheduler/framework"

type NodePluginScores = framework.NodePluginScores
