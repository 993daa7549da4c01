//go:build !kube33 && !kube34 && !kube35

package main

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
)

func newRecorder(string) events.EventRecorderLogger { return &events.FakeRecorder{} }

// What informers must be able to say since 1.36.

var alreadyDone = func() chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}()

func (s *settledInformer) HasSyncedChecker() cache.DoneChecker { return settled{} }

func (settled) HasSyncedChecker() cache.DoneChecker { return settled{} }
func (settled) Name() string                        { return "settled informer" }
func (settled) Done() <-chan struct{}               { return alreadyDone }
