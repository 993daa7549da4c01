//go:build !other

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// patience is how long a goroutine of the scheduler may take; binding volumes polls once a second.
const patience = 30 * time.Second

// endless is how many attempts one operation may take: a pod whose preemption is refused comes back at once.
const endless = 100

var errEndless = errors.New("attempts without end")

// queueAttempt is one attempt to schedule a pod, taken apart into steps that follow each other.
type queueAttempt struct {
	fail   string
	during func()
	info   *framework.QueuedPodInfo
	tried  triedPod
	// released is closed when goroutines of the scheduler may write.
	released chan struct{}
	// ended is closed when a binding is over, one way or the other.
	ended   chan struct{}
	endOnce sync.Once
	// activated is closed when a failed preemption has brought its pod back.
	activated chan struct{}
	tryFailed bool
	refused   bool
}

func (a *queueAttempt) bound(string) { a.end() }

func (a *queueAttempt) end() { a.endOnce.Do(func() { close(a.ended) }) }

// schedule makes one attempt, or as many as there are pods to try.
func (w *queueWorld) schedule(op operation) error {
	for len(w.queue.PodsInActiveQ())+w.rejectedInBackoff() > 0 {
		if len(w.tried) == endless {
			return errEndless
		}
		w.advance(time.Millisecond)
		if err := w.scheduleOne(op); err != nil {
			return err
		}
		if op.Until != "idle" {
			break
		}
	}
	return nil
}

func (w *queueWorld) rejectedInBackoff() int {
	count := 0
	for _, info := range w.infos(w.queue.PodsInBackoffQ()) {
		if len(info.UnschedulablePlugins)+len(info.PendingPlugins) > 0 {
			count++
		}
	}
	return count
}

func (w *queueWorld) scheduleOne(op operation) error {
	var trouble error
	a := &queueAttempt{
		fail: op.Fail, released: make(chan struct{}), ended: make(chan struct{}), activated: make(chan struct{}),
		during: func() {
			for _, one := range op.During {
				if _, err := w.change(one); err != nil {
					trouble = err
				}
			}
		},
	}
	w.attempt = a
	w.sched.ScheduleOne(w.ctx)
	if a.info == nil {
		return nil
	}
	uid := a.info.Pod.UID
	a.tried.Pod, a.tried.T = podName(a.info.Pod), seconds(w.clock.Now())
	switch {
	case a.tried.Result == "": // popped, and nothing came of it
		a.tried.Result = "Skipped"
		close(a.released)
	case a.tryFailed:
		close(a.released)
		if err := w.finishPreemption(a, func() bool { return findDefaultPreemption(w.profile).Executor.IsPodRunningPreemption(uid) }); err != nil {
			return err
		}
		w.deliver()
	default:
		a.during()
		close(a.released)
		if !wait(a.ended) {
			return fmt.Errorf("the binding of %s does not end", a.tried.Pod)
		}
		w.deliver()
	}
	w.tried = append(w.tried, a.tried)
	return trouble
}

func wait(done chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(patience):
		return false
	}
}

// finishPreemption waits until a preemption has made all its calls.
func (w *queueWorld) finishPreemption(a *queueAttempt, running func() bool) error {
	for start := time.Now(); running(); time.Sleep(50 * time.Microsecond) {
		if time.Since(start) > patience {
			return errors.New("the preemption does not end")
		}
	}
	w.writing.Lock()
	refused := a.refused
	w.writing.Unlock()
	if refused && !wait(a.activated) {
		return errors.New("the failed preemption does not bring its pod back")
	}
	return nil
}

// watchAttempts puts ears, and a choice among equals, between the scheduler's steps.
func (w *queueWorld) watchAttempts() {
	pop, try, handle := w.sched.NextPod, w.sched.SchedulePod, w.sched.FailureHandler
	w.sched.NextPod = func(logger klog.Logger) (*framework.QueuedPodInfo, error) {
		info, err := pop(logger)
		w.attempt.info = info
		return info, err
	}
	w.sched.SchedulePod = func(ctx context.Context, profile framework.Framework, state fwk.CycleState, info *framework.QueuedPodInfo) (scheduler.ScheduleResult, error) {
		result, err := try(ctx, profile, state, info)
		if err != nil {
			return result, err
		}
		lowest, err := w.lowestBest(ctx, info.Pod)
		if err != nil {
			return result, err
		}
		result.SuggestedHost = lowest
		w.attempt.tried.Result, w.attempt.tried.Node = "Scheduled", lowest
		return result, nil
	}
	w.sched.FailureHandler = func(ctx context.Context, profile framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status, nominating *fwk.NominatingInfo, start time.Time) {
		a := w.attempt
		binding := a.tried.Result == "Scheduled"
		if !binding {
			a.tryFailed = true
			a.during()
		}
		a.tried.Node = ""
		a.tellFailure(status, nominating)
		handle(ctx, profile, info, status, nominating, start)
		if binding {
			a.end()
			return
		}
		w.deliver()
	}
	w.chooseLowest()
}

// lowestBest is the lowest name of the nodes with the highest score, of which the scheduler takes one by chance.
func (w *queueWorld) lowestBest(ctx context.Context, pod *corev1.Pod) (string, error) {
	c, err := newCycle(w.profile, pod)
	if err != nil {
		return "", err
	}
	if err := c.filter(ctx); err != nil {
		return "", err
	}
	if len(c.feasible) == 1 {
		return c.feasible[0].Node().Name, nil
	}
	scores, err := c.score(ctx)
	if err != nil {
		return "", err
	}
	return best(scores)[0], nil
}

func (a *queueAttempt) tellFailure(status *fwk.Status, nominating *fwk.NominatingInfo) {
	a.tried.Result, a.tried.Message = "Error", status.Message()
	if status.IsRejected() {
		a.tried.Result = "Unschedulable"
	}
	var fit *framework.FitError
	if errors.As(status.AsError(), &fit) {
		a.tried.RejectedBy = sets.List(fit.Diagnosis.UnschedulablePlugins.Union(fit.Diagnosis.PendingPlugins))
	}
	if nominating != nil && nominating.Mode() == fwk.ModeOverride {
		a.tried.Nominated = nominating.NominatedNodeName
	}
}

// Activate is what a preemption calls when it failed.
func (w *queueWorld) Activate(logger klog.Logger, pods map[string]*corev1.Pod) {
	w.queue.Activate(logger, pods)
	close(w.attempt.activated)
}

// chooseLowest has preemption take the lowest name of equally good candidates, which it would take by chance.
func (w *queueWorld) chooseLowest() {
	plugin := findDefaultPreemption(w.profile)
	plugin.Evaluator.Interface = &lowestCandidate{Interface: plugin.Evaluator.Interface, world: w}
}

type lowestCandidate struct {
	preemption.Interface
	world    *queueWorld
	choosing bool
}

func (l *lowestCandidate) CandidatesToVictimsMap(candidates []preemption.Candidate) map[string]*extenderv1.Victims {
	all := l.Interface.CandidatesToVictimsMap(candidates)
	if l.choosing {
		return all
	}
	l.choosing = true
	defer func() { l.choosing = false }()
	best := equallyGood(l.world.ctx, findDefaultPreemption(l.world.profile).Evaluator, candidates)
	lowest := slices.Min(best)
	return map[string]*extenderv1.Victims{lowest: all[lowest]}
}
