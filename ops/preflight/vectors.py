"""Whether OpenSearch Serverless has room for the collection and the collection group of a stack."""

from collections.abc import Iterator

from ops.preflight.account import Account
from ops.preflight.checks import Check
from ops.preflight.findings import Finding, Status, amount
from ops.preflight.quota_codes import COLLECTION_GROUPS, COLLECTIONS, GROUP_OCUS, QuotaCode
from ops.preflight.quotas import FIND_QUOTA, Demand, codes_of, limit_findings
from ops.preflight.stack import Stack

COLLECTION = "aws:opensearch/serverlessCollection:ServerlessCollection"
GROUP = "aws:opensearch/serverlessCollectionGroup:ServerlessCollectionGroup"
# Account-wide OCU limits hold for collections outside groups only, so none is asked for here.
# https://docs.aws.amazon.com/opensearch-service/latest/developerguide/collection-groups-capacity-limits.html
OCU_LIMITS = ("maxIndexingCapacityInOcu", "maxSearchCapacityInOcu")


def checks(stack: Stack) -> list[Check]:
    """Collections, collection groups, and the OCUs of a group."""
    return [
        *_counted(
            stack, COLLECTION, "OpenSearch Serverless collections", COLLECTIONS,
            "list_collections", "collectionSummaries",
        ),
        *_counted(
            stack, GROUP, "OpenSearch Serverless collection groups", COLLECTION_GROUPS,
            "list_collection_groups", "collectionGroupSummaries",
        ),
        *_ocus(stack),
    ]  # fmt: skip


def _counted(
    stack: Stack, type_token: str, what: str, code: QuotaCode, operation: str, key: str
) -> list[Check]:
    names = {str(item.inputs["name"]) for item in stack.of_type(type_token)}

    def ask(account: Account) -> Iterator[Finding]:
        existing = {item["name"] for item in account.listed("opensearchserverless", operation, key)}
        used = len(existing - names)
        demand = Demand(what=what, added=len(names), used=used, source="the vector store")
        yield from _limits(account, code, demand)

    action = f"aoss:{''.join(part.capitalize() for part in operation.split('_'))}"
    return [Check(what=what, ask=ask, actions=(*FIND_QUOTA, action))] if names else []


def _ocus(stack: Stack) -> list[Check]:
    limits = [limit for group in stack.of_type(GROUP) for limit in group.inputs["capacityLimits"]]
    most = max((float(limit[key]) for limit in limits for key in OCU_LIMITS), default=0)
    what = "OCUs of an OpenSearch Serverless collection group"

    def ask(account: Account) -> Iterator[Finding]:
        demand = Demand(what=what, added=most, used=0, source="vectorMaximumOcus")
        yield from _limits(account, GROUP_OCUS, demand)

    return [Check(what=what, ask=ask, actions=FIND_QUOTA)] if most else []


def _limits(account: Account, code: QuotaCode, demand: Demand) -> Iterator[Finding]:
    """A limit that Service Quotas does not list is told as a warning, since no command can read it."""
    if codes_of(account, code):
        yield from limit_findings(account, code, demand)
        return
    yield Finding(
        status=Status.WARNING,
        what=demand.what,
        needed=amount(demand.used + demand.added),
        found="no such limit in Service Quotas",
        detail=f"In use by others: {amount(demand.used)}. Compare with the limits of OpenSearch Serverless in the console.",
        fix=account.command("service-quotas list-service-quotas --service-code aoss"),
    )
