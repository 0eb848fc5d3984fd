"""What AWS would compute for each resource, made up but of the right shape, the same on every run. Pure."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from components.partitions import partition_of

ACCOUNT_ID = "111122223333"

Values = dict[str, Any]
Maker = Callable[["Made"], Values]


class UnknownInvokeError(Exception):
    """The program called a function that has no recorded answer."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """One resource in the making: what a maker may build its values from."""

    name: str
    physical_name: str
    inputs: Mapping[str, Any]
    region: str
    account_id: str

    def hexadecimal(self, length: int) -> str:
        """Hexadecimal digits that depend on the name only."""
        return hashlib.sha256(self.name.encode()).hexdigest()[:length]

    def arn(self, service: str, path: str, *, regional: bool = True, account: bool = True) -> str:
        """An ARN in the stack's partition."""
        region = self.region if regional else ""
        owner = self.account_id if account else ""
        return f"arn:{partition_of(self.region)[0]}:{service}:{region}:{owner}:{path}"


@dataclass(frozen=True, kw_only=True)
class Computed:
    """Answers for registrations and invokes.

    `resources` replaces single values by type token (`id` included); `invokes` replaces whole answers by token.
    An empty `region` means the stack's. With `known` false nothing is computed, as in a first preview; with `empty` true a resource has its inputs only.
    """

    account_id: str = ACCOUNT_ID
    resources: Mapping[str, Values] = field(default_factory=dict)
    invokes: Mapping[str, Values] = field(default_factory=dict)
    region: str = ""
    known: bool = True
    empty: bool = False

    def resource(self, type_token: str, name: str, inputs: Mapping[str, Any]) -> tuple[str, Values]:
        """The id and the computed values of a new resource."""
        if not self.known or self.empty:
            return (name if self.known else ""), {}
        physical = (
            inputs.get("name")
            or inputs.get("bucket")
            or f"{inputs.get('namePrefix') or f'{name}-'}{hashlib.sha256(name.encode()).hexdigest()[:7]}"
        )
        made = Made(
            name=name,
            physical_name=str(physical),
            inputs=inputs,
            region=self.region,
            account_id=self.account_id,
        )
        maker = MAKERS.get(type_token, _nothing)
        values = {"name": physical, **maker(made), **self.resources.get(type_token, {})}
        return str(values.pop("id", physical)), values

    def component(self, outputs: Values) -> Values:
        """The outputs of a remote component: ids where they are known, also with `empty`, as the engine always has them.

        Lists of its children come back empty: the engine hands those over as references, which nothing here follows.
        """
        ids = {key: value for key, value in outputs.items() if key.endswith(("Id", "Ids"))}
        children: Values = {key: [] for key in outputs.keys() - ids.keys() if isinstance(outputs[key], list)}
        return {**children, **ids} if self.known else children

    def invoke(self, token: str, arguments: Mapping[str, Any]) -> Values:
        """The answer of a function; UnknownInvokeError names a token that has none."""
        if token in self.invokes:
            return self.invokes[token]
        maker = INVOKES.get(token)
        if maker is None:
            raise UnknownInvokeError(
                f"the program called {token}, for which ops/capture/computed.py has no answer"
            )
        made = Made(
            name=token + str(sorted(arguments.items())),
            physical_name="",
            inputs=arguments,
            region=self.region,
            account_id=self.account_id,
        )
        return {"id": token, **arguments, **maker(made)}


def _nothing(made: Made) -> Values:
    return {}


def _identified(prefix: str, service: str = "ec2", kind: str = "") -> Maker:
    """A resource known by an id such as `sg-0123456789abcdef0`."""

    def make(made: Made) -> Values:
        resource_id = f"{prefix}-{made.hexadecimal(17)}"
        path = kind or prefix
        return {"id": resource_id, "arn": made.arn(service, f"{path}/{resource_id}")}

    return make


def _named(service: str, path: str, *, regional: bool = True) -> Maker:
    """A resource known by its name, with an ARN in which `{name}` stands for it."""

    def make(made: Made) -> Values:
        return {"arn": made.arn(service, path.format(name=made.physical_name), regional=regional)}

    return make


def _by_arn(service: str, path: str, *, regional: bool = True) -> Maker:
    """Like `_named`, where the resource's id is its ARN."""
    make = _named(service, path, regional=regional)
    return lambda made: {**make(made), "id": make(made)["arn"]}


def _bucket(made: Made) -> Values:
    suffix = partition_of(made.region)[1]
    return {
        "bucket": made.physical_name,
        "arn": made.arn("s3", made.physical_name, regional=False, account=False),
        "bucketRegionalDomainName": f"{made.physical_name}.s3.{made.region}.{suffix}",
        "region": made.region,
    }


def _eip(made: Made) -> Values:
    values = _identified("eipalloc", "ec2", "elastic-ip")(made)
    return {**values, "allocationId": values["id"]}


def _file_system(made: Made) -> Values:
    return {**_identified("fs", "elasticfilesystem", "file-system")(made)}


