package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// answer is what became of one case.
type answer struct {
	dir      string
	expected *expected
}

// judgeAll judges the cases, several at a time, and yields the answers in the order of the questions.
func judgeAll(dirs iter.Seq[string], jobs int) iter.Seq[answer] {
	return func(yield func(answer) bool) {
		// The buffer bounds how many cases are under way: one is held by the consumer below.
		pending := make(chan chan answer, max(jobs-1, 0))
		go func() {
			defer close(pending)
			for dir := range dirs {
				done := make(chan answer, 1)
				pending <- done
				go func() { done <- answer{dir, judge(dir)} }()
			}
		}()
		for done := range pending {
			if !yield(<-done) {
				return
			}
		}
	}
}

// judge answers one case. Whatever goes wrong is the answer to that case alone.
func judge(dir string) (result *expected) {
	ctx, panics := watchForPanics()
	defer func() {
		if r := recover(); r != nil {
			panics.record(r)
		}
		if r := panics.first(); r != nil {
			result = &expected{Error: fmt.Sprintf("the scheduler panicked: %v", r)}
		}
	}()
	result, err := judgeCase(ctx, dir)
	if err != nil {
		return &expected{Error: err.Error()}
	}
	return result
}

func judgeCase(ctx context.Context, dir string) (*expected, error) {
	raw, err := readCase(dir)
	if err != nil {
		return nil, err
	}
	scene, err := prepare(raw)
	if err != nil {
		return nil, err
	}
	// Whatever the scheduler started for this case ends with it.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	world, err := newWorld(ctx, scene)
	if err != nil {
		return nil, err
	}
	return decide(ctx, world, scene.candidate)
}

// panicRecord keeps the first panic of one case. The scheduler spreads work over goroutines of its own, where
// no recover of ours reaches; there its crash handler is told through the context whose case it was.
type panicRecord struct {
	mu    sync.Mutex
	value any
}

type panicRecordKey struct{}

// catchPanics takes the place of the crash handler that logs. It has to be quick: the scheduler's worker
// counts as finished before its crash is handled, and the verdict is near.
var catchPanics = sync.OnceFunc(func() {
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = []func(context.Context, any){func(ctx context.Context, r any) {
		if record, ok := ctx.Value(panicRecordKey{}).(*panicRecord); ok {
			record.record(r)
			return
		}
		fmt.Fprintf(os.Stderr, "oracle: panic outside of any case: %v\n", r)
	}}
})

func watchForPanics() (context.Context, *panicRecord) {
	catchPanics()
	record := &panicRecord{}
	return context.WithValue(context.Background(), panicRecordKey{}, record), record
}

func (p *panicRecord) record(r any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.value == nil {
		p.value = r
	}
}

func (p *panicRecord) first() any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.value
}

// writeFiles stores every answer beside its question.
func writeFiles(opts options) error {
	for a := range judgeAll(caseDirs(opts.dirs, os.Stdin), opts.jobs) {
		if a.expected.Error != "" {
			fmt.Fprintf(os.Stderr, "%s: %s\n", a.dir, a.expected.Error)
		}
		data, err := a.expected.render()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(a.dir, "expected.json"), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeLines prints one line per case, at once, so that a caller can hold a conversation with the oracle.
func writeLines(opts options, w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for a := range judgeAll(caseDirs(opts.dirs, os.Stdin), opts.jobs) {
		line := struct {
			Case     string    `json:"case"`
			Expected *expected `json:"expected"`
		}{a.dir, a.expected}
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	return nil
}
