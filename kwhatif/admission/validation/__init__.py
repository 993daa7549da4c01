"""The API server's validation of new pods, as far as scheduling reads them (`pkg/apis/core/validation/validation.go`).

Fields that no scheduling rule reads (probes, environment, mounts, security contexts, most volume sources) are not
judged. Errors come in the API server's order; where that iterates over a map, and so has none, they come by key.
"""
