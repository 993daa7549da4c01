// Command selectors writes down what Kubernetes' CEL says of device selectors.
//
// It takes a JSON file with a list of {"expression": ...}, asks the scheduler's own library about one device, and adds
// to each entry what came out: "refused" where it does not compile, "error" with the message, or "match". And what it
// cost, with the estimate by which the API server accepts it or not.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log"
	"os"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
)

// Answer is one entry of the file.
type Answer struct {
	Expression string  `json:"expression"`
	Refused    bool    `json:"refused,omitempty"`
	Error      *string `json:"error,omitempty"`
	Match      *bool   `json:"match,omitempty"`
	Cost       *uint64 `json:"cost,omitempty"`
	Estimate   *uint64 `json:"estimate,omitempty"`
}

var device = cel.Device{
	Driver:                   "gpu.example.com",
	AllowMultipleAllocations: ptr.To(false),
	Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
		"model":                  {StringValue: ptr.To("A100")},
		"index":                  {IntValue: ptr.To(int64(3))},
		"healthy":                {BoolValue: ptr.To(true)},
		"version":                {VersionValue: ptr.To("1.2.3")},
		"other.example.com/rack": {StringValue: ptr.To("r1")},
	},
	Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("40Gi")}},
}

func ask(expression string) Answer {
	answer := Answer{Expression: expression}
	compiled := cel.GetCompiler(cel.Features{EnableConsumableCapacity: true}).CompileCELExpression(
		expression, cel.Options{})
	if compiled.Error != nil {
		answer.Refused = true
		return answer
	}
	answer.Estimate = ptr.To(compiled.MaxCost)
	match, details, err := compiled.DeviceMatches(context.Background(), device)
	if details != nil {
		answer.Cost = details.ActualCost()
	}
	if err != nil {
		answer.Error = ptr.To(err.Error())
		return answer
	}
	answer.Match = &match
	return answer
}

func main() {
	path := os.Args[1]
	data, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	var answers []Answer
	if err := json.Unmarshal(data, &answers); err != nil {
		log.Fatal(err)
	}
	for i := range answers {
		answers[i] = ask(answers[i].Expression)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(answers); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}
