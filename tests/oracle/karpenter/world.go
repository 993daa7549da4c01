package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/awslabs/operatorpkg/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/test/v1alpha1"
)

// EC2NodeClass is the only class that NodePools may name.
type EC2NodeClass struct {
	v1alpha1.TestNodeClass
}

func (in *EC2NodeClass) DeepCopyObject() runtime.Object {
	out := &EC2NodeClass{}
	in.TestNodeClass.DeepCopyInto(&out.TestNodeClass)
	return out
}

func init() {
	gvk := schema.GroupVersionKind{Group: "karpenter.k8s.aws", Version: "v1", Kind: "EC2NodeClass"}
	scheme.Scheme.AddKnownTypeWithName(gvk, &EC2NodeClass{})
	// As the clouds' providers have it.
	for _, key := range []string{"topology.ebs.csi.aws.com/zone", "topology.disk.csi.azure.com/zone", "topology.gke.io/zone"} {
		v1.NormalizedLabels[key] = corev1.LabelTopologyZone
	}
	cloudprovider.ReservationIDLabel = "karpenter.sh/capacity-reservation-id"
}

// --- the cloud ------------------------------------------------------------------------------------------------------

type requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

type offering struct {
	CapacityType        string  `json:"capacityType"`
	Zone                string  `json:"zone"`
	Price               float64 `json:"price"`
	Available           *bool   `json:"available"`
	ReservationID       string  `json:"reservationID"`
	ReservationCapacity int     `json:"reservationCapacity"`
}

type instanceType struct {
	Name     string                       `json:"name"`
	Capacity map[string]resource.Quantity `json:"capacity"`
	Overhead struct {
		KubeReserved      corev1.ResourceList `json:"kubeReserved"`
		SystemReserved    corev1.ResourceList `json:"systemReserved"`
		EvictionThreshold corev1.ResourceList `json:"evictionThreshold"`
	} `json:"overhead"`
	Requirements []requirement `json:"requirements"`
	Offerings    []offering    `json:"offerings"`
}

// What kwhatif says of a type in the file: its zones, capacity types and name are requirements, too.
func (t instanceType) build() *cloudprovider.InstanceType {
	requirements := scheduling.NewRequirements()
	for _, each := range t.Requirements {
		requirements.Add(scheduling.NewRequirement(each.Key, corev1.NodeSelectorOperator(each.Operator), each.Values...))
		v1.WellKnownLabels.Insert(each.Key)
	}
	zones, capacityTypes := []string{}, []string{}
	offerings := cloudprovider.Offerings{}
	for _, each := range t.Offerings {
		zones, capacityTypes = append(zones, each.Zone), append(capacityTypes, each.CapacityType)
		offered := scheduling.NewRequirements(
			scheduling.NewRequirement(v1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, each.CapacityType),
			scheduling.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, each.Zone),
		)
		if each.ReservationID != "" {
			v1.WellKnownLabels.Insert(cloudprovider.ReservationIDLabel)
			offered.Add(scheduling.NewRequirement(cloudprovider.ReservationIDLabel, corev1.NodeSelectorOpIn, each.ReservationID))
		}
		offerings = append(offerings, &cloudprovider.Offering{
			Requirements:        offered,
			Price:               each.Price,
			Available:           each.Available == nil || *each.Available,
			ReservationCapacity: each.ReservationCapacity,
		})
	}
	for key, values := range map[string][]string{
		corev1.LabelArchStable:         {"amd64"},
		corev1.LabelOSStable:           {"linux"},
		corev1.LabelInstanceTypeStable: {t.Name},
		corev1.LabelTopologyZone:       zones,
		v1.CapacityTypeLabelKey:        capacityTypes,
	} {
		if !requirements.Has(key) {
			requirements.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpIn, values...))
		}
	}
	capacity := corev1.ResourceList{}
	for name, quantity := range t.Capacity {
		capacity[corev1.ResourceName(name)] = quantity
	}
	return &cloudprovider.InstanceType{
		Name:         t.Name,
		Requirements: requirements,
		Offerings:    offerings,
		Capacity:     capacity,
		Overhead: &cloudprovider.InstanceTypeOverhead{
			KubeReserved:      t.Overhead.KubeReserved,
			SystemReserved:    t.Overhead.SystemReserved,
			EvictionThreshold: t.Overhead.EvictionThreshold,
		},
	}
}

type cloud struct {
	cloudprovider.CloudProvider
	types []*cloudprovider.InstanceType
}

