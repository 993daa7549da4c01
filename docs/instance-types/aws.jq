($od[0].PriceList | map(fromjson | {key: .product.attributes.instanceType,
  value: (.terms.OnDemand[].priceDimensions[].pricePerUnit.USD | tonumber)}) | from_entries) as $price
| ($spot[0].SpotPriceHistory | map({key: "\(.InstanceType) \(.AvailabilityZone)", value: (.SpotPrice | tonumber)}) | from_entries) as $bid
| [.InstanceTypes[] | .InstanceType as $name | .VCpuInfo.DefaultVCpus as $cpu
  | (.NetworkInfo | .MaximumNetworkInterfaces * (.Ipv4AddressesPerInterface - 1) + 2) as $pods
  | {name: $name,
     capacity: {cpu: "\($cpu)", memory: "\(.MemoryInfo.SizeInMiB * 0.925 | floor)Mi", pods: "\($pods)", "ephemeral-storage": "20Gi"},
     overhead: {kubeReserved: {cpu: "\([60, 10, 5, 5][:$cpu] + [range(4; $cpu) | 2.5] | add | floor)m", memory: "\(255 + 11 * $pods)Mi"},
                evictionThreshold: {memory: "100Mi"}},
     requirements: [
       {key: "kubernetes.io/arch", operator: "In", values: [if .ProcessorInfo.SupportedArchitectures[0] == "arm64" then "arm64" else "amd64" end]},
       {key: "karpenter.k8s.aws/instance-family", operator: "In", values: [$name | split(".")[0]]},
       {key: "karpenter.k8s.aws/instance-size", operator: "In", values: [$name | split(".")[1]]},
       {key: "karpenter.k8s.aws/instance-category", operator: "In", values: [$name | capture("^(?<c>[a-z]+)").c]},
       {key: "karpenter.k8s.aws/instance-generation", operator: "In", values: [$name | capture("(?<g>[0-9]+)").g]},
       {key: "karpenter.k8s.aws/instance-cpu", operator: "In", values: ["\($cpu)"]}],
     offerings: [$zones[0].InstanceTypeOfferings[] | select(.InstanceType == $name) | .Location as $zone
       | ({capacityType: "on-demand", zone: $zone, price: $price[$name]},
          ($bid["\($name) \($zone)"] // empty | {capacityType: "spot", zone: $zone, price: .}))]}
  | select(.offerings != [])]
