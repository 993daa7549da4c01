//go:build !kube37

package main

import "k8s.io/apimachinery/pkg/runtime"

// prepareForCreate has nothing to add: all defaults are those of the API version.
func prepareForCreate(runtime.Object) error {
	return nil
}
