[.[] | select(.resourceType == "virtualMachines") | (.capabilities | map({key: .name, value: .value}) | from_entries) as $has
  | ($has.vCPUs | tonumber) as $cpu | .locationInfo[0] as $at
  | {name, capacity: {cpu: $has.vCPUs, memory: "\($has.MemoryGB | tonumber * 1024 | floor)Mi", pods: "110"},
     overhead: {kubeReserved: {cpu: "\(60 + 20 * $cpu)m", memory: "\($has.MemoryGB | tonumber * 64 + 512 | floor)Mi"}, evictionThreshold: {memory: "100Mi"}},
     requirements: [
       {key: "kubernetes.io/arch", operator: "In", values: [if $has.CpuArchitectureType == "Arm64" then "arm64" else "amd64" end]},
       {key: "karpenter.azure.com/sku-cpu", operator: "In", values: [$has.vCPUs]}],
     offerings: [$at.zones[] | "\($at.location)-\(.)" as $zone | ("on-demand", "spot") | {capacityType: ., zone: $zone}]}
  | select(.offerings != [])]
