"""The API server's validation of the fields that scheduling reads (`pkg/apis/core/validation/validation.go`).

Fields that no scheduling rule reads (probes, environment, mounts, security contexts, most volume sources) are not
validated. Errors are in the API server's order, or by key if that iterates over a map.
"""