def _experiment_template(made: Made) -> Values:
    template_id = f"EXT{made.hexadecimal(15)}"
    return {"id": template_id, "arn": made.arn("fis", f"experiment-template/{template_id}")}


def _launch_template(made: Made) -> Values:
    return {**_identified("lt", "ec2", "launch-template")(made), "latestVersion": 1, "defaultVersion": 1}


def _load_balancer(made: Made) -> Values:
    suffix = f"app/{made.physical_name}/{made.hexadecimal(16)}"
    arn = made.arn("elasticloadbalancing", f"loadbalancer/{suffix}")
    internal = "internal-" if made.inputs.get("internal") else ""
    return {"id": arn, "arn": arn, "arnSuffix": suffix, "zoneId": "Z00EXAMPLE",
            "dnsName": f"{internal}{made.physical_name}.{made.region}.elb.amazonaws.com"}  # fmt: skip


def _service(made: Made) -> Values:
    cluster = str(made.inputs.get("cluster", "")).rsplit("/", 1)[-1]
    arn = made.arn("ecs", f"service/{cluster}/{made.physical_name}")
    return {"id": arn, "arn": arn}


def _target_group(made: Made) -> Values:
    suffix = f"targetgroup/{made.physical_name}/{made.hexadecimal(16)}"
    arn = made.arn("elasticloadbalancing", suffix)
    return {"id": arn, "arn": arn, "arnSuffix": suffix}


def _task_definition(made: Made) -> Values:
    family = made.inputs.get("family", made.physical_name)
    arn = made.arn("ecs", f"task-definition/{family}")
    return {"id": family, "arn": f"{arn}:1", "arnWithoutRevision": arn, "revision": 1}


def _scalable_target(made: Made) -> Values:
    return {
        "id": made.inputs.get("resourceId", ""),
        "arn": made.arn("application-autoscaling", f"scalable-target/{made.hexadecimal(12)}"),
    }


def _identity_provider(made: Made) -> Values:
    host = str(made.inputs.get("url", "")).removeprefix("https://")
    arn = made.arn("iam", f"oidc-provider/{host}", regional=False)
    return {"id": arn, "arn": arn}


def _function(made: Made) -> Values:
    arn = made.arn("lambda", f"function:{made.physical_name}")
    invoke = f"arn:{partition_of(made.region)[0]}:apigateway:{made.region}:lambda:path/2015-03-31/functions/{arn}/invocations"
    return {"arn": arn, "invokeArn": invoke, "qualifiedArn": f"{arn}:1", "version": "1"}


def _function_url(made: Made) -> Values:
    return {"functionUrl": f"https://{made.hexadecimal(32)}.lambda-url.{made.region}.on.aws/"}


def _queue(made: Made) -> Values:
    url = f"https://sqs.{made.region}.amazonaws.com/{made.account_id}/{made.physical_name}"
    return {"id": url, "url": url, "arn": made.arn("sqs", made.physical_name)}


def _collection(made: Made) -> Values:
    collection_id = made.hexadecimal(20)
    endpoint = f"https://{collection_id}.{made.region}.aoss.amazonaws.com"
    return {"id": collection_id, "arn": made.arn("aoss", f"collection/{collection_id}"),
            "collectionEndpoint": endpoint, "dashboardEndpoint": f"{endpoint}/_dashboards"}  # fmt: skip


def _collection_group(made: Made) -> Values:
    group_id = made.hexadecimal(20)
    return {"id": group_id, "arn": made.arn("aoss", f"collection-group/{group_id}")}


def _repository(made: Made) -> Values:
    url = f"{made.account_id}.dkr.ecr.{made.region}.amazonaws.com/{made.physical_name}"
    return {
        "arn": made.arn("ecr", f"repository/{made.physical_name}"),
        "repositoryUrl": url,
        "registryId": made.account_id,
    }


def _image(made: Made) -> Values:
    url = str(made.inputs.get("repositoryUrl", "repository"))
    return {"id": "", "imageUri": f"{url}@sha256:{made.hexadecimal(64)}"}


def _compute_environment(made: Made) -> Values:
    """Batch makes an ECS cluster for each, under a name of its own."""
    arn = made.arn("batch", f"compute-environment/{made.physical_name}")
    return {"id": arn, "arn": arn, "ecsClusterArn": made.arn("ecs", f"cluster/AWSBatch-{made.physical_name}")}


def _key(made: Made) -> Values:
    digits = made.hexadecimal(32)
    key_id = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return {"id": key_id, "keyId": key_id, "arn": made.arn("kms", f"key/{key_id}")}


def _subscription(made: Made) -> Values:
    arn = f"{made.inputs.get('topic', '')}:{made.hexadecimal(32)}"
    return {"id": arn, "arn": arn}


def _job_definition(made: Made) -> Values:
    arn = made.arn("batch", f"job-definition/{made.physical_name}")
    return {"id": f"{arn}:1", "arn": f"{arn}:1", "arnPrefix": arn, "revision": 1}


