"""How the Terraform AWS provider, which pulumi-aws carries, calls the types and properties of our resources.

Types and properties from the provider's documentation, https://registry.terraform.io/providers/hashicorp/aws/latest/docs.
"""

import re

TYPES = {
    "aws:appautoscaling/policy:Policy": "aws_appautoscaling_policy",
    "aws:appautoscaling/target:Target": "aws_appautoscaling_target",
    "aws:autoscaling/group:Group": "aws_autoscaling_group",
    "aws:batch/computeEnvironment:ComputeEnvironment": "aws_batch_compute_environment",
    "aws:batch/jobDefinition:JobDefinition": "aws_batch_job_definition",
    "aws:batch/jobQueue:JobQueue": "aws_batch_job_queue",
    "aws:budgets/budget:Budget": "aws_budgets_budget",
    "aws:cloudwatch/logGroup:LogGroup": "aws_cloudwatch_log_group",
    "aws:cloudwatch/metricAlarm:MetricAlarm": "aws_cloudwatch_metric_alarm",
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": "aws_default_security_group",
    "aws:ec2/eip:Eip": "aws_eip",
    "aws:ec2/flowLog:FlowLog": "aws_flow_log",
    "aws:ec2/internetGateway:InternetGateway": "aws_internet_gateway",
    "aws:ec2/launchTemplate:LaunchTemplate": "aws_launch_template",
    "aws:ec2/natGateway:NatGateway": "aws_nat_gateway",
    "aws:ec2/placementGroup:PlacementGroup": "aws_placement_group",
    "aws:ec2/route:Route": "aws_route",
    "aws:ec2/routeTable:RouteTable": "aws_route_table",
    "aws:ec2/routeTableAssociation:RouteTableAssociation": "aws_route_table_association",
    "aws:ec2/securityGroup:SecurityGroup": "aws_security_group",
    "aws:ec2/subnet:Subnet": "aws_subnet",
    "aws:ec2/vpc:Vpc": "aws_vpc",
    "aws:ec2/vpcEndpoint:VpcEndpoint": "aws_vpc_endpoint",
    "aws:ecr/lifecyclePolicy:LifecyclePolicy": "aws_ecr_lifecycle_policy",
    "aws:ecr/repository:Repository": "aws_ecr_repository",
    "aws:ecs/capacityProvider:CapacityProvider": "aws_ecs_capacity_provider",
    "aws:ecs/cluster:Cluster": "aws_ecs_cluster",
    "aws:ecs/clusterCapacityProviders:ClusterCapacityProviders": "aws_ecs_cluster_capacity_providers",
    "aws:ecs/service:Service": "aws_ecs_service",
    "aws:ecs/taskDefinition:TaskDefinition": "aws_ecs_task_definition",
    "aws:efs/accessPoint:AccessPoint": "aws_efs_access_point",
    "aws:efs/backupPolicy:BackupPolicy": "aws_efs_backup_policy",
    "aws:efs/fileSystem:FileSystem": "aws_efs_file_system",
    "aws:efs/fileSystemPolicy:FileSystemPolicy": "aws_efs_file_system_policy",
    "aws:efs/mountTarget:MountTarget": "aws_efs_mount_target",
    "aws:fis/experimentTemplate:ExperimentTemplate": "aws_fis_experiment_template",
    "aws:iam/instanceProfile:InstanceProfile": "aws_iam_instance_profile",
    "aws:iam/role:Role": "aws_iam_role",
    "aws:iam/rolePolicy:RolePolicy": "aws_iam_role_policy",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": "aws_iam_role_policy_attachment",
    "aws:kms/key:Key": "aws_kms_key",
    "aws:lambda/eventSourceMapping:EventSourceMapping": "aws_lambda_event_source_mapping",
    "aws:lambda/function:Function": "aws_lambda_function",
    "aws:lambda/functionEventInvokeConfig:FunctionEventInvokeConfig": "aws_lambda_function_event_invoke_config",
    "aws:lambda/functionUrl:FunctionUrl": "aws_lambda_function_url",
    "aws:lambda/invocation:Invocation": "aws_lambda_invocation",
    "aws:lambda/permission:Permission": "aws_lambda_permission",
    "aws:lb/listener:Listener": "aws_lb_listener",
    "aws:lb/loadBalancer:LoadBalancer": "aws_lb",
    "aws:lb/targetGroup:TargetGroup": "aws_lb_target_group",
    "aws:opensearch/serverlessAccessPolicy:ServerlessAccessPolicy": "aws_opensearchserverless_access_policy",
    "aws:opensearch/serverlessCollection:ServerlessCollection": "aws_opensearchserverless_collection",
    "aws:opensearch/serverlessCollectionGroup:ServerlessCollectionGroup": "aws_opensearchserverless_collection_group",
    "aws:opensearch/serverlessSecurityPolicy:ServerlessSecurityPolicy": "aws_opensearchserverless_security_policy",
    "aws:opensearch/serverlessVpcEndpoint:ServerlessVpcEndpoint": "aws_opensearchserverless_vpc_endpoint",
    "aws:s3/bucket:Bucket": "aws_s3_bucket",
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": "aws_s3_bucket_lifecycle_configuration",
    "aws:s3/bucketNotification:BucketNotification": "aws_s3_bucket_notification",
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": "aws_s3_bucket_ownership_controls",
    "aws:s3/bucketPolicy:BucketPolicy": "aws_s3_bucket_policy",
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": "aws_s3_bucket_public_access_block",
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration":
        "aws_s3_bucket_server_side_encryption_configuration",
    "aws:s3/bucketVersioning:BucketVersioning": "aws_s3_bucket_versioning",
    "aws:scheduler/schedule:Schedule": "aws_scheduler_schedule",
    "aws:sfn/stateMachine:StateMachine": "aws_sfn_state_machine",
    "aws:sns/topic:Topic": "aws_sns_topic",
    "aws:sns/topicPolicy:TopicPolicy": "aws_sns_topic_policy",
    "aws:sns/topicSubscription:TopicSubscription": "aws_sns_topic_subscription",
    "aws:sqs/queue:Queue": "aws_sqs_queue",
    "aws:sqs/queuePolicy:QueuePolicy": "aws_sqs_queue_policy",
    "aws:sqs/redriveAllowPolicy:RedriveAllowPolicy": "aws_sqs_queue_redrive_allow_policy",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": "aws_vpc_security_group_egress_rule",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "aws_vpc_security_group_ingress_rule",
}  # fmt: skip
# What is no resource of the provider: components, providers, and what a component of awsx makes by itself.
OUTSIDE = ("aiplatform:", "awsx:", "pulumi:")
# Blocks that keep their plural, and lists of plain values that lose it.
PLURAL_BLOCKS = frozenset(
    {"block_device_mappings", "compute_resources", "network_interfaces", "tag_specifications"}
)
SINGULAR_LISTS = frozenset({"instance_types", "vpc_zone_identifiers"})
# What Terraform has no property for: a function's files, which it takes as one archive.
PULUMI_ONLY = frozenset({"code"})
# Maps of the user's own keys, which are left as they are.
MAPS = frozenset({"tags", "tags_all", "variables", "triggers", "parameters", "dimensions", "options"})
UPPER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def terraform_type(type_token: str) -> str:
    """Terraform's name of a type; LookupError for one that the table lacks, which a judge would never see."""
    if type_token not in TYPES:
        raise LookupError(f"{type_token} has no Terraform type. Fix: add it to ops/judges/plan_names.py.")
    return TYPES[type_token]


def property_name(name: str, is_block_list: bool) -> str:
    """`vpcZoneIdentifiers` as `vpc_zone_identifier`, `rules` as `rule` where it is a list of blocks."""
    snake = UPPER.sub("_", name).lower()
    if snake in PLURAL_BLOCKS or not (is_block_list or snake in SINGULAR_LISTS):
        return snake
    if snake.endswith("ies"):
        return f"{snake[:-3]}y"
    return snake[:-1] if snake.endswith("s") and not snake.endswith("ss") else snake
