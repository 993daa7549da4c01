package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/featuregate"
	metricsapi "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	fakemetrics "k8s.io/metrics/pkg/client/clientset/versioned/fake"

	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	"sigs.k8s.io/descheduler/pkg/descheduler/metricscollector"
	nodeutil "sigs.k8s.io/descheduler/pkg/descheduler/node"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/features"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	frameworkprofile "sigs.k8s.io/descheduler/pkg/framework/profile"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"
)

// What one cycle did.
type outcome struct {
	Error    string    `json:"error,omitempty"`
	Skipped  bool      `json:"skipped,omitempty"`
	Attempts []attempt `json:"attempts"`
	Plugins  []plugin  `json:"plugins"`
}

// An eviction that was tried; By is empty if the pod is gone.
type attempt struct {
	Pod     string `json:"pod"`
	Node    string `json:"node"`
	Profile string `json:"profile"`
	Plugin  string `json:"plugin"`
	By      string `json:"by"`
}

type plugin struct {
	Profile string `json:"profile"`
	Plugin  string `json:"plugin"`
	Error   string `json:"error"`
}

// The recorder of events is the ear on every attempt: successes and failures are events.
type ear struct {
	profile, plugin string
	heard           []attempt
}

func (e *ear) Eventf(regarding, _ runtime.Object, kind, _, _, note string, args ...any) {
	pod := regarding.(*v1.Pod)
	by := ""
	if kind == v1.EventTypeWarning {
		by = reason(fmt.Sprintf(note, args...))
	}
	e.heard = append(e.heard, attempt{pod.Namespace + "/" + pod.Name, pod.Spec.NodeName, e.profile, e.plugin, by})
}

func (e *ear) WithLogger(_ any) events.EventRecorderLogger { return nil }

func reason(note string) string {
	for text, by := range map[string]string{
		"total eviction limit exceeded":      "total-limit",
		"node eviction limit exceeded":       "node-limit",
		"namespace eviction limit exceeded":  "namespace-limit",
		"would violate the pod's disruption": "pdb",
		"more than one PodDisruptionBudget":  "multiple-pdbs",
		"is forbidden":                       "forbidden",
		"pod not found when evicting":        "not-found",
	} {
		if strings.Contains(note, text) {
			return by
		}
	}
	return note
}

func gates() featuregate.FeatureGate {
	made := featuregate.NewFeatureGate()
	_ = made.Add(map[featuregate.Feature]featuregate.FeatureSpec{
		features.EvictionsInBackground: {Default: false, PreRelease: featuregate.Alpha},
	})
	return made
}

func run(asked question, now time.Time) (outcome, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	objects, metrics, err := load(asked.Cluster, time.Now().Sub(now).Truncate(time.Second))
	if err != nil {
		return outcome{}, err
	}
	world := newWorld(objects)
	folder, err := os.MkdirTemp("", "policy")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "policy.yaml")
	if err := os.WriteFile(file, []byte(asked.Policy), 0o600); err != nil {
		return outcome{}, err
	}
	refused := func(err error) (outcome, error) {
		return outcome{Error: strings.ReplaceAll(err.Error(), file, "policy.yaml"), Attempts: []attempt{}, Plugins: []plugin{}}, nil
	}
	policy, err := descheduler.LoadPolicyConfig(file, world.client, pluginregistry.PluginRegistry)
	if err != nil {
		return refused(err)
	}
	cycle := &cycle{ctx: ctx, policy: policy, world: world, metrics: metrics}
	found, err := cycle.run()
	if err != nil {
		return refused(fmt.Errorf("failed to create new descheduler: %v", err))
	}
	return found, nil
}

type cycle struct {
	ctx     context.Context
	policy  *api.DeschedulerPolicy
	world   *world
	metrics []metricsObject
}

// One profile with one of its plugins only, so that each attempt and error has its plugin.
type step struct {
	profile, plugin string
	balance         bool
	run             func(context.Context, []*v1.Node) *frameworktypes.Status
}

