"""The report for machines. Pure."""

from dataclasses import asdict
from typing import Any

from ops.capture.recording import RecordedResource
from ops.diff.comparison import Comparison
from ops.diff.costs import CostChange
from ops.diff.text import Outcome


def stack_document(stack: str, outcome: Outcome) -> dict[str, Any]:
    """One stack in plain values; `error` says why there is nothing else."""
    if isinstance(outcome, str):
        return {"stack": stack, "error": outcome}
    return {
        "stack": stack,
        "is_new": outcome.is_new,
        "is_same": outcome.is_same,
        "is_refused": outcome.is_refused,
        **_resources(outcome),
        "permissions": {
            "gained": list(outcome.permissions_gained),
            "lost": list(outcome.permissions_lost),
        },
        "openings": {
            "gained": [{"text": str(item), **asdict(item)} for item in outcome.openings_gained],
            "lost": [{"text": str(item), **asdict(item)} for item in outcome.openings_lost],
            "to_the_internet": [str(item) for item in outcome.internet_openings],
        },
        "cost": _cost(outcome.cost),
        "findings": {
            "data": [asdict(item) for item in outcome.data],
            "new": [asdict(item) for item in outcome.findings_new],
            "gone": [asdict(item) for item in outcome.findings_gone],
        },
        "protection_lost": list(outcome.unprotected),
        "moved_zones": list(outcome.moved_zones),
        "exports": [asdict(change) for change in outcome.exports],
        "picture": asdict(outcome.picture) if outcome.picture else None,
    }


def _resources(outcome: Comparison) -> dict[str, Any]:
    replaced = outcome.replaced
    return {
        "added": [_resource(item) for item in outcome.added],
        "removed": [_resource(item) for item in outcome.removed],
        "renamed": [{"from": former, "to": urn} for urn, former in outcome.renamed.items()],
        "changed": [
            {**_resource(item), "changes": [asdict(change) for change in changes]}
            for item, changes in outcome.changed
        ],
        "replaced": [
            {"urn": urn, "because": sorted(paths), "follows": replaced.followed.get(urn)}
            for urn, paths in replaced.because.items()
        ],
        "updated": [{"urn": urn, "follows": source} for urn, source in replaced.updated.items()],
        "replacement_unknown": [_resource(item) for item in replaced.unjudged],
    }


def _resource(item: RecordedResource) -> dict[str, str]:
    return {"urn": item.urn, "type": item.type, "name": item.name}


def _cost(cost: CostChange) -> dict[str, Any]:
    return {
        "idle_usd": [round(cost.base.idle_usd, 4), round(cost.head.idle_usd, 4)],
        "busy_usd": [round(cost.base.busy_usd, 4), round(cost.head.busy_usd, 4)],
        "parts": [asdict(part) for part in cost.parts],
        "unpriced": [{"resource": name, "why": why} for name, why in cost.unpriced],
        "unpriced_before": [{"resource": name, "why": why} for name, why in cost.unpriced_before],
    }
