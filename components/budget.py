"""The monthly budget of a stack, with notifications by e-mail."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.config_sections import BudgetConfig

# What is spent, and what AWS expects to be spent by the end of the month, in percent of the limit.
NOTIFICATIONS = (("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 100))
COST_TAG = "Stack"


@dataclass(frozen=True, kw_only=True)
class BudgetArgs:
    config: BudgetConfig
    tags: Mapping[str, str]


class Budget(pulumi.ComponentResource):
    """A limit on what carries the stack's own `Stack` tag. It notifies; it stops nothing.

    The budget stays at zero until `Stack` is activated as a cost allocation tag in the billing console, and it never
    sees what AWS does not tag, such as support or tax. Stacks of one name in an account share their count.
    https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/activating-tags.html
    """

    budget_name: pulumi.Output[str]

    def __init__(self, name: str, args: BudgetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:Budget", name, None, opts)
        budget = aws.budgets.Budget(
            f"{name}-monthly",
            budget_type="COST",
            time_unit="MONTHLY",
            limit_amount=str(args.config.monthly_limit_usd),
            limit_unit="USD",
            cost_filters=[{"name": "TagKeyValue", "values": [cost_tag(args.tags)]}],
            notifications=[
                {
                    "notification_type": kind,
                    "comparison_operator": "GREATER_THAN",
                    "threshold": percent,
                    "threshold_type": "PERCENTAGE",
                    "subscriber_email_addresses": [args.config.email],
                }
                for kind, percent in NOTIFICATIONS
            ],
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.budget_name = budget.name
        self.register_outputs({"budget_name": self.budget_name})


def cost_tag(tags: Mapping[str, str]) -> str:
    """The stack's tag as budgets filter by it: tags that users define carry `user:` before the key.

    https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-create-filters.html
    """
    return f"user:{COST_TAG}${tags[COST_TAG]}"
