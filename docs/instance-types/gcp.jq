[group_by(.name)[] | .[0] as $one
  | {name: $one.name, capacity: {cpu: "\($one.guestCpus)", memory: "\($one.memoryMb)Mi", pods: "110"},
     overhead: {kubeReserved: {cpu: "\(60 + 10 * $one.guestCpus)m", memory: "\($one.memoryMb / 10 | floor)Mi"}, evictionThreshold: {memory: "100Mi"}},
     requirements: [{key: "kubernetes.io/arch", operator: "In", values: [if $one.architecture == "ARM64" then "arm64" else "amd64" end]}],
     offerings: [.[].zone as $zone | ("on-demand", "spot") | {capacityType: ., zone: $zone}]}]
