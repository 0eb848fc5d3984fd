"""What the program has to be told: which repository is trusted, and where the state lies."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from components.config_values import REGION

# The Pulumi project of this program, as in bootstrap/Pulumi.yaml.
PROJECT = "ai-platform-bootstrap"
ENVIRONMENTS = ("dev", "staging", "prod")
REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
ENVIRONMENT = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
PROVIDER_ARN = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:oidc-provider/token\.actions\.githubusercontent\.com")


class SettingsError(Exception):
    """Settings are wrong; the message has a line for each fault."""


@dataclass(frozen=True, kw_only=True)
class BootstrapSettings:
    """Checked when made: SettingsError tells all faults at once."""

    repository: str
    region: str
    owner_id: str = ""
    repository_id: str = ""
    environments: tuple[str, ...] = ENVIRONMENTS
    identity_provider_arn: str = ""

    def __post_init__(self) -> None:
        if faults := list(self._faults()):
            raise SettingsError("\n".join(faults))

    def subject(self, claim: str) -> str:
        """The `sub` of a token of the repository, such as `repo:octo-org/platform:pull_request`.

        Repositories made or renamed since 2026-07-15 have the numbers of owner and repository in it, so that nobody
        can take over a name that was given up
        (https://github.blog/changelog/2026-04-23-immutable-subject-claims-for-github-actions-oidc-tokens/).
        """
        owner, name = self.repository.split("/")
        if self.owner_id:
            owner, name = f"{owner}@{self.owner_id}", f"{name}@{self.repository_id}"
        return f"repo:{owner}/{name}:{claim}"

    def _faults(self) -> Iterator[str]:
        if not REPOSITORY.fullmatch(self.repository):
            yield f"repository = {self.repository!r}: is not the name of a GitHub repository. Fix: write OWNER/NAME."
        if not REGION.accepts(self.region):
            yield f"region = {self.region!r}: {REGION.text}. Fix: name a region, such as eu-central-1."
        if self.identity_provider_arn and not PROVIDER_ARN.fullmatch(self.identity_provider_arn):
            yield f"identityProviderArn = {self.identity_provider_arn!r}: is not the ARN of GitHub's provider. Fix: `aws iam list-open-id-connect-providers` lists it."
        yield from self._faults_of_numbers()
        yield from self._faults_of_environments()

    def _faults_of_numbers(self) -> Iterator[str]:
        if bool(self.owner_id) != bool(self.repository_id):
            yield "Only one of the ids of owner and repository is given. Fix: give both, or neither."
        for number in (self.owner_id, self.repository_id):
            if number and not (number.isascii() and number.isdigit()):
                yield f"{number!r} is not an id of GitHub's, which is a number. Fix: `gh api repos/{self.repository}` shows both."

    def _faults_of_environments(self) -> Iterator[str]:
        if not self.environments:
            yield "environments is empty: nothing could be deployed. Fix: name at least one, such as dev."
        for name in self.environments:
            if not ENVIRONMENT.fullmatch(name):
                yield f"environments = {name!r}: must be lower-case letters, digits and hyphens. Fix: rename it."
