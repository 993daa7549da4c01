package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	"k8s.io/kubernetes/pkg/registry/scheduling/podgroup"
	"k8s.io/kubernetes/pkg/registry/scheduling/workload"
	"k8s.io/kubernetes/plugin/pkg/admission/priority"
)

// All gates that the API of groups depends on: off unless a case turns them on.
var groupGates = []string{
	"GenericWorkload", "TopologyAwareWorkloadScheduling", "PodGroupPreemptionPolicy", "DRAWorkloadResourceClaims", "CompositePodGroup",
}

// A PodGroup or Workload that is created, or that changes a known one, and what the API server makes of it.
type admissionCase struct {
	Title   string            `json:"title"`
	Gates   []string          `json:"gates,omitempty"`
	Classes []json.RawMessage `json:"classes,omitempty"`
	Known   json.RawMessage   `json:"known,omitempty"`
	Object  json.RawMessage   `json:"object"`
	Message string            `json:"message,omitempty"`
	Spec    json.RawMessage   `json:"spec,omitempty"`
}

// decideAdmission writes into the file what the API server's packages make of each case.
func decideAdmission(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var cases []admissionCase
	if err := json.Unmarshal(text, &cases); err != nil {
		return err
	}
	lines := make([]string, len(cases))
	for i := range cases {
		cases[i].Message, cases[i].Spec = "", nil
		if err := cases[i].decide(); err != nil {
			return fmt.Errorf("%s: %w", cases[i].Title, err)
		}
		line, err := json.Marshal(cases[i])
		if err != nil {
			return err
		}
		lines[i] = string(line)
	}
	return os.WriteFile(path, []byte("[\n"+strings.Join(lines, ",\n")+"\n]\n"), 0o644)
}

func (c *admissionCase) decide() error {
	var gates []string
	for _, gate := range groupGates {
		on := false
		for _, each := range c.Gates {
			on = on || each == gate
		}
		gates = append(gates, fmt.Sprintf("%s=%t", gate, on))
	}
	if err := utilfeature.DefaultMutableFeatureGate.Set(strings.Join(gates, ",")); err != nil {
		return err
	}
	stored, err := c.store()
	if status, ok := err.(apierrors.APIStatus); ok {
		c.Message = status.Status().Message
		return nil
	}
	if err != nil {
		return err
	}
	encoded, err := runtime.Encode(legacyscheme.Codecs.LegacyCodec(schedulingv1beta1.SchemeGroupVersion), stored)
	if err != nil {
		return err
	}
	var answer struct {
		Spec json.RawMessage `json:"spec"`
	}
	err = json.Unmarshal(encoded, &answer)
	c.Spec = answer.Spec
	return err
}

func (c *admissionCase) store() (runtime.Object, error) {
	obj, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), c.Object)
	if err != nil {
		return nil, err
	}
	access, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	plural, strategy := "podgroups", interface {
		rest.RESTCreateStrategy
		rest.RESTUpdateStrategy
	}(podgroup.NewStrategy())
	if _, ok := obj.(*scheduling.Workload); ok {
		plural, strategy = "workloads", workload.Strategy
	}
	ctx := genericapirequest.WithNamespace(context.Background(), access.GetNamespace())
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		APIGroup: "scheduling.k8s.io", APIVersion: "v1beta1", Resource: plural, IsResourceRequest: true,
	})
	if c.Known != nil {
		known, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), c.Known)
		if err != nil {
			return nil, err
		}
		before, err := meta.Accessor(known)
		if err != nil {
			return nil, err
		}
		before.SetResourceVersion("1")
		access.SetResourceVersion("1")
		return obj, rest.BeforeUpdate(strategy, ctx, obj, known)
	}
	if err := c.admit(ctx, obj, plural); err != nil {
		return nil, err
	}
	rest.FillObjectMetaSystemFields(access)
	return obj, rest.BeforeCreate(strategy, ctx, obj)
}

func (c *admissionCase) admit(ctx context.Context, obj runtime.Object, plural string) error {
	var classes []runtime.Object
	for _, raw := range c.Classes {
		class, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(raw, nil, &schedulingv1.PriorityClass{})
		if err != nil {
			return err
		}
		legacyscheme.Scheme.Default(class)
		classes = append(classes, class)
	}
	client := fake.NewClientset(classes...)
	factory := informers.NewSharedInformerFactory(client, 0)
	plugin := priority.NewPlugin()
	plugin.SetExternalKubeClientSet(client)
	plugin.SetExternalKubeInformerFactory(factory)
	stop := make(chan struct{})
	defer close(stop)
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	access, _ := meta.Accessor(obj)
	kind := map[string]string{"podgroups": "PodGroup", "workloads": "Workload"}[plural]
	return plugin.Admit(ctx, admission.NewAttributesRecord(
		obj, nil, scheduling.Kind(kind).WithVersion("v1beta1"), access.GetNamespace(), access.GetName(),
		scheduling.Resource(plural).WithVersion("v1beta1"), "", admission.Create, nil, false, nil), nil)
}
