"""Types of resources that cost nothing by themselves, each with the reason; and what no estimate of ours counts."""

PERMISSION = "permissions cost nothing"
ADDRESSING = "subnets, routes and rules cost nothing; what uses them does"
SETTING = "a setting of a resource that is priced itself"
STARTS_NOTHING = "says how something is run, and runs nothing itself"
SCALING = "scaling rules cost nothing; the tasks that they start are priced at their service"

FREE = {
    "aws:appautoscaling/scheduledAction:ScheduledAction": SCALING,
    "aws:appautoscaling/target:Target": SCALING,
    "aws:batch/jobDefinition:JobDefinition": STARTS_NOTHING,
    "aws:batch/jobQueue:JobQueue": "AWS Batch costs nothing; the nodes of its compute environments do",
    "aws:budgets/budget:Budget": "a budget without actions costs nothing",
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": ADDRESSING,
    "aws:ec2/launchTemplate:LaunchTemplate": STARTS_NOTHING,
    "aws:ec2/placementGroup:PlacementGroup": STARTS_NOTHING,
    "aws:ec2/route:Route": ADDRESSING,
    "aws:ec2/routeTable:RouteTable": ADDRESSING,
    "aws:ec2/routeTableAssociation:RouteTableAssociation": ADDRESSING,
    "aws:ec2/securityGroup:SecurityGroup": ADDRESSING,
    "aws:ec2/subnet:Subnet": ADDRESSING,
    "aws:ec2/vpc:Vpc": ADDRESSING,
    "aws:ecr/lifecyclePolicy:LifecyclePolicy": SETTING,
    "aws:ecs/capacityProvider:CapacityProvider": SETTING,
    "aws:ecs/clusterCapacityProviders:ClusterCapacityProviders": SETTING,
    "aws:efs/accessPoint:AccessPoint": SETTING,
    "aws:efs/fileSystemPolicy:FileSystemPolicy": PERMISSION,
    "aws:efs/mountTarget:MountTarget": "mount targets cost nothing",
    "aws:iam/instanceProfile:InstanceProfile": PERMISSION,
    "aws:iam/role:Role": PERMISSION,
    "aws:iam/rolePolicy:RolePolicy": PERMISSION,
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": PERMISSION,
    "aws:lambda/functionEventInvokeConfig:FunctionEventInvokeConfig": SETTING,
    "aws:lambda/functionUrl:FunctionUrl": "a function's URL costs nothing; its calls are the function's",
    "aws:lambda/invocation:Invocation": "one call of a function during a deployment, priced at the function",
    "aws:lb/listener:Listener": SETTING,
    "aws:lb/targetGroup:TargetGroup": SETTING,
    "aws:opensearch/serverlessAccessPolicy:ServerlessAccessPolicy": PERMISSION,
    "aws:opensearch/serverlessSecurityPolicy:ServerlessSecurityPolicy": PERMISSION,
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": "what it moves is priced at the bucket",
    "aws:s3/bucketNotification:BucketNotification": "notifications of S3 cost nothing; the queue's requests do",
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": SETTING,
    "aws:s3/bucketPolicy:BucketPolicy": PERMISSION,
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": SETTING,
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": SETTING,
    "aws:s3/bucketVersioning:BucketVersioning": SETTING,
    "aws:sns/topicPolicy:TopicPolicy": PERMISSION,
    "aws:sns/topicSubscription:TopicSubscription": "its messages are priced at the topic",
    "aws:sqs/queue:Queue": "a queue costs by the request: priced at the mapping that polls it",
    "aws:sqs/queuePolicy:QueuePolicy": PERMISSION,
    "aws:sqs/redriveAllowPolicy:RedriveAllowPolicy": PERMISSION,
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": ADDRESSING,
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": ADDRESSING,
    "awsx:ec2:Vpc": "made of the network's parts, which are priced one by one",
    "awsx:ecr:Image": "an image is built on the machine that deploys; the registry is priced",
    "pulumi:providers:aws": "no resource of AWS",
}

# Costs of a real account that no resource of the recording shows.
NOT_COUNTED = (
    "metrics that running code and nodes publish (0.30 USD a month each), and the alarms by which ECS scales a fleet",
    "traffic between zones (0.01 USD a GB each way), and out of a network that is not the stack's own",
    "the first two rotations of a KMS key (1 USD a month each, from its second year on)",
    "calls of KMS, of Secrets Manager and of the ECR scanner; secrets, certificates and domains that the stack is only told of",
    "old versions of objects, retrieval out of infrequent access and archives, the moves of a lifecycle, a restore",
    "the state bucket and what the workflows run on",
    "free tiers, Savings Plans, credits, support and taxes",
)
