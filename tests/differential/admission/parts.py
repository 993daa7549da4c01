"""Tolerations, affinity, spreading, volumes: what stands in a pod's spec beside its containers."""

from tests.differential.admission.dice import KEYS, TAINTS, TOPOLOGIES, VALUES, Dice, Json


class Parts(Dice):
    """Parts of pods."""

    def toleration(self) -> Json:
        made: Json = {}
        key = self.dice.choice(TAINTS)
        operator = self.dice.choice(("Exists", "Equal", ""))
        if key:
            made["key"] = key
        elif self.maybe(0.9):
            operator = "Exists"
        if operator:
            made["operator"] = operator
        if operator != "Exists" and self.maybe(0.7):
            made["value"] = self.dice.choice(("a", "b"))
        if self.maybe(0.7):
            made["effect"] = self.dice.choice(("NoSchedule", "NoExecute", "PreferNoSchedule"))
        if made.get("effect") == "NoExecute" and self.maybe(0.5):
            made["tolerationSeconds"] = self.dice.choice((0, 60, 300, -1))
        return made

    def selector(self) -> Json | None:
        if self.maybe(0.08):
            return None
        made: Json = {}
        if self.maybe(0.7):
            made["matchLabels"] = {key: self.dice.choice(VALUES) for key in self.some(KEYS, 2)}
        if self.maybe(0.4):
            made["matchExpressions"] = [self.requirement()]
        return made

    def requirement(self, *more: str) -> Json:
        operator = self.dice.choice(("In", "NotIn", "Exists", "DoesNotExist", *more))
        made: Json = {"key": self.dice.choice(KEYS), "operator": operator}
        if operator in ("In", "NotIn"):
            made["values"] = self.dice.sample(VALUES, self.dice.choice((1, 2)))
        if operator in ("Gt", "Lt"):
            made["values"] = [self.dice.choice(("1", "5"))]
        return made

    def with_keys(self, made: Json, *fields: str) -> Json:
        selector = self.selector()
        if selector is not None:
            made["labelSelector"] = selector
        for field in fields:
            if self.maybe(0.25):
                made[field] = self.dice.sample(KEYS, self.dice.choice((1, 2)))
        return made

    def term(self) -> Json:
        made = self.with_keys({"topologyKey": self.dice.choice(TOPOLOGIES)}, "matchLabelKeys", "mismatchLabelKeys")
        if self.maybe(0.2):
            made["namespaces"] = ["other"]
        if self.maybe(0.15):
            made["namespaceSelector"] = self.dice.choice(({}, {"matchLabels": {"team": "a"}}))
        return made

    def spread(self) -> Json:
        made = self.with_keys(
            {
                "maxSkew": self.dice.choice((1, 2, 5)),
                "topologyKey": self.dice.choice(TOPOLOGIES),
                "whenUnsatisfiable": self.dice.choice(("DoNotSchedule", "ScheduleAnyway")),
            },
            "matchLabelKeys",
        )
        if self.maybe(0.15):
            made["minDomains"] = self.dice.choice((1, 3))
        if self.maybe(0.15):
            made[self.dice.choice(("nodeAffinityPolicy", "nodeTaintsPolicy"))] = self.dice.choice(("Honor", "Ignore"))
        return made

    def affinity(self) -> Json:
        made: Json = {}
        if self.maybe(0.5):
            made["nodeAffinity"] = self.node_affinity()
        for part in ("podAffinity", "podAntiAffinity"):
            if self.maybe(0.4):
                made[part] = {}
                if self.maybe(0.6):
                    made[part]["requiredDuringSchedulingIgnoredDuringExecution"] = [
                        self.term() for _ in range(self.dice.choice((1, 2)))
                    ]
                if self.maybe(0.5):
                    made[part]["preferredDuringSchedulingIgnoredDuringExecution"] = [
                        {"weight": self.dice.choice((1, 50, 100)), "podAffinityTerm": self.term()}
                    ]
        return made

    def node_term(self) -> Json:
        made: Json = {}
        if self.maybe(0.8):
            made["matchExpressions"] = [self.requirement("Gt", "Lt") for _ in range(self.dice.choice((1, 2)))]
        if self.maybe(0.2):
            made["matchFields"] = [
                {"key": "metadata.name", "operator": self.dice.choice(("In", "NotIn")), "values": ["node-1"]}
            ]
        return made

    def node_affinity(self) -> Json:
        made: Json = {}
        if self.maybe(0.7):
            terms = [self.node_term() for _ in range(self.dice.choice((1, 2)))]
            made["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
        if self.maybe(0.4):
            made["preferredDuringSchedulingIgnoredDuringExecution"] = [{"weight": 10, "preference": self.node_term()}]
        return made

    def volumes(self) -> list[Json]:
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        return [
            {"name": name, **source}
            for name, source in self.some(
                (
                    ("a", {"emptyDir": {}}),
                    ("b", {"persistentVolumeClaim": {"claimName": "data"}}),
                    ("c", {"ephemeral": {"volumeClaimTemplate": {"spec": claim}}}),
                    ("d", {"configMap": {"name": "x"}}),
                ),
                3,
            )
        ]

    def claims(self) -> list[Json]:
        choose = self.dice.choice
        sources: tuple[Json, ...] = (
            {"resourceClaimName": "there"},
            {"resourceClaimTemplateName": "made"},
            {},
            {"resourceClaimName": "a", "resourceClaimTemplateName": "b"},
            {"resourceClaimName": "Not A Name"},
        )
        names = choose((["gpu"], ["gpu", "nic"], ["gpu", "gpu"], ["GPU"]))
        return [{"name": name, **(sources[0] if self.maybe(0.7) else choose(sources))} for name in names]