func (c *cloud) GetInstanceTypes(context.Context, *v1.NodePool) ([]*cloudprovider.InstanceType, error) {
	return c.types, nil
}

func (c *cloud) Name() string { return "judge" }

func (c *cloud) GetSupportedNodeClasses() []status.Object { return []status.Object{&EC2NodeClass{}} }

// --- the cluster ----------------------------------------------------------------------------------------------------

type recorder struct {
	mu   sync.Mutex
	seen []events.Event
}

func (r *recorder) Publish(found ...events.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, found...)
}

type world struct {
	clock       *clocktesting.FakeClock
	client      client.Client
	cloud       *cloud
	cluster     *state.Cluster
	recorder    *recorder
	provisioner *provisioning.Provisioner
}

func newWorld(ctx context.Context, asked question, now time.Time) (*world, error) {
	objects := []client.Object{}
	for _, raw := range asked.Cluster {
		found, err := decode(raw)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found)
	}
	w := &world{clock: clocktesting.NewFakeClock(now), cloud: &cloud{}, recorder: &recorder{}}
	for _, each := range asked.Types {
		w.cloud.types = append(w.cloud.types, each.build())
	}
	w.client = newClient(objects)
	w.cluster = state.NewCluster(w.clock, w.client, w.cloud)
	w.provisioner = provisioning.NewProvisioner(w.client, w.recorder, w.cloud, w.cluster, w.clock, nil, nil)
	return w, w.fill(ctx)
}

func decode(raw json.RawMessage) (client.Object, error) {
	found, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	object, ok := found.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not an object", found)
	}
	if pool, ok := object.(*v1.NodePool); ok && isReady(pool) {
		// What it is ready by has been looked at, too.
		pool.StatusConditions().SetTrue(v1.ConditionTypeValidationSucceeded)
		pool.StatusConditions().SetTrue(v1.ConditionTypeNodeClassReady)
	}
	return object, nil
}

func isReady(pool *v1.NodePool) bool {
	for _, each := range pool.Status.Conditions {
		if each.Type == status.ConditionReady {
			return each.Status == metav1.ConditionTrue
		}
	}
	return true
}

func index[T client.Object](field func(T) string) client.IndexerFunc {
	return func(object client.Object) []string { return []string{field(object.(T))} }
}

func newClient(objects []client.Object) client.Client {
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).
		WithIndex(&corev1.Pod{}, "spec.nodeName", index(func(p *corev1.Pod) string { return p.Spec.NodeName })).
		WithIndex(&corev1.Node{}, "spec.providerID", index(func(n *corev1.Node) string { return n.Spec.ProviderID })).
		WithIndex(&v1.NodeClaim{}, "status.providerID", index(func(n *v1.NodeClaim) string { return n.Status.ProviderID })).
		WithIndex(&storagev1.VolumeAttachment{}, "spec.nodeName", index(func(a *storagev1.VolumeAttachment) string { return a.Spec.NodeName })).
		WithInterceptorFuncs(interceptor.Funcs{Get: get}).
		Build()
}

// An API server ignores a namespace that is given for a kind without namespaces, and so does the cache of
// controller-runtime, which Karpenter reads from. The fake client finds nothing then.
func get(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, ok := object.(*corev1.PersistentVolume); ok {
		key.Namespace = ""
	}
	return c.Get(ctx, key, object, options...)
}

// Tell the cluster's state of everything, as its informers do.
func (w *world) fill(ctx context.Context) error {
	var claims v1.NodeClaimList
	var nodes corev1.NodeList
	var pods corev1.PodList
	var daemonSets appsv1.DaemonSetList
	for _, list := range []client.ObjectList{&claims, &nodes, &pods, &daemonSets} {
		if err := w.client.List(ctx, list); err != nil {
			return err
		}
	}
	for i := range claims.Items {
		w.cluster.UpdateNodeClaim(&claims.Items[i])
	}
	for i := range nodes.Items {
		if err := w.cluster.UpdateNode(ctx, &nodes.Items[i]); err != nil {
			return err
		}
	}
	for i := range pods.Items {
		if err := w.cluster.UpdatePod(ctx, &pods.Items[i]); err != nil {
			return err
		}
	}
	for i := range daemonSets.Items {
		if err := w.cluster.UpdateDaemonSet(ctx, &daemonSets.Items[i]); err != nil {
			return err
		}
	}
	return nil
}