func (c *cycle) run() (outcome, error) {
	informer := informers.NewSharedInformerFactory(c.world.client, 0)
	pods := informer.Core().V1().Pods().Informer()
	_ = informer.Core().V1().PersistentVolumeClaims().Informer()
	_ = informer.Core().V1().Nodes().Informer()
	assigned, err := podutil.BuildGetPodsAssignedToNodeFunc(pods)
	if err != nil {
		return outcome{}, err
	}
	// A node's pods come by namespace and name.
	inOrder := func(node string, filter podutil.FilterFunc) ([]*v1.Pod, error) {
		found, err := assigned(node, nil)
		sort.Slice(found, func(i, j int) bool {
			return found[i].Namespace+"\x00"+found[i].Name < found[j].Namespace+"\x00"+found[j].Name
		})
		if filter == nil {
			return found, err
		}
		return slices.DeleteFunc(found, func(pod *v1.Pod) bool { return !filter(pod) }), err
	}
	listening, notify := &ear{}, true
	evictor, err := evictions.NewPodEvictor(c.ctx, c.world.client, listening, pods, gates(),
		evictions.NewOptions().
			WithPolicyGroupVersion("policy/v1").
			WithMaxPodsToEvictPerNode(c.policy.MaxNoOfPodsToEvictPerNode).
			WithMaxPodsToEvictPerNamespace(c.policy.MaxNoOfPodsToEvictPerNamespace).
			WithMaxPodsToEvictTotal(c.policy.MaxNoOfPodsToEvictTotal).
			WithEvictionFailureEventNotification(&notify))
	if err != nil {
		return outcome{}, err
	}
	selector := labels.Everything()
	if c.policy.NodeSelector != nil {
		if selector, err = labels.Parse(*c.policy.NodeSelector); err != nil {
			return outcome{}, err
		}
	}
	var collector *metricscollector.MetricsCollector
	if c.collects() {
		collector = metricscollector.NewMetricsCollector(informer.Core().V1().Nodes().Lister(), c.metricsClient(), selector)
	}
	build := func(profile api.DeschedulerProfile, id string) (frameworktypes.Plugin, step, error) {
		made, err := frameworkprofile.NewProfile(c.ctx, profile, pluginregistry.PluginRegistry,
			frameworkprofile.WithClientSet(c.world.client),
			frameworkprofile.WithSharedInformerFactory(informer),
			frameworkprofile.WithPodEvictor(evictor),
			frameworkprofile.WithGetPodsAssignedToNodeFnc(inOrder),
			frameworkprofile.WithMetricsCollector(collector),
			frameworkprofile.WithProfileInstanceID(id))
		if err != nil {
			return nil, step{}, fmt.Errorf("unable to create %q profile: %v", profile.Name, err)
		}
		if len(profile.Plugins.Balance.Enabled) > 0 {
			return nil, step{run: made.RunBalancePlugins}, nil
		}
		return nil, step{run: made.RunDeschedulePlugins}, nil
	}
	var steps []step
	for i, profile := range c.policy.Profiles {
		if _, _, err := build(profile, fmt.Sprint(i)); err != nil {
			return outcome{}, err
		}
	}
	for _, balance := range []bool{false, true} {
		for i, profile := range c.policy.Profiles {
			enabled := profile.Plugins.Deschedule.Enabled
			if balance {
				enabled = profile.Plugins.Balance.Enabled
			}
			for j, name := range enabled {
				alone := profile
				alone.Plugins.Deschedule.Enabled, alone.Plugins.Balance.Enabled = []string{name}, nil
				if balance {
					alone.Plugins.Deschedule.Enabled, alone.Plugins.Balance.Enabled = nil, []string{name}
				}
				_, made, err := build(alone, fmt.Sprintf("%d-%t-%d", i, balance, j))
				if err != nil {
					return outcome{}, err
				}
				made.profile, made.plugin, made.balance = profile.Name, name, balance
				steps = append(steps, made)
			}
		}
	}
	informer.Start(c.ctx.Done())
	informer.WaitForCacheSync(c.ctx.Done())
	c.world.gone = func(pod *v1.Pod) { _ = pods.GetIndexer().Delete(pod) }
	if collector != nil {
		if err := collector.Collect(c.ctx); err != nil {
			return outcome{}, err
		}
	}
	nodes, err := nodeutil.ReadyNodes(c.ctx, c.world.client, informer.Core().V1().Nodes().Lister(), selector.String())
	if err != nil {
		return outcome{}, err
	}
	sort.Slice(nodes, func(i, j int) bool { return nodes[i].Name < nodes[j].Name })
	found := outcome{Attempts: []attempt{}, Plugins: []plugin{}}
	if len(nodes) <= 1 {
		found.Skipped = true
		return found, nil
	}
	for _, each := range steps {
		listening.profile, listening.plugin = each.profile, each.plugin
		said := plugin{Profile: each.profile, Plugin: each.plugin}
		if status := each.run(c.ctx, nodes); status != nil && status.Err != nil {
			said.Error = strings.TrimPrefix(status.Err.Error(), fmt.Sprintf("plugin %q finished with error: ", each.plugin))
		}
		found.Plugins = append(found.Plugins, said)
	}
	found.Attempts = append(found.Attempts, listening.heard...)
	return found, nil
}

func (c *cycle) collects() bool {
	for _, provider := range c.policy.MetricsProviders {
		if provider.Source == api.KubernetesMetrics {
			return true
		}
	}
	return c.policy.MetricsCollector != nil && c.policy.MetricsCollector.Enabled
}

func (c *cycle) metricsClient() *fakemetrics.Clientset {
	client := fakemetrics.NewSimpleClientset()
	for _, each := range c.metrics {
		// The fake guesses the resource from the kind, and guesses wrong.
		switch object := each.(type) {
		case *metricsapi.NodeMetrics:
			_ = client.Tracker().Create(metricsapi.SchemeGroupVersion.WithResource("nodes"), object, "")
		case *metricsapi.PodMetrics:
			_ = client.Tracker().Create(metricsapi.SchemeGroupVersion.WithResource("pods"), object, object.Namespace)
		}
	}
	return client
}
