"""What should change when one value does: at least one row for each component."""

from tests.engine.changes import Change

CERTIFICATE = "arn:aws:acm:eu-central-1:111122223333:certificate/12345678-1234-1234-1234-123456789012"
SECRET = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:ai-platform/api-token-AbCdEf"
IMAGE = "111122223333.dkr.ecr.eu-central-1.amazonaws.com/rag@sha256:" + "0" * 64

NEW_TASK = """
    replace ecs.TaskDefinition rag-task-definition
    update ecs.Service rag-service
"""
BEDROCK_ONLY_EMBEDS = """
    create iam.RolePolicy models-embed-rag-task-role
    delete iam.RolePolicy models-answer-rag-task-role
"""
RAG_ASLEEP = """
    delete below rag
    delete iam.RolePolicy models-answer-rag-task-role vector-store-query-rag-task-role
    delete opensearch.ServerlessAccessPolicy vector-store-query-rag-task-role
"""
RAG_OFF = f"""
    delete below rag-build
    {RAG_ASLEEP}
"""
ORCHESTRATOR_OFF = """
    delete below orchestrator
    delete iam.RolePolicy models-answer-orchestrator-answer-role vector-store-query-orchestrator-answer-role
    delete opensearch.ServerlessAccessPolicy vector-store-query-orchestrator-answer-role
"""
INGESTION_OFF = """
    delete below ingestion
    delete iam.RolePolicy data-lake-read-ingestion-index-role data-lake-write-ingestion-index-role
    delete iam.RolePolicy models-embed-ingestion-index-role vector-store-index-ingestion-index-role
    delete opensearch.ServerlessAccessPolicy vector-store-index-ingestion-index-role
"""
INFERENCE_FLEET_OFF = """
    delete below gpu-inference
    update ecs.ClusterCapacityProviders cluster-capacity
"""
MODEL_SERVER = {
    "inference": True,
    "inferenceFleet": "inference",
    "inferenceModel": "Qwen/Qwen2.5-7B-Instruct",
}
MODEL_SERVER_ON = """
    create InferenceService inference
    create LoadBalancer inference-balancer
    create ec2.SecurityGroup inference-balancer-group
    create vpc.SecurityGroupIngressRule inference-balancer-port-80 inference-balancer-into-tasks
    create vpc.SecurityGroupEgressRule inference-balancer-to-tasks
    create lb.LoadBalancer inference-balancer
    create lb.TargetGroup inference-balancer-tasks
    create lb.Listener inference-balancer-http
    create InferenceTask inference-task
    create cloudwatch.LogGroup inference-task-logs
    create iam.Role inference-task-role inference-task-execution
    create iam.RolePolicy inference-task-execution-policy shared-files-mount-inference-task-role
    create vpc.SecurityGroupIngressRule shared-files-mount-inference-task-role
    create ecs.TaskDefinition inference-task-definition
    create cloudwatch.MetricAlarm inference-unanswered
    create ecs.Service inference-service
    create ServiceScaling inference-scaling
    create appautoscaling.Target inference-scaling-target
    create appautoscaling.Policy inference-scaling-requests inference-scaling-waiting
"""
# A collection that is made anew has another endpoint and another ARN, and no index.
NEW_COLLECTION = f"""
    replace opensearch.ServerlessCollectionGroup vector-store-group
    replace opensearch.ServerlessCollection vector-store-collection
    update lambda.Function vector-store-index-function ingestion-index-function orchestrator-answer-function
    replace lambda.Invocation vector-store-index-made
    update iam.RolePolicy vector-store-make-index-vector-store-index-role vector-store-index-ingestion-index-role
    update iam.RolePolicy vector-store-query-orchestrator-answer-role vector-store-query-rag-task-role
    {NEW_TASK}
"""
COLLECTION_IS_NEW = "AWS changes neither the generation nor the standby replicas of a collection's group"
IMAGES_ARE_BUILT = "images are built from this repository, and the registry goes with what builds them"

ZONE_WITH_ONE_NAT_GATEWAY = "a zone at the end, one NAT gateway for all"
ZONE_WITH_ITS_OWN_NAT_GATEWAY = "a zone at the end, with a NAT gateway of its own"

