package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"sigs.k8s.io/yaml"

	// Each install package teaches legacyscheme the types of one API group with the API server's own
	// defaults and conversions.
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

// rawCase is a case as written in its files.
type rawCase struct {
	objects   []runtime.Object
	candidate *corev1.Pod
	config    *schedulerapi.KubeSchedulerConfiguration
}

func readCase(dir string) (*rawCase, error) {
	objects, err := readObjects(filepath.Join(dir, "cluster.yaml"))
	if err != nil {
		return nil, err
	}
	candidate, err := readCandidate(filepath.Join(dir, "pod.yaml"))
	if err != nil {
		return nil, err
	}
	config, err := readConfig(filepath.Join(dir, "config.yaml"))
	if err != nil {
		return nil, err
	}
	return &rawCase{objects, candidate, config}, nil
}

func readCandidate(path string) (*corev1.Pod, error) {
	objects, err := readObjects(path)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%s: want one pod, found %d objects", path, len(objects))
	}
	pod, ok := objects[0].(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("%s: want a Pod, found %T", path, objects[0])
	}
	return pod, nil
}

// readConfig reads a configuration as kube-scheduler does: strictly, defaulted and validated.
// Without a file it is what kube-scheduler runs with when it is given none.
func readConfig(path string) (*schedulerapi.KubeSchedulerConfiguration, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return latest.Default()
	}
	if err != nil {
		return nil, err
	}
	obj, gvk, err := scheme.Codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	config, ok := obj.(*schedulerapi.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("%s: want a KubeSchedulerConfiguration, found %s", path, gvk.Kind)
	}
	// Decoding clears the version, and validation needs it to know what was removed when.
	config.TypeMeta.APIVersion = gvk.GroupVersion().String()
	if err := validation.ValidateKubeSchedulerConfiguration(config); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(config.Extenders) > 0 {
		return nil, fmt.Errorf("%s: the oracle does not call extenders", path)
	}
	return config, nil
}

func readObjects(path string) ([]runtime.Object, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	documents, err := splitDocuments(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var objects []runtime.Object
	for _, document := range documents {
		obj, err := decodeObject(document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if obj != nil {
			objects = append(objects, obj)
		}
	}
	return objects, nil
}

// splitDocuments turns a stream of YAML documents, in which lists may occur, into single objects.
func splitDocuments(data []byte) ([]json.RawMessage, error) {
	var documents []json.RawMessage
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		text, err := reader.Read()
		if err == io.EOF {
			return documents, nil
		}
		if err != nil {
			return nil, err
		}
		document, err := yaml.YAMLToJSON(text)
		if err != nil {
			return nil, err
		}
		if documents, err = appendItems(documents, document); err != nil {
			return nil, err
		}
	}
}

// appendItems adds a document or, if it is a list, what the list holds.
func appendItems(documents []json.RawMessage, document json.RawMessage) ([]json.RawMessage, error) {
	if string(bytes.TrimSpace(document)) == "null" {
		return documents, nil
	}
	var list struct {
		metav1.TypeMeta `json:",inline"`
		Items           []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(document, &list); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(list.Kind, "List") {
		return append(documents, document), nil
	}
	for _, item := range list.Items {
		item, err := withType(item, list.TypeMeta)
		if err != nil {
			return nil, err
		}
		if documents, err = appendItems(documents, item); err != nil {
			return nil, err
		}
	}
	return documents, nil
}

// withType restores what items of a typed list (PodList) leave to the list: their apiVersion and kind.
func withType(item json.RawMessage, list metav1.TypeMeta) (json.RawMessage, error) {
	var own metav1.TypeMeta
	if err := json.Unmarshal(item, &own); err != nil {
		return nil, err
	}
	if own.Kind != "" || list.Kind == "List" {
		return item, nil
	}
	var fields map[string]any
	if err := json.Unmarshal(item, &fields); err != nil {
		return nil, err
	}
	fields["apiVersion"], fields["kind"] = list.APIVersion, strings.TrimSuffix(list.Kind, "List")
	return json.Marshal(fields)
}

// decodeObject reads one object and defaults it as the API server would. Kinds that the scheduler cannot
// know (custom resources, Ingresses) give nil.
func decodeObject(document json.RawMessage) (runtime.Object, error) {
	obj, gvk, err := legacyscheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
	if runtime.IsNotRegisteredError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(obj)
	if err := prepareForCreate(obj); err != nil {
		return nil, err
	}
	return stored(inStableVersion(obj, gvk))
}

// stored is the object as the API server gives it back: with what is empty left out, and all quantities in
// their canonical form. It makes a difference: a quantity read from "0.5Gi" shares its digits with its copies.
func stored(obj runtime.Object) (runtime.Object, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	back := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(runtime.Object)
	return back, json.Unmarshal(data, back)
}

// inStableVersion converts an object of a beta API to v1, where the scheduler looks for it. Kinds that are
// not in v1 yet stay as they are.
func inStableVersion(obj runtime.Object, gvk *schema.GroupVersionKind) runtime.Object {
	if gvk.Version == "v1" {
		return obj
	}
	// By way of the internal version, to and from which every version has conversions.
	internal, err := legacyscheme.Scheme.ConvertToVersion(obj, schema.GroupVersion{Group: gvk.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		return obj
	}
	stable, err := legacyscheme.Scheme.ConvertToVersion(internal, schema.GroupVersion{Group: gvk.Group, Version: "v1"})
	if err != nil {
		return obj
	}
	legacyscheme.Scheme.Default(stable)
	return stable
}
