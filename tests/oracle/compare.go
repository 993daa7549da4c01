package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
)

// compareAll judges the cases again and prints how the stored answers differ.
func compareAll(opts options) (int, error) {
	judged, differing := 0, 0
	for a := range judgeAll(caseDirs(opts.dirs, os.Stdin), opts.jobs) {
		judged++
		differences := compareStored(filepath.Join(a.dir, "expected.json"), a.expected)
		if len(differences) == 0 {
			continue
		}
		differing++
		fmt.Println(a.dir)
		for _, difference := range differences {
			fmt.Println("  " + difference)
		}
	}
	fmt.Printf("%d of %d cases agree\n", judged-differing, judged)
	if differing > 0 {
		return exitDiffers, nil
	}
	return 0, nil
}

// compareStored lists the differences to a file; that it cannot be read is one.
func compareStored(path string, computed *expected) []string {
	stored, err := os.ReadFile(path)
	if err != nil {
		return []string{err.Error()}
	}
	differences, err := compareAnswer(stored, computed)
	if err != nil {
		return []string{path + ": " + err.Error()}
	}
	return differences
}

// compareAnswer lists the differences in meaning between a stored answer and a computed one.
func compareAnswer(stored []byte, computed *expected) ([]string, error) {
	var want, got any
	if err := json.Unmarshal(stored, &want); err != nil {
		return nil, err
	}
	data, err := json.Marshal(computed)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &got); err != nil {
		return nil, err
	}
	return diff("", strip(want), strip(got)), nil
}

// strip removes what means the same as its absence: null, empty lists and objects, and a score of zero.
func strip(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, inner := range value {
			if key == "plugins" {
				inner = withoutZeros(inner)
			}
			if inner = strip(inner); inner != nil {
				kept[key] = inner
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return kept
	case []any:
		if len(value) == 0 {
			return nil
		}
		kept := make([]any, len(value))
		for i, inner := range value {
			kept[i] = strip(inner)
		}
		return kept
	}
	return value
}

func withoutZeros(scores any) any {
	kept := map[string]any{}
	plugins, _ := scores.(map[string]any)
	for plugin, score := range plugins {
		if score != 0.0 {
			kept[plugin] = score
		}
	}
	return kept
}

// diff walks two answers and says where they part. Objects are entered; anything else is shown whole.
func diff(path string, want, got any) []string {
	if reflect.DeepEqual(want, got) {
		return nil
	}
	w, isObject := want.(map[string]any)
	g, isAlso := got.(map[string]any)
	if !isObject || !isAlso {
		return []string{fmt.Sprintf("%s: stored %s, now %s", path, compact(want), compact(got))}
	}
	var keys []string
	for key := range w {
		keys = append(keys, key)
	}
	for key := range g {
		if _, both := w[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var differences []string
	for _, key := range keys {
		inner := key
		if path != "" {
			inner = path + "." + key
		}
		differences = append(differences, diff(inner, w[key], g[key])...)
	}
	return differences
}

func compact(value any) string {
	if value == nil {
		return "nothing"
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