CHANGES: tuple[Change, ...] = (
    # General
    Change(
        what="logs are kept longer",
        stack="dev",
        values={"logRetentionDays": 30},
        expected="""
            update cloudwatch.LogGroup ingestion-index-logs orchestrator-answer-logs rag-task-logs vector-store-index-logs
            update cloudwatch.LogGroup gpu-notebook-node-logs
        """,
    ),
    Change(
        what="logs are kept for good",
        stack="prod",
        values={"logRetentionDays": 3653},
        expected="""
            update cloudwatch.LogGroup ingestion-index-logs orchestrator-answer-logs rag-task-logs vector-store-index-logs
            update cloudwatch.LogGroup training-jobs training-machine-logs training-progress-check-logs network-flow-logs
            update cloudwatch.LogGroup gpu-research-node-logs gpu-inference-node-logs training-capacity-node-logs
        """,
    ),
    Change(
        what="another suffix of the typed names",
        stack="dev",
        values={"nameSuffix": "trial"},
        expected="""
            replace ecs.Cluster cluster-ecs
            replace ecs.ClusterCapacityProviders cluster-capacity
            replace cloudwatch.LogGroup rag-task-logs
            update iam.RolePolicy rag-task-execution-policy gpu-notebook-finish-boot-gpu-notebook-node
            replace ecs.TaskDefinition rag-task-definition
            replace ecs.Service rag-service
            replace appautoscaling.Target rag-scaling-target
            replace appautoscaling.Policy rag-scaling-cpu rag-scaling-requests
            update ec2.LaunchTemplate gpu-notebook-template
            replace autoscaling.Group gpu-notebook-group
        """,
    ),
    Change(
        what="data is protected",
        stack="staging",
        values={"protectData": True, "allowedAccountIds": ["111122223333"]},
        expected="update ecr.Repository rag-build-repository",
    ),
    Change(
        what="the stack sleeps",
        stack="staging",
        values={"asleep": True},
        expected=f"""
            {RAG_ASLEEP}
            {INFERENCE_FLEET_OFF}
            delete ec2.Eip network-vpc-1
            delete ec2.NatGateway network-vpc-1
            delete ec2.Route network-vpc-private-1 network-vpc-private-2
            update lambda.EventSourceMapping ingestion-source
            update batch.ComputeEnvironment training-capacity-spot training-capacity-on-demand
            update batch.JobQueue training-capacity-spot training-capacity-on-demand
        """,
    ),
    Change(
        what="a machine image is pinned",
        stack="dev",
        values={"machineImages": {"dlami": "ami-0123456789abcdef0"}},
        expected="""
            update ec2.LaunchTemplate gpu-notebook-template
            update autoscaling.Group gpu-notebook-group
        """,
    ),
    Change(
        what="the machine image of fleets and training is pinned",
        stack="staging",
        values={"machineImages": {"ecs-gpu": "ami-0123456789abcdef0"}},
        expected="""
            update ec2.LaunchTemplate gpu-inference-template
            update autoscaling.Group gpu-inference-group
            update batch.ComputeEnvironment training-capacity-spot training-capacity-on-demand
        """,
    ),
    # Network
    Change(
        what="a NAT gateway where there was none",
        stack="dev",
        values={"natGateways": "single"},
        expected="""
            create ec2.Eip network-vpc-1
            create ec2.NatGateway network-vpc-1
            create ec2.Route network-vpc-private-1 network-vpc-private-2
            update lb.LoadBalancer rag-balancer
            update ecs.Service rag-service
            update ec2.LaunchTemplate gpu-notebook-template
            update autoscaling.Group gpu-notebook-group
        """,
    ),
    Change(
        what="a NAT gateway in each zone",
        stack="staging",
        values={"natGateways": "onePerZone"},
        expected="""
            create ec2.Eip network-vpc-2
            create ec2.NatGateway network-vpc-2
            update ec2.Route network-vpc-private-2
        """,
    ),
    Change(
        what="one NAT gateway for all zones",
        stack="prod",
        values={"natGateways": "single"},
        expected="""
            delete ec2.Eip network-vpc-2 network-vpc-3
            delete ec2.NatGateway network-vpc-2 network-vpc-3
            update ec2.Route network-vpc-private-2 network-vpc-private-3
        """,
    ),
    Change(
        what="no NAT gateway",
        stack="staging",
        values={"natGateways": "none"},
        expected="""
            delete ec2.Eip network-vpc-1
            delete ec2.NatGateway network-vpc-1
            delete ec2.Route network-vpc-private-1 network-vpc-private-2
            update lb.LoadBalancer rag-balancer
            update ecs.Service rag-service
            update ec2.LaunchTemplate gpu-inference-template training-capacity-template
            update autoscaling.Group gpu-inference-group
            update batch.ComputeEnvironment training-capacity-spot training-capacity-on-demand
        """,
    ),
    Change(
        what=ZONE_WITH_ONE_NAT_GATEWAY,
        stack="staging",
        values={"availabilityZones[2]": "eu-central-1c"},
        alone=True,
        expected="""
            create ec2.Subnet network-vpc-public-3 network-vpc-private-3
            create ec2.RouteTable network-vpc-public-3 network-vpc-private-3
            create ec2.RouteTableAssociation network-vpc-public-3 network-vpc-private-3
            create ec2.Route network-vpc-public-3 network-vpc-private-3
            create efs.MountTarget shared-files-eu-central-1c
            update ec2.VpcEndpoint com.amazonaws.eu-central-1.s3 com.amazonaws.eu-central-1.dynamodb
            update lb.LoadBalancer rag-balancer
            update ecs.Service rag-service
            update autoscaling.Group gpu-inference-group
            update batch.ComputeEnvironment training-capacity-spot training-capacity-on-demand
        """,
    ),
    Change(
        what=ZONE_WITH_ITS_OWN_NAT_GATEWAY,
        stack="prod",
        values={"availabilityZones[3]": "eu-central-1d"},
        alone=True,
        expected="""
            create ec2.Subnet network-vpc-public-4 network-vpc-private-4
            create ec2.RouteTable network-vpc-public-4 network-vpc-private-4
            create ec2.RouteTableAssociation network-vpc-public-4 network-vpc-private-4
            create ec2.Route network-vpc-public-4 network-vpc-private-4
            create ec2.Eip network-vpc-4
            create ec2.NatGateway network-vpc-4
            create efs.MountTarget shared-files-eu-central-1d
            update ec2.VpcEndpoint com.amazonaws.eu-central-1.s3 com.amazonaws.eu-central-1.dynamodb
            update ec2.VpcEndpoint network-bedrock-runtime network-ecr.api network-ecr.dkr network-logs network-secretsmanager
            update opensearch.ServerlessVpcEndpoint vector-store-private-endpoint
            update lambda.Function vector-store-index-function ingestion-index-function orchestrator-answer-function
            update lb.LoadBalancer rag-balancer
            update ecs.Service rag-service
            update autoscaling.Group gpu-research-group gpu-inference-group
            update batch.ComputeEnvironment training-capacity-spot training-capacity-on-demand
        """,
    ),
    Change(
        what="one more interface endpoint",
        stack="prod",
        values={"interfaceEndpoints[5]": "sqs"},
        expected="create ec2.VpcEndpoint network-sqs",
    ),
    Change(
        what="a first interface endpoint",
        stack="dev",
        values={"interfaceEndpoints": ["logs"]},
        expected="""
            create ec2.SecurityGroup network-endpoints
            create vpc.SecurityGroupIngressRule network-endpoints
            create ec2.VpcEndpoint network-logs
        """,
    ),
    Change(
        what="flow logs",
        stack="dev",
        values={"flowLogs": True},
        expected="""
            create cloudwatch.LogGroup network-flow-logs
            create iam.Role network-flow-logs
            create iam.RolePolicy network-log-network-flow-logs
            create ec2.FlowLog network-flow-logs
        """,
    ),
    # Data lake
    Change(
        what="old versions are no longer kept",
        stack="dev",
        values={"lakeVersioning": False},
        expected="update s3.BucketVersioning data-lake-versioning",
    ),
    Change(
        what="old versions are kept longer",
        stack="dev",
        values={"lakeNoncurrentVersionDays": 60},
        expected="update s3.BucketLifecycleConfiguration data-lake-lifecycle",
    ),
    Change(
        what="a lifecycle rule of the stack's own",
        stack="staging",
        values={
            "lakeLifecycleRules": [{"id": "DropScrapes", "prefix": "raw/web-scrapes/", "expireDays": 90}]
        },
        expected="update s3.BucketLifecycleConfiguration data-lake-lifecycle",
    ),
    Change(
        what="unfinished uploads are kept longer",
        stack="prod",
        values={"lakeAbortIncompleteUploadDays": 14},
        expected="update s3.BucketLifecycleConfiguration data-lake-lifecycle",
    ),
    # Shared files
    Change(
        what="daily backups",
        stack="dev",
        values={"efsBackup": True},
        expected="update efs.BackupPolicy shared-files-backup",
    ),
    # GPU fleets
    Change(
        what="larger disks of a fleet",
        stack="dev",
        values={"gpuFleets[0].volumeSizeGib": 300},
        expected="""
            update ec2.LaunchTemplate gpu-notebook-template
            update autoscaling.Group gpu-notebook-group
        """,
    ),
    Change(
        what="more nodes in a fleet",
        stack="dev",
        values={"gpuFleets[0].maximum": 2},
        expected="update autoscaling.Group gpu-notebook-group",
    ),
    Change(
        what="one more instance type in a fleet",
        stack="prod",
        values={"gpuFleets[0].instanceTypes[2]": "g5.24xlarge"},
        expected="update autoscaling.Group gpu-research-group",
    ),
    Change(
        what="half of a fleet on demand",
        stack="staging",
        values={"gpuFleets[0].onDemandPercentage": 50},
        expected="update autoscaling.Group gpu-inference-group",
    ),
    Change(
        what="nodes are no longer refreshed",
        stack="prod",
        values={"gpuFleets[1].instanceRefresh": False},
        expected="update autoscaling.Group gpu-inference-group",
    ),
    Change(
        what="an extra boot script",
        stack="prod",
        values={"gpuFleets[0].extraBootScript": "pip install nvitop"},
        expected="""
            update ec2.LaunchTemplate gpu-research-template
            update autoscaling.Group gpu-research-group
        """,
    ),
    Change(
        what="another folder for checkpoints",
        stack="dev",
        values={"gpuFleets[0].checkpointPath": "/mnt/shared-data/checkpoints/trial"},
        expected="""
            update ec2.LaunchTemplate gpu-notebook-template
            update autoscaling.Group gpu-notebook-group
        """,
    ),
    Change(
        what="nodes end when idle",
        stack="dev",
        values={"gpuFleets[0].idleMinutes": 60},
        expected="""
            create iam.RolePolicy gpu-notebook-end-nodes-gpu-notebook-node
            update ec2.LaunchTemplate gpu-notebook-template
            update autoscaling.Group gpu-notebook-group
        """,
    ),
    Change(
        what="nodes end at an age",
        stack="prod",
        values={"gpuFleets[0].maximumLifeHours": 24},
        expected="""
            create iam.RolePolicy gpu-research-end-nodes-gpu-research-node
            update ec2.LaunchTemplate gpu-research-template
            update autoscaling.Group gpu-research-group
        """,
    ),
    Change(
        what="nodes send no logs and no metrics",
        stack="dev",
        values={"nodeMetrics": False},
        expected="""
            delete cloudwatch.LogGroup gpu-notebook-node-logs
            delete iam.RolePolicy gpu-notebook-send-metrics-gpu-notebook-node
            update ec2.LaunchTemplate gpu-notebook-template
            update autoscaling.Group gpu-notebook-group
        """,
    ),
    Change(
        what="no fleet of the cluster",
        stack="staging",
        values={"gpuFleets": None},
        expected=INFERENCE_FLEET_OFF,
    ),
    Change(
        what="no fleet",
        stack="dev",
        values={"gpuFleets": None},
        expected="""
            delete below gpu-notebook
            delete iam.RolePolicy data-lake-read-gpu-notebook-node data-lake-write-gpu-notebook-node
            delete iam.RolePolicy shared-files-mount-gpu-notebook-node
            delete vpc.SecurityGroupIngressRule shared-files-mount-gpu-notebook-node
        """,
    ),
    Change(
        what="a fleet for the cluster",
        stack="dev",
        values={
            "gpuFleets[1]": {
                "name": "chat",
                "purpose": "inference",
                "instanceTypes": ["g5.xlarge", "g6.xlarge"],
                "nodeImage": "ecs-gpu",
                "maximum": 2,
            }
        },
        expected="""
            create GpuFleet gpu-chat
            create iam.Role gpu-chat-node
            create iam.RolePolicyAttachment gpu-chat-node-session-manager
            create iam.InstanceProfile gpu-chat-profile
            create ec2.SecurityGroup gpu-chat-nodes
            create vpc.SecurityGroupEgressRule gpu-chat-nodes-out
            create ec2.LaunchTemplate gpu-chat-template
            create autoscaling.Group gpu-chat-group
            create ecs.CapacityProvider gpu-chat-provider
            create iam.RolePolicy gpu-chat-join-cluster-gpu-chat-node gpu-chat-send-metrics-gpu-chat-node
            create cloudwatch.LogGroup gpu-chat-node-logs
            update ecs.ClusterCapacityProviders cluster-capacity
        """,
    ),
    # Inference: alone, since it needs the fleet that another row takes away.
    Change(what="a model server", stack="staging", values=MODEL_SERVER, expected=MODEL_SERVER_ON, alone=True),
    Change(
        what="the API answers with a model of the lake, in office hours",
        stack="staging",
        values={
            **MODEL_SERVER,
            "inferenceModel": "models/fine-tuned/my-7b",
            "inferenceStartSchedule": "cron(0 8 ? * MON-FRI *)",
            "inferenceStopSchedule": "cron(0 18 ? * MON-FRI *)",
            "answerProvider": "inference",
        },
        expected=f"""
            {MODEL_SERVER_ON}
            {NEW_TASK}
            create iam.RolePolicy data-lake-read-inference-task-role
            create appautoscaling.ScheduledAction inference-scaling-open inference-scaling-close
            create vpc.SecurityGroupEgressRule rag-tasks-out-to-inference
            {BEDROCK_ONLY_EMBEDS}
        """,
        alone=True,
    ),
    # Training
    Change(
        what="no training",
        stack="staging",
        values={"training": False, "interruptionDrill": False},
        expected="""
            delete below training
            delete below alarms
            delete below interruption-drill
            delete iam.RolePolicy data-lake-read-training-job data-lake-write-training-job
            delete iam.RolePolicy shared-files-mount-training-job
            delete vpc.SecurityGroupIngressRule shared-files-mount-training-job
        """,
    ),
    Change(
        what="no interruption drill",
        stack="staging",
        values={"interruptionDrill": False},
        expected="delete below interruption-drill",
    ),
    Change(
        what="more training at once",
        stack="staging",
        values={"trainingMaximumVcpus": 192},
        expected="update batch.ComputeEnvironment training-capacity-spot training-capacity-on-demand",
    ),
    Change(
        what="larger disks for training",
        stack="staging",
        values={"trainingVolumeSizeGib": 300},
        expected="""
            update ec2.LaunchTemplate training-capacity-template
            update batch.ComputeEnvironment training-capacity-spot training-capacity-on-demand
        """,
    ),
    Change(
        what="another instance type for training",
        stack="staging",
        values={"trainingInstanceTypes[1]": "g6.4xlarge"},
        expected="update batch.ComputeEnvironment training-capacity-spot training-capacity-on-demand",
    ),
    Change(
        what="another image for training",
        stack="staging",
        values={"trainingImage": "docker.io/pytorch/pytorch:2.5.0-cuda12.4-cudnn9-runtime"},
        expected="update batch.JobDefinition training-job",
    ),
    Change(
        what="fewer attempts",
        stack="prod",
        values={"trainingAttempts": 3},
        expected="update batch.JobDefinition training-job training-multi-node-job",
    ),
    Change(
        what="a longer wait for spot capacity",
        stack="staging",
        values={"trainingCapacityWaitMinutes": 60},
        expected="update sfn.StateMachine training-machine-runs",
    ),
    Change(
        what="more submissions to spot, and a longer run",
        stack="prod",
        values={"trainingSpotSubmissions": 3, "trainingSubmissions": 8, "trainingRunHours": 336},
        expected="""
            update sfn.StateMachine training-machine-runs
        """,
    ),
    Change(
        what="an earlier alarm of training without progress",
        stack="staging",
        values={"trainingStaleMinutes": 90},
        expected="""
            update cloudwatch.MetricAlarm training-alarms-no-checkpoint training-alarms-no-output
            update lambda.Function training-progress-check-function
            update sfn.StateMachine training-machine-runs
        """,
    ),
    Change(
        what="no alarm of training without progress",
        stack="prod",
        values={"trainingStaleMinutes": 0},
        expected="""
            delete below training-progress
            delete cloudwatch.MetricAlarm training-alarms-no-checkpoint training-alarms-no-output
            update iam.RolePolicy training-machine-run-jobs-training-machine-role
            update sfn.StateMachine training-machine-runs
        """,
    ),
    Change(
        what="a person hears of alarms",
        stack="prod",
        values={"alarmEmail": "team@example.com"},
        expected="create sns.TopicSubscription alarms-email",
    ),
    Change(
        what="no training over several nodes",
        stack="prod",
        values={"trainingNodes": 1},
        expected="""
            delete ec2.PlacementGroup training-capacity-multi-node
            delete vpc.SecurityGroupIngressRule training-capacity-from-nodes
            delete vpc.SecurityGroupEgressRule training-capacity-to-nodes
            delete ec2.LaunchTemplate training-capacity-multi-node-template
            delete batch.ComputeEnvironment training-capacity-multi-node
            delete batch.JobQueue training-capacity-multi-node
            delete batch.JobDefinition training-multi-node-job
            update iam.RolePolicy training-capacity-serve-jobs-training-capacity-node
            update iam.RolePolicy training-machine-run-jobs-training-machine-role
        """,
    ),
    # Cluster
    Change(
        what="insight into containers",
        stack="dev",
        values={"containerInsights": True},
        expected="update ecs.Cluster cluster-ecs",
    ),
    # Vector store
    Change(
        what="more capacity for the collection",
        stack="dev",
        values={"vectorMaximumOcus": 8},
        expected="update opensearch.ServerlessCollectionGroup vector-store-group",
    ),
    Change(
        what="another generation of collections",
        stack="dev",
        values={"vectorGeneration": "CLASSIC"},
        expected=NEW_COLLECTION,
        loses_data=COLLECTION_IS_NEW,
    ),
    Change(
        what="no standby replicas",
        stack="dev",
        values={"vectorGeneration": "CLASSIC", "vectorStandbyReplicas": False},
        expected=NEW_COLLECTION,
        loses_data=COLLECTION_IS_NEW,
    ),
    Change(
        what="a private endpoint of the collection",
        stack="staging",
        values={"vectorPrivateEndpoint": True},
        expected="""
            create VectorEndpoint vector-store-private
            create ec2.SecurityGroup vector-store-private-group
            create vpc.SecurityGroupIngressRule vector-store-private-https
            create opensearch.ServerlessVpcEndpoint vector-store-private-endpoint
            update opensearch.ServerlessSecurityPolicy vector-store-network
            create iam.RolePolicyAttachment vector-store-index-interfaces ingestion-index-interfaces orchestrator-answer-interfaces
            create ec2.SecurityGroup vector-store-index-group ingestion-index-group orchestrator-answer-group
            create vpc.SecurityGroupEgressRule vector-store-index-https ingestion-index-https orchestrator-answer-https
            update lambda.Function vector-store-index-function ingestion-index-function orchestrator-answer-function
        """,
    ),
    Change(
        what="no vector store, nor what needs it",
        stack="dev",
        values={"vectorStore": False, "ragService": False, "orchestrator": False, "ingestion": False},
        expected=f"""
            delete below vector-store
            {RAG_OFF} {ORCHESTRATOR_OFF} {INGESTION_OFF}
        """,
        loses_data="the collection is what is switched off",
    ),
    # Models and answers. Ingestion answers nothing, but reads the settings of the whole pipeline as the others do.
    Change(
        what="another model that answers",
        stack="staging",
        values={"answerModel": "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"},
        expected=f"""
            update iam.RolePolicy models-answer-rag-task-role models-answer-orchestrator-answer-role
            update lambda.Function orchestrator-answer-function ingestion-index-function
            {NEW_TASK}
        """,
    ),
    Change(
        what="longer embeddings",
        stack="dev",
        values={"embeddingDimensions": 1024},
        expected=f"""
            update lambda.Invocation vector-store-index-made
            update lambda.Function ingestion-index-function orchestrator-answer-function
            {NEW_TASK}
        """,
    ),
    Change(
        what="another model that embeds",
        stack="dev",
        values={"embeddingModel": "eu.cohere.embed-v4:0", "embeddingDimensions": 1536},
        expected=f"""
            update lambda.Invocation vector-store-index-made
            update iam.RolePolicy models-answer-rag-task-role models-answer-orchestrator-answer-role
            update iam.RolePolicy models-embed-ingestion-index-role
            update lambda.Function ingestion-index-function orchestrator-answer-function
            {NEW_TASK}
        """,
    ),
    Change(
        what="longer answers, worded more freely",
        stack="prod",
        values={"answerMaxTokens": 2048, "answerTemperature": "0.5"},
        expected=f"""
            update lambda.Function ingestion-index-function orchestrator-answer-function
            {NEW_TASK}
        """,
    ),
    Change(
        what="more passages, found by meaning alone",
        stack="staging",
        values={"searchMode": "vector", "retrievalCount": 10, "contextTokens": 12000},
        expected=f"""
            update lambda.Function ingestion-index-function orchestrator-answer-function
            {NEW_TASK}
        """,
    ),
    Change(
        what="a shorter wait for Bedrock",
        stack="prod",
        values={"bedrockReadTimeoutSeconds": 15},
        expected=f"""
            update lambda.Function ingestion-index-function orchestrator-answer-function
            {NEW_TASK}
        """,
    ),
    Change(
        what="callers wait longer, which they are only told",
        stack="dev",
        values={"clientTimeoutSeconds": 240},
        expected="",
    ),
    # RAG service
    Change(
        what="no RAG service",
        stack="dev",
        values={"ragService": False},
        expected=RAG_OFF,
        loses_data=IMAGES_ARE_BUILT,
    ),
    Change(
        what="an image from elsewhere",
        stack="staging",
        values={"ragImage": IMAGE},
        expected=f"""
            delete below rag-build
            update iam.RolePolicy rag-task-execution-policy
            {NEW_TASK}
        """,
        loses_data=IMAGES_ARE_BUILT,
    ),
    Change(
        what="more memory for a task",
        stack="dev",
        values={"ragMemoryMib": 1024},
        expected=NEW_TASK,
    ),
    Change(
        what="fewer requests at once in a task",
        stack="staging",
        values={"ragMaximumConcurrency": 16},
        expected=NEW_TASK,
    ),
    Change(
        what="no tasks on spot",
        stack="dev",
        values={"ragFargateSpotPercent": 0},
        expected="update ecs.Service rag-service",
    ),
    Change(
        what="more tasks at most",
        stack="dev",
        values={"ragMaximumTasks": 4},
        expected="update appautoscaling.Target rag-scaling-target",
    ),
    Change(
        what="more tasks at the first deployment, which is over",
        stack="dev",
        values={"ragDesiredTasks": 2},
        expected="",
    ),
    Change(
        what="scaling by a lower use of CPU",
        stack="dev",
        values={"ragCpuTargetPercent": 60},
        expected="update appautoscaling.Policy rag-scaling-cpu",
    ),
    Change(
        what="scaling by more requests",
        stack="dev",
        values={"ragRequestsPerTarget": 200},
        expected="update appautoscaling.Policy rag-scaling-requests",
    ),
    Change(
        what="a certificate",
        stack="staging",
        values={"certificateArn": CERTIFICATE},
        expected="""
            update lb.Listener rag-balancer-http
            create lb.Listener rag-balancer-https
            create vpc.SecurityGroupIngressRule rag-balancer-port-443
        """,
    ),
    Change(
        what="the API inside the network only",
        stack="prod",
        values={"exposure": "internal"},
        expected="""
            update vpc.SecurityGroupIngressRule rag-balancer-port-80 rag-balancer-port-443
            replace lb.LoadBalancer rag-balancer
            replace lb.Listener rag-balancer-http rag-balancer-https
            update appautoscaling.Policy rag-scaling-requests
        """,
    ),
    Change(
        what="the load balancer waits longer",
        stack="dev",
        values={"albIdleTimeoutSeconds": 160},
        expected=f"""
            update lb.LoadBalancer rag-balancer
            {NEW_TASK}
        """,
    ),
    Change(
        what="requests may take longer",
        stack="dev",
        values={"ragRequestTimeoutSeconds": 125},
        expected=f"""
            update lb.TargetGroup rag-balancer-tasks
            {NEW_TASK}
        """,
    ),
    Change(
        what="callers must send a token",
        stack="staging",
        values={"bearerTokenSecretArn": SECRET},
        expected=f"""
            update iam.RolePolicy rag-task-execution-policy
            {NEW_TASK}
        """,
    ),
    Change(
        what="answers from another provider",
        stack="prod",
        values={"answerProvider": "openai", "openaiModel": "gpt-4o-mini"},
        expected=f"""
            {NEW_TASK}
            {BEDROCK_ONLY_EMBEDS}
        """,
    ),
    # Orchestrator
    Change(
        what="no orchestrator",
        stack="dev",
        values={"orchestrator": False},
        expected=ORCHESTRATOR_OFF,
    ),
    Change(
        what="more memory for the orchestrator",
        stack="staging",
        values={"orchestratorMemoryMib": 2048},
        expected="update lambda.Function orchestrator-answer-function",
    ),
    Change(
        what="executions set aside for the orchestrator",
        stack="prod",
        values={"orchestratorReservedConcurrency": 5},
        expected="update lambda.Function orchestrator-answer-function",
    ),
    # Ingestion
    Change(
        what="no ingestion",
        stack="dev",
        values={"ingestion": False},
        expected=INGESTION_OFF,
    ),
    Change(
        what="more time for a document",
        stack="staging",
        values={"ingestionTimeoutSeconds": 400},
        expected="""
            update lambda.Function ingestion-index-function
            update sqs.Queue ingestion-events
        """,
    ),
    Change(
        what="more documents at once, with the same tokens for all of them",
        stack="staging",
        values={"ingestionMaximumConcurrency": 5},
        expected="""
            update lambda.EventSourceMapping ingestion-source
            update lambda.Function ingestion-index-function
        """,
    ),
    Change(
        what="fewer tries of a document",
        stack="prod",
        values={"ingestionMaximumReceives": 3},
        expected="""
            update sqs.Queue ingestion-events
            update lambda.Function ingestion-index-function
        """,
    ),
    Change(
        what="more tokens a minute for ingestion",
        stack="dev",
        values={"ingestionTokensPerMinute": 300000},
        expected="update lambda.Function ingestion-index-function",
    ),
    Change(
        what="other chunks",
        stack="prod",
        values={"chunkTokens": 300, "chunkOverlapTokens": 30},
        expected="update lambda.Function ingestion-index-function",
    ),
    # Budget
    Change(
        what="a budget",
        stack="dev",
        values={"budgetEmail": "platform-team@example.com"},
        expected="""
            create Budget budget
            create budgets.Budget budget-monthly
        """,
    ),
    Change(
        what="a higher budget",
        stack="prod",
        values={"budgetMonthlyUsd": 6000},
        expected="update budgets.Budget budget-monthly",
    ),
)
