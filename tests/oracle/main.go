// Command oracle asks the scheduling framework of kube-scheduler itself what it would decide about a case:
// a cluster, a pending pod and, maybe, a scheduler configuration. It links the scheduler's own packages and
// contains none of its rules, so that kwhatif has something independent to be compared with.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// Exit codes: as diff has them, so that a script can tell a wrong answer from a call that went wrong.
const (
	exitDiffers = 1
	exitTrouble = 2
)

const usage = `usage: oracle [-j N] CASE_DIR...            write CASE_DIR/expected.json of every case
       oracle [-j N] --stdout CASE_DIR...   print {"case": DIR, "expected": {...}} per case, one line each
       oracle [-j N] -o FILE CASE_DIR...    write these lines to FILE
       oracle [-j N] --compare CASE_DIR...  say which stored expected.json differ; exit 1 if any does
       oracle [-j N] --queue                read scripts of fixtures/queue from standard input, one a line, and print
                                            the states of the real scheduling queue, one line of JSON per script
       oracle --version                     say which Kubernetes this is

A CASE_DIR holds cluster.yaml, pod.yaml and, if wanted, config.yaml. "-" reads directories from
standard input, one a line, and answers them as they come.

`

type options struct {
	jobs    int
	output  string
	stdout  bool
	compare bool
	verbose bool
	version bool
	queue   bool
	dirs    []string
}

func main() {
	opts := parseOptions()
	if opts.version {
		fmt.Println(kubernetesVersion())
		return
	}
	silenceScheduler(opts.verbose)
	code, err := run(opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		code = exitTrouble
	}
	os.Exit(code)
}

func parseOptions() options {
	var opts options
	flag.IntVar(&opts.jobs, "j", runtime.GOMAXPROCS(0), "how many cases are judged at a time")
	flag.StringVar(&opts.output, "o", "", "write one line of JSON per case to this `file`")
	flag.BoolVar(&opts.stdout, "stdout", false, "write one line of JSON per case to standard output")
	flag.BoolVar(&opts.compare, "compare", false, "compare with the stored expected.json, write nothing")
	flag.BoolVar(&opts.verbose, "v", false, "let the scheduler log to standard error")
	flag.BoolVar(&opts.queue, "queue", false, "play scripts on the scheduling queue")
	flag.BoolVar(&opts.version, "version", false, "print the Kubernetes version")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	opts.dirs = flag.Args()
	if len(opts.dirs) == 0 && !opts.version && !opts.queue {
		flag.Usage()
		os.Exit(exitTrouble)
	}
	return opts
}

func run(opts options) (int, error) {
	switch {
	case opts.queue:
		return 0, playScripts(opts)
	case opts.compare && (opts.stdout || opts.output != ""):
		return 0, errors.New("--compare writes nothing: give neither -o nor --stdout with it")
	case opts.compare:
		return compareAll(opts)
	case opts.stdout:
		return 0, writeLines(opts, os.Stdout)
	case opts.output != "":
		file, err := os.Create(opts.output)
		if err != nil {
			return 0, err
		}
		return 0, errors.Join(writeLines(opts, file), file.Close())
	default:
		return 0, writeFiles(opts)
	}
}

// silenceScheduler drops the scheduler's log unless it is wanted: a case that fails reports its error itself,
// and thousands of cases would bury everything else.
func silenceScheduler(verbose bool) {
	if verbose {
		return
	}
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
}

// caseDirs yields the directories to judge, one by one, so that a caller who feeds "-" need not close it
// to get answers.
func caseDirs(args []string, stdin io.Reader) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, arg := range args {
			if arg != "-" {
				if !yield(arg) {
					return
				}
				continue
			}
			lines := bufio.NewScanner(stdin)
			for lines.Scan() {
				if line := lines.Text(); line != "" && !yield(line) {
					return
				}
			}
		}
	}
}

// kubernetesVersion tells which release was linked, as recorded in the binary.
func kubernetesVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, dep := range info.Deps {
		if dep.Path == "k8s.io/kubernetes" {
			return dep.Version
		}
	}
	return "unknown"
}
