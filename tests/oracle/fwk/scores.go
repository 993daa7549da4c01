//go:build !kube33 && !kube34

package fwk

import "k8s.io/kube-scheduler/framework"

type NodePluginScores = framework.NodePluginScores
