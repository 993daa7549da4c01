//go:build kube33

package main

import "k8s.io/kubernetes/pkg/scheduler/framework"

// writeAtOnce has nothing to do: 1.33 has no dispatcher of API calls.
func writeAtOnce(framework.Framework) {}
