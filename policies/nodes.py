"""Rules over the machines that work: guarded metadata, and no work that a spot interruption would lose."""

from collections.abc import Iterator

from ops.capture.recording import RecordedResource
from policies.rule import Fault, RecordingRule, Severity
from policies.storage import INSTANCE, LAUNCH_TEMPLATE
from policies.view import JOB, View, containers, is_unknown, parts

GROUP = "aws:autoscaling/group:Group"
COMPUTE_ENVIRONMENT = "aws:batch/computeEnvironment:ComputeEnvironment"
# The tags by which a fleet tells what it is for and where its work is saved.
PURPOSE_TAG, CHECKPOINT_TAG = "Purpose", "CheckpointPath"
STATELESS_PURPOSES = ("inference",)
CHECKPOINT_FOLDER = "checkpoints"


def _open_metadata(view: View) -> Iterator[Fault]:
    for template in view.of(LAUNCH_TEMPLATE, INSTANCE):
        given = template.inputs.get("metadataOptions")
        if is_unknown(given) or (template.inputs.get("launchTemplate") and not given):
            continue
        options = parts(given)
        tokens = [option.get("httpTokens") for option in options]
        is_off = any(option.get("httpEndpoint") == "disabled" for option in options)
        if not is_off and not any(value == "required" or is_unknown(value) for value in tokens):
            yield Fault(resource=template, what="answers requests for metadata without a session token")


def _lost_work(view: View) -> Iterator[Fault]:
    for group in view.of(GROUP):
        tags = {tag.get("key"): tag.get("value") for tag in parts(group.inputs.get("tags"))}
        is_stateless = tags.get(PURPOSE_TAG) in STATELESS_PURPOSES
        if _runs_on_spot(view, group) and not is_stateless and not tags.get(CHECKPOINT_TAG):
            yield Fault(
                resource=group,
                what=f"runs on spot with no {CHECKPOINT_TAG} tag",
                fix="set checkpointPath of the fleet to a folder of the shared file system, or onDemandPercentage to 100",
            )
    if any(_is_spot(item) for item in view.of(COMPUTE_ENVIRONMENT)):
        for job in view.of(JOB):
            # AWS Batch places multi-node jobs on no spot environment.
            # https://docs.aws.amazon.com/batch/latest/userguide/mnp-ce.html
            if job.inputs.get("type") != "multinode":
                yield from _job_faults(job)


def _runs_on_spot(view: View, group: RecordedResource) -> bool:
    """Whether any node of the group can be a spot instance; a distribution that says nothing starts none."""
    for policy in parts(group.inputs.get("mixedInstancesPolicy")):
        for shares in parts(policy.get("instancesDistribution")):
            share = shares.get("onDemandPercentageAboveBaseCapacity", 100)
            if isinstance(share, int | float) and share < 100:
                return True
    sources = {
        urn
        for key in ("launchTemplate", "mixedInstancesPolicy")
        for urn in group.property_dependencies.get(key, ())
    }
    markets = [
        option.get("marketType")
        for template in view.of(LAUNCH_TEMPLATE)
        if template.urn in sources
        for option in parts(template.inputs.get("instanceMarketOptions"))
    ]
    return "spot" in markets


def _is_spot(environment: RecordedResource) -> bool:
    resources = parts(environment.inputs.get("computeResources"))
    return any(item.get("type") in ("SPOT", "FARGATE_SPOT") for item in resources)


def _job_faults(job: RecordedResource) -> Iterator[Fault]:
    strategy = job.inputs.get("retryStrategy")
    attempts = [item.get("attempts") or 1 for item in parts(strategy)]
    if not is_unknown(strategy) and not any(is_unknown(count) or int(count) > 1 for count in attempts):
        yield Fault(
            resource=job,
            what="can run on spot and is never tried again",
            fix="give its retry strategy more attempts, with host loss and exit code 75 among the reasons",
        )
    is_unread = any(is_unknown(job.inputs.get(key)) for key in ("containerProperties", "ecsProperties"))
    paths = [
        str(mount.get("containerPath", "")).rstrip("/")
        for container in containers(job)
        for mount in parts(container.get("mountPoints"))
    ]
    if not is_unread and not any(path.endswith(f"/{CHECKPOINT_FOLDER}") for path in paths):
        yield Fault(
            resource=job,
            what="can run on spot and mounts no folder for checkpoints",
            fix=f"mount the access point of {CHECKPOINT_FOLDER} into the container",
        )


NODE_RULES = (
    RecordingRule(
        id="imdsv2",
        severity=Severity.ERROR,
        promise="Nodes give their metadata only to requests with a session token (IMDSv2).",
        harm="a forged request from inside a container takes the credentials of the node's role",
        fix="set http_tokens to required in the metadata options",
        check=_open_metadata,
    ),
    RecordingRule(
        id="spot-checkpoint",
        severity=Severity.ERROR,
        promise="What runs on spot saves its work or has none to lose.",
        harm="every interruption starts the work from its beginning, which costs more than on-demand",
        fix="save checkpoints to the shared file system",
        check=_lost_work,
    ),
)
