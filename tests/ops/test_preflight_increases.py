"""Limits that are too small: the command that raises them, or the request that is open already."""

from datetime import UTC, datetime
from typing import Any

import pytest

from ops.preflight import capacity, fargate, functions
from ops.preflight.findings import Finding, Status
from tests.ops.preflight_account import FakeAccount
from tests.ops.preflight_runs import about, findings_of, stack_of

SPOT_G = "L-3819A6DF"
HISTORY = "ListRequestedServiceQuotaChangeHistoryByQuota"
INCREASE = (
    "aws service-quotas request-service-quota-increase --service-code ec2 "
    "--quota-code L-3819A6DF --desired-value 224 --region eu-central-1"
)
LOOK = "aws service-quotas get-requested-service-quota-change --request-id 1a2b --region eu-central-1"


def request(value: float, status: str, **more: Any) -> dict[str, Any]:
    return {"Id": "1a2b", "DesiredValue": value, "Status": status, **more}


def short_of_spot(*requests: dict[str, Any]) -> FakeAccount:
    """An account with a spot limit of 0, whose first page of requests is empty and whose rows come twice."""

    def answer(ServiceCode: str, QuotaCode: str, NextToken: str = "") -> dict[str, Any]:
        if QuotaCode != SPOT_G or not NextToken:
            return {"RequestedQuotas": [], **({"NextToken": "x"} if QuotaCode == SPOT_G else {})}
        return {"RequestedQuotas": [*requests, *requests]}

    account = FakeAccount()
    account.quotas[SPOT_G] = 0.0
    account.answers[HISTORY] = answer
    return account


def spot_of(account: FakeAccount) -> Finding:
    return about(findings_of(stack_of("prod"), account, capacity), "All G and VT Spot")


def test_a_limit_for_which_nothing_is_asked_yet_has_the_command_that_asks() -> None:
    finding = spot_of(short_of_spot())
    assert (finding.status, finding.fix) == (Status.FAILED, INCREASE)
    assert "asked for" not in finding.detail


@pytest.mark.parametrize("status", ["PENDING", "CASE_OPENED"])
def test_an_open_request_that_is_large_enough_is_waited_for(status: str) -> None:
    made = datetime(2026, 11, 30, tzinfo=UTC)
    finding = spot_of(short_of_spot(request(224.0, status, Created=made)))
    assert finding.status is Status.FAILED, "what is asked for is not there yet"
    assert f"An increase to 224 was asked for on 2026-11-30 and is open: {status}." in finding.detail
    assert finding.fix == f"wait for AWS to grant it: {LOOK}", "AWS takes no second request"


def test_an_open_request_that_is_too_small_must_be_closed_first() -> None:
    finding = spot_of(short_of_spot(request(223.0, "CASE_OPENED")))
    assert "An increase to 223 was asked for and is open: CASE_OPENED. That is too little." in finding.detail
    assert finding.fix == f"{LOOK}; once it is closed, {INCREASE}"


@pytest.mark.parametrize("status", ["APPROVED", "DENIED", "CASE_CLOSED", "NOT_APPROVED", "INVALID_REQUEST"])
def test_a_request_that_has_ended_does_not_stand_in_the_way(status: str) -> None:
    finding = spot_of(short_of_spot(request(500.0, status)))
    assert finding.fix == INCREASE and "asked for" not in finding.detail


@pytest.mark.parametrize("code", ["AccessDeniedException", "ServiceException"])
def test_requests_that_may_not_be_listed_are_not_taken_for_none(code: str) -> None:
    account = short_of_spot()
    account.refused[HISTORY] = code
    finding = spot_of(account)
    assert (finding.status, finding.needed, finding.fix) == (Status.FAILED, "224", INCREASE)
    assert f"Whether an increase has been requested already is not known: {code}" in finding.detail


def test_a_list_of_requests_that_is_throttled_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda seconds: None)
    account = short_of_spot(request(224.0, "PENDING"))
    account.throttled[HISTORY] = 2
    assert spot_of(account).fix.startswith("wait for AWS")


def test_a_limit_that_is_large_enough_asks_for_no_requests() -> None:
    account = FakeAccount()
    assert spot_of(account).status is Status.PASSED
    assert ("servicequotas", HISTORY) not in account.called


def test_fargate_and_lambda_tell_of_open_requests_too() -> None:
    account = FakeAccount()
    account.answers["ListClusters"] = lambda: {}
    account.quotas["L-3032A538"] = 40.0
    limits = {"ConcurrentExecutions": 10, "UnreservedConcurrentExecutions": 10}
    account.answers["GetAccountSettings"] = lambda: {"AccountLimit": limits}
    account.answers[HISTORY] = lambda ServiceCode, QuotaCode: {"RequestedQuotas": [request(500.0, "PENDING")]}
    findings = findings_of(stack_of("prod"), account, fargate, functions)
    assert about(findings, "Fargate On-Demand").status is Status.WARNING
    for words in ("Fargate On-Demand", "Lambda"):
        finding = about(findings, words)
        assert "An increase to 500 was asked for" in finding.detail and finding.fix.startswith("wait for AWS")