MAKERS: dict[str, Maker] = {
    "aws:appautoscaling/policy:Policy": _named("autoscaling", "scalingPolicy:{name}"),
    "aws:appautoscaling/scheduledAction:ScheduledAction": _named("autoscaling", "scheduledAction:{name}"),
    "aws:appautoscaling/target:Target": _scalable_target,
    "aws:autoscaling/group:Group": _named("autoscaling", "autoScalingGroup:{name}"),
    "aws:batch/computeEnvironment:ComputeEnvironment": _compute_environment,
    "aws:batch/jobDefinition:JobDefinition": _job_definition,
    "aws:batch/jobQueue:JobQueue": _by_arn("batch", "job-queue/{name}"),
    "aws:budgets/budget:Budget": _named("budgets", "budget/{name}", regional=False),
    "aws:cloudwatch/logGroup:LogGroup": _named("logs", "log-group:{name}"),
    "aws:cloudwatch/metricAlarm:MetricAlarm": _named("cloudwatch", "alarm:{name}"),
    "aws:ec2/eip:Eip": _eip,
    "aws:ec2/flowLog:FlowLog": _identified("fl", "ec2", "vpc-flow-log"),
    "aws:ec2/internetGateway:InternetGateway": _identified("igw", "ec2", "internet-gateway"),
    "aws:ec2/launchTemplate:LaunchTemplate": _launch_template,
    "aws:ec2/natGateway:NatGateway": _identified("nat", "ec2", "natgateway"),
    "aws:ec2/placementGroup:PlacementGroup": _named("ec2", "placement-group/{name}"),
    "aws:ec2/route:Route": _identified("r", "ec2", "route"),
    "aws:ec2/routeTable:RouteTable": _identified("rtb", "ec2", "route-table"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": _identified(
        "rtbassoc", "ec2", "route-table-association"
    ),
    "aws:ec2/securityGroup:SecurityGroup": _identified("sg", "ec2", "security-group"),
    "aws:ec2/subnet:Subnet": _identified("subnet"),
    "aws:ec2/vpc:Vpc": _identified("vpc"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": _identified("vpce", "ec2", "vpc-endpoint"),
    "aws:ecr/repository:Repository": _repository,
    "aws:ecs/capacityProvider:CapacityProvider": _by_arn("ecs", "capacity-provider/{name}"),
    "aws:ecs/cluster:Cluster": _by_arn("ecs", "cluster/{name}"),
    "aws:ecs/service:Service": _service,
    "aws:ecs/taskDefinition:TaskDefinition": _task_definition,
    "aws:efs/accessPoint:AccessPoint": _identified("fsap", "elasticfilesystem", "access-point"),
    "aws:efs/fileSystem:FileSystem": _file_system,
    "aws:efs/mountTarget:MountTarget": _identified("fsmt", "elasticfilesystem", "mount-target"),
    "aws:fis/experimentTemplate:ExperimentTemplate": _experiment_template,
    "aws:iam/instanceProfile:InstanceProfile": _named("iam", "instance-profile/{name}", regional=False),
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": _identity_provider,
    "aws:iam/policy:Policy": _by_arn("iam", "policy/{name}", regional=False),
    "aws:iam/role:Role": _named("iam", "role/{name}", regional=False),
    "aws:kms/key:Key": _key,
    "aws:lambda/function:Function": _function,
    "aws:lambda/functionUrl:FunctionUrl": _function_url,
    "aws:lambda/invocation:Invocation": lambda made: {"result": "{}"},
    "aws:lb/listener:Listener": _by_arn("elasticloadbalancing", "listener/app/{name}"),
    "aws:lb/loadBalancer:LoadBalancer": _load_balancer,
    "aws:lb/targetGroup:TargetGroup": _target_group,
    "aws:opensearch/serverlessCollection:ServerlessCollection": _collection,
    "aws:opensearch/serverlessCollectionGroup:ServerlessCollectionGroup": _collection_group,
    "aws:opensearch/serverlessVpcEndpoint:ServerlessVpcEndpoint": _identified("vpce", "aoss", "vpcendpoint"),
    "aws:s3/bucket:Bucket": _bucket,
    "aws:sfn/stateMachine:StateMachine": _by_arn("states", "stateMachine:{name}"),
    "aws:sns/topic:Topic": _by_arn("sns", "{name}"),
    "aws:sns/topicSubscription:TopicSubscription": _subscription,
    "aws:sqs/queue:Queue": _queue,
    "awsx:ecr:Image": _image,
}

INVOKES: dict[str, Maker] = {
    "aws:index/getCallerIdentity:getCallerIdentity": lambda made: {
        "accountId": made.account_id,
        "arn": made.arn("iam", "user/preview", regional=False),
        "userId": "AIDAPREVIEW",
    },
    "aws:ssm/getParameter:getParameter": lambda made: {
        "value": f"ami-{made.hexadecimal(17)}",
        "insecureValue": f"ami-{made.hexadecimal(17)}",
        "arn": made.arn("ssm", f"parameter{made.inputs.get('name', '')}"),
        "type": "String",
        "version": 1,
    },
}
