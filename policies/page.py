"""docs/policies.md, made from the rules and their exceptions."""

from collections.abc import Iterable

from policies.data import DATA_REPLACEMENT
from policies.exceptions import EXCEPTIONS, PolicyException
from policies.rule import Rule
from policies.rules import RULES

HEAD = """# Policies

Made from `policies/` by `python -m policies.page`; a test holds this page to the rules.

The rules look at what the program registers, by the same recording as the preview. They run

- in `python -m ops lint`, without an AWS account; it ends with 1 when a finding is an error;
- in the tests, over all stacks;
- in the engine, as a policy pack, which also judges what others add to the program:

```sh
make policy-pack   # once: the pack's own environment
pulumi preview --policy-pack policies/pack
pulumi policy analyze --file state.json --policy-pack policies/pack   # an exported state, no program and no login
```

The pack needs packages of other versions than the program and therefore has an environment of its own.
Its rules see the whole stack and run when all of it is known, which is at the end of the preview. `pulumi up --skip-preview`
passes by that, and is told only after the deployment.
A value that only AWS can tell breaks no rule in a preview; `ops lint` and the tests see made-up values there and judge
policies, environments and boot scripts whole.

## Rules

"""
EXCEPTIONS_HEAD = """
## Exceptions

In `policies/exceptions.py`. One that has expired is an error, and so is one that no stack needs.

"""


def page() -> str:
    """The whole page."""
    return (
        HEAD
        + _table(
            ("rule", "severity", "what holds", "otherwise", "fix"), map(_rule_row, [*RULES, DATA_REPLACEMENT])
        )
        + EXCEPTIONS_HEAD
        + _table(("rule", "resource", "what", "why", "until"), map(_exception_row, EXCEPTIONS))
    )


def _rule_row(rule: Rule) -> tuple[str, ...]:
    return (f"`{rule.id}`", rule.severity.value, rule.promise, rule.harm, rule.fix)


def _exception_row(item: PolicyException) -> tuple[str, ...]:
    return (
        f"`{item.rule}`", f"`{item.name}`", item.what.rstrip(":"), item.reason, item.expires.isoformat(),
    )  # fmt: skip


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    """A cell's text; code is taken as it stands."""
    return text if text.startswith("`") else text.replace("*", "\\*").replace("|", "\\|")


if __name__ == "__main__":
    from ops.capture.program import PROJECT_ROOT

    (PROJECT_ROOT / "docs" / "policies.md").write_text(page(), encoding="utf-8")
