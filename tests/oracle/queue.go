//go:build !other

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// script is a cluster and what happens to it, as fixtures/queue/README.md has it.
type script struct {
	Config struct {
		PodInitialBackoffSeconds *int64 `json:"podInitialBackoffSeconds"`
		PodMaxBackoffSeconds     *int64 `json:"podMaxBackoffSeconds"`
	} `json:"config"`
	Cluster    []json.RawMessage `json:"cluster"`
	Operations []operation       `json:"operations"`
}

type operation struct {
	Op        string          `json:"op"`
	Object    json.RawMessage `json:"object"`
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Patch     json.RawMessage `json:"patch"`
	Graceful  bool            `json:"graceful"`
	Seconds   float64         `json:"seconds"`
	Until     string          `json:"until"`
	Fail      string          `json:"fail"`
	During    []operation     `json:"during"`
}

// player plays a script and says what state everything is in after each of its operations.
type player func(script []byte) (states any, err error)

// playScripts plays what it reads from standard input on the queue.
func playScripts(opts options) error {
	return playLines(playQueue, opts.jobs, os.Stdin, os.Stdout)
}

// playLines reads a script a line from in and writes its states, a line each, in the same order.
func playLines(play player, jobs int, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	type answered chan []byte
	pending := make(chan answered, max(jobs-1, 0))
	go func() {
		defer close(pending)
		for {
			line, err := lines.ReadBytes('\n')
			if len(line) > 1 {
				done := make(answered, 1)
				pending <- done
				go func() { done <- playLine(play, line) }()
			}
			if err != nil {
				return
			}
		}
	}()
	for done := range pending {
		if _, err := out.Write(append(<-done, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func playLine(play player, line []byte) (answer []byte) {
	defer func() {
		if r := recover(); r != nil {
			answer, _ = json.Marshal(map[string]string{"error": fmt.Sprintf("the judge panicked: %v", r)})
		}
	}()
	states, err := play(line)
	if err == nil {
		answer, err = json.Marshal(states)
	}
	if err != nil {
		answer, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	return answer
}

func playQueue(line []byte) (any, error) {
	var s script
	if err := json.Unmarshal(line, &s); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w, err := newQueueWorld(ctx, &s)
	if err != nil {
		return nil, err
	}
	var states []*queueState
	for number, op := range s.Operations {
		state, err := w.step(op)
		if err != nil {
			return nil, fmt.Errorf("operation %d: %w", number, err)
		}
		state.Op = number
		states = append(states, state)
	}
	return states, nil
}

// step performs one operation and tells what the queue is like then.
func (w *queueWorld) step(op operation) (*queueState, error) {
	w.asked, w.tried = nil, nil
	done := true
	var err error
	switch op.Op {
	case "advance":
		w.advance(time.Duration(math.Round(op.Seconds*1000)) * time.Millisecond)
	case "schedule":
		err = w.schedule(op)
		done = len(w.tried) > 0
	default:
		w.advance(time.Millisecond)
		done, err = w.change(op)
	}
	if err != nil {
		return nil, err
	}
	state := w.state()
	state.Ignored = !done
	return state, nil
}

// advance moves the clock. The queue's own timers would run at whole seconds, and every 30 of them.
func (w *queueWorld) advance(by time.Duration) {
	end := w.clock.Now().Add(by)
	for {
		second := w.clock.Now().Truncate(time.Second).Add(time.Second)
		if second.After(end) {
			break
		}
		w.clock.SetTime(second)
		flushBackoffQCompleted(w.queue, w.logger)
		if second.Sub(scriptStart)%(30*time.Second) == 0 {
			flushUnschedulablePodsLeftover(w.queue, w.logger)
		}
	}
	w.clock.SetTime(end)
}

// change performs an operation on the cluster; whether there was anything to do.
func (w *queueWorld) change(op operation) (bool, error) {
	done, err := w.apply(op)
	w.deliver()
	return done, err
}

func (w *queueWorld) apply(op operation) (bool, error) {
	key := storeKey{op.Kind, op.Namespace, op.Name}
	switch op.Op {
	case "create":
		return w.create(op.Object)
	case "patch":
		return w.mergePatch(key, op.Patch)
	case "delete":
		if op.Graceful && op.Kind == "Pod" {
			if pod := w.pod(op.Namespace, op.Name); pod != nil && pod.DeletionTimestamp != nil {
				return false, nil
			}
			return w.terminate(op.Namespace, op.Name), nil
		}
		return w.remove(key), nil
	case "finish":
		return w.finish(op.Namespace, op.Name), nil
	}
	return false, fmt.Errorf("unknown operation %q", op.Op)
}

// finish removes the pods that are being deleted, one after the other.
func (w *queueWorld) finish(namespace, name string) bool {
	var ending []*corev1.Pod
	for _, pod := range w.pods() {
		if pod.DeletionTimestamp != nil && (name == "" || pod.Namespace == namespace && pod.Name == name) {
			ending = append(ending, pod)
		}
	}
	sortByDeletion(ending)
	for _, pod := range ending {
		w.remove(storeKey{"Pod", pod.Namespace, pod.Name})
		w.deliver()
	}
	return len(ending) > 0
}
