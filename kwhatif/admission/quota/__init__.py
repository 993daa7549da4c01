"""ResourceQuota, for pods and claims: `apiserver/pkg/admission/plugin/resourcequota`, `pkg/quota/v1/evaluator/core`."""
