"""Every key refuses a value it cannot take, in a sentence with key, value, what is allowed and the fix."""

from collections import Counter
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from components.config import section_types
from components.settings import settings_of
from typed_config import FLEET, faults_of

REFUSED: list[tuple[str, Any, str]] = [
    ('region', 'Frankfurt', 'region = Frankfurt: must be a region such as eu-central-1. Fix: change it.'),
    ('allowedAccountIds', ['1111-2222-3333'], 'allowedAccountIds[0] = 1111-2222-3333: must be a 12-digit account id, quoted in YAML. Fix: change it, or remove it.'),
    ('nameSuffix', 'Dev', 'nameSuffix = Dev: must be empty, or up to 16 of a-z, 0-9 and inner hyphens. Fix: change it, or remove it.'),
    ('tags', {'Name': 'x'}, 'tags = {"Name": "x"}: must be at most 40 tags: keys of 1 to 128 and values of up to 256 letters, digits, spaces and _.:/=+-@; no key may be Name, start with aws: or differ from another (or Project, Stack, ManagedBy) in case only. Fix: change it, or remove it.'),
    ('protectData', 'yes', 'protectData = yes: must be true or false. Fix: change it, or remove it to use the default false.'),
    ('asleep', 'on', 'asleep = on: must be true or false. Fix: change it, or remove it to use the default false.'),
    ('logRetentionDays', 45, 'logRetentionDays = 45: must be one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653. Fix: use 60 if that is what you meant.'),
    ('alarmEmail', 'team', 'alarmEmail = team: must be an e-mail address, or empty. Fix: change it, or remove it.'),
    ('availabilityZones', ['eu-central-1a', 'us-east-1-bos-1a'], 'availabilityZones[1] = us-east-1-bos-1a: must be an availability zone such as eu-central-1a. Fix: change it, or remove it.'),
    ('vpcCidr', '10.0.0.0/8', 'vpcCidr = 10.0.0.0/8: has the size /8; allowed is an IPv4 block from /16 to /20 inside 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, but not in 172.17.0.0/16. Fix: write for example 10.0.0.0/16.'),
    ('natGateways', 'one', 'natGateways = one: must be one of none, single, onePerZone. Fix: use none if that is what you meant.'),
    ('interfaceEndpoints', ['bedrock', 'logs'], 'interfaceEndpoints[0] = bedrock: must be one of autoscaling, bedrock-runtime, ecr.api, ecr.dkr, ecs, ecs-agent, ecs-telemetry, elasticfilesystem, logs, monitoring, secretsmanager, sqs, ssm, ssmmessages, sts. Fix: use bedrock-runtime if that is what you meant.'),
    ('flowLogs', '1', 'flowLogs = 1: must be true or false. Fix: change it, or remove it to use the default false.'),
    ('existingVpcId', 'my-vpc', 'existingVpcId = my-vpc: must be a VPC id such as vpc-0123456789abcdef0, or empty. Fix: change it, or remove it.'),
    ('existingVpcCidr', '10.0.0.1/16', 'existingVpcCidr = 10.0.0.1/16: must be an IPv4 block such as 10.0.0.0/16, or empty. Fix: change it, or remove it.'),
    ('lakeVersioning', 'enabled', 'lakeVersioning = enabled: must be true or false. Fix: change it, or remove it to use the default true.'),
    ('lakeNoncurrentVersionDays', 0, 'lakeNoncurrentVersionDays = 0: must be 1 to 36500 days. Fix: change it, or remove it to use the default 30.'),
    ('lakeAbortIncompleteUploadDays', -1, 'lakeAbortIncompleteUploadDays = -1: must be 1 to 365 days. Fix: change it, or remove it to use the default 7.'),
    ('efsBackup', 'daily', 'efsBackup = daily: must be true or false. Fix: change it, or remove it to use the default false.'),
    ('nodeMetrics', 'gpu', 'nodeMetrics = gpu: must be true or false. Fix: change it, or remove it to use the default true.'),
    ('machineImages', {'dlami': 'ami-1'}, 'machineImages = {"dlami": "ami-1"}: must map dlami or ecs-gpu or ecs-neuron to ids such as ami-0123456789abcdef0. Fix: change it, or remove it.'),
    ('training', 'spot', 'training = spot: must be true or false. Fix: change it, or remove it to use the default false.'),
    ('trainingImage', 'Docker Image', 'trainingImage = Docker Image: must be a container image reference, or empty. Fix: change it, or remove it.'),
    ('trainingInstanceTypes', ['g5'], 'trainingInstanceTypes[0] = g5: must be an instance type such as g5.xlarge. Fix: change it, or remove it.'),
    ('trainingMaximumVcpus', 0, 'trainingMaximumVcpus = 0: must be 1 to 100000 vCPUs. Fix: change it, or remove it to use the default 96.'),
    ('trainingVolumeSizeGib', 20, 'trainingVolumeSizeGib = 20: must be 30 to 16384 GiB. Fix: change it, or remove it to use the default 200.'),
    ('trainingJobVcpus', 0, 'trainingJobVcpus = 0: must be 1 to 448 vCPUs. Fix: change it, or remove it to use the default 4.'),
    ('trainingJobMemoryMib', 512, 'trainingJobMemoryMib = 512: must be 1024 to 4194304 MiB. Fix: change it, or remove it to use the default 14336.'),
    ('trainingJobGpus', 0, 'trainingJobGpus = 0: must be 1 to 16 GPUs. Fix: change it, or remove it to use the default 1.'),
    ('trainingAttempts', 11, 'trainingAttempts = 11: must be 1 to 10. Fix: change it, or remove it to use the default 5.'),
    ('trainingTimeoutHours', 0, 'trainingTimeoutHours = 0: must be 1 to 672 hours. Fix: change it, or remove it to use the default 72.'),
    ('trainingCapacityWaitMinutes', 0, 'trainingCapacityWaitMinutes = 0: must be 1 to 1440 minutes. Fix: change it, or remove it to use the default 30.'),
    ('trainingSpotSubmissions', 0, 'trainingSpotSubmissions = 0: must be 1 to 20. Fix: change it, or remove it to use the default 2.'),
    ('trainingSubmissions', 51, 'trainingSubmissions = 51: must be 1 to 50. Fix: change it, or remove it to use the default 5.'),
    ('trainingRunHours', 673, 'trainingRunHours = 673: must be 1 to 672 hours. Fix: change it, or remove it to use the default 168.'),
    ('trainingNodes', 0, 'trainingNodes = 0: must be 1 to 64 nodes. Fix: change it, or remove it to use the default 1.'),
    ('trainingStaleMinutes', 5, 'trainingStaleMinutes = 5: must be 0 (never) or 10 to 1440 minutes. Fix: change it, or remove it to use the default 180.'),
    ('inference', 'vllm', 'inference = vllm: must be true or false. Fix: change it, or remove it to use the default false.'),
    ('inferenceFleet', 'GPU', 'inferenceFleet = GPU: must be 1 to 24 of a-z, 0-9 and inner hyphens, letter first, or empty. Fix: change it, or remove it.'),
    ('inferenceModel', 'Qwen2.5 7B', 'inferenceModel = Qwen2.5 7B: must be a Hugging Face name such as Qwen/Qwen2.5-7B-Instruct, or a folder of the lake such as models/fine-tuned/my-model, or empty. Fix: change it, or remove it.'),
    ('inferenceImage', 'vLLM image', 'inferenceImage = vLLM image: must be a container image reference, or empty. Fix: change it, or remove it.'),
    ('inferenceAccelerators', 0, 'inferenceAccelerators = 0: must be 1 to 16 accelerators. Fix: change it, or remove it to use the default 1.'),
    ('inferenceContextTokens', 1, 'inferenceContextTokens = 1: must be 256 to 10485760 tokens. Fix: change it, or remove it to use the default 12288.'),
    ('inferenceServerArguments', ['--seed', '  7'], 'inferenceServerArguments[1] =   7: must be 1 to 512 characters, without spaces at the ends. Fix: change it, or remove it.'),
    ('huggingFaceTokenSecretArn', 'hf_abc', 'huggingFaceTokenSecretArn = [secret]: must be the ARN of a Secrets Manager secret, not the secret itself, or empty. Fix: change it, or remove it.'),
    ('inferenceMinimumTasks', 0, 'inferenceMinimumTasks = 0: must be 1 to 1000 tasks. Fix: change it, or remove it to use the default 1.'),
    ('inferenceMaximumTasks', 1001, 'inferenceMaximumTasks = 1001: must be 1 to 1000 tasks. Fix: change it, or remove it to use the default 2.'),
    ('inferenceRequestsPerTarget', 0, 'inferenceRequestsPerTarget = 0: must be 1 to 100000 requests a minute. Fix: change it, or remove it to use the default 120.'),
    ('inferenceWaitingRequests', 0, 'inferenceWaitingRequests = 0: must be 1 to 10000 requests. Fix: change it, or remove it to use the default 4.'),
    ('inferenceStartMinutes', 1, 'inferenceStartMinutes = 1: must be 5 to 240 minutes. Fix: change it, or remove it to use the default 20.'),
    ('inferenceStartSchedule', '0 8 * * *', 'inferenceStartSchedule = 0 8 * * *: must be a schedule of six fields such as cron(0 8 ? * MON-FRI *), or empty. Fix: change it, or remove it.'),
    ('inferenceStopSchedule', '18:00', 'inferenceStopSchedule = 18:00: must be a schedule of six fields such as cron(0 8 ? * MON-FRI *), or empty. Fix: change it, or remove it.'),
    ('inferenceScheduleTimeZone', 'berlin', 'inferenceScheduleTimeZone = berlin: must be a time zone such as Europe/Berlin. Fix: change it, or remove it to use the default "UTC".'),
    ('interruptionDrill', 'weekly', 'interruptionDrill = weekly: must be true or false. Fix: change it, or remove it to use the default false.'),
    ('containerInsights', 'enhanced', 'containerInsights = enhanced: must be true or false. Fix: change it, or remove it to use the default false.'),
    ('vectorStore', 'aoss', 'vectorStore = aoss: must be true or false. Fix: change it, or remove it to use the default true.'),
    ('vectorGeneration', 'NEXT', 'vectorGeneration = NEXT: must be one of NEXTGEN, CLASSIC. Fix: use NEXTGEN if that is what you meant.'),
    ('vectorStandbyReplicas', '2', 'vectorStandbyReplicas = 2: must be true or false. Fix: change it, or remove it to use the default true.'),
    ('vectorPrivateEndpoint', 'private', 'vectorPrivateEndpoint = private: must be true or false. Fix: change it, or remove it to use the default false.'),
    ('vectorMaximumOcus', 3, 'vectorMaximumOcus = 3: must be one of 1, 2, 4, 8, 16. Fix: use 4 if that is what you meant.'),
    ('embeddingModel', 'titan', 'embeddingModel = titan: must be the id of a Bedrock model or inference profile, such as amazon.titan-embed-text-v2:0. Fix: change it, or remove it to use the default "amazon.titan-embed-text-v2:0".'),
    ('embeddingDimensions', 768, 'embeddingDimensions = 768: must be one of 256, 512, 1024, 1536. Fix: use 1024 if that is what you meant.'),
    ('answerModel', '', 'answerModel = "": must be the id of a Bedrock model or inference profile, such as amazon.titan-embed-text-v2:0. Fix: change it, or remove it to use the default "global.anthropic.claude-haiku-4-5-20251001-v1:0".'),
    ('answerMaxTokens', 0, 'answerMaxTokens = 0: must be 50 to 64000 tokens. Fix: change it, or remove it to use the default 1024.'),
    ('answerTemperature', '1.1', 'answerTemperature = 1.1: must be a number from 0 to 1 with a point, such as 0.2, or empty. Fix: change it, or remove it.'),
    ('searchMode', 'lexical', 'searchMode = lexical: must be one of vector, hybrid. Fix: change it, or remove it to use the default "hybrid".'),
    ('retrievalCount', 0, 'retrievalCount = 0: must be 1 to 50 passages. Fix: change it, or remove it to use the default 5.'),
    ('contextTokens', 99, 'contextTokens = 99: must be 100 to 200000 tokens. Fix: change it, or remove it to use the default 6000.'),
    ('bedrockReadTimeoutSeconds', 0, 'bedrockReadTimeoutSeconds = 0: must be 1 to 600 seconds. Fix: change it, or remove it to use the default 20.'),
    ('bedrockMaximumAttempts', 0, 'bedrockMaximumAttempts = 0: must be 1 to 10. Fix: change it, or remove it to use the default 2.'),
    ('clientTimeoutSeconds', 0, 'clientTimeoutSeconds = 0: must be 2 to 7200 seconds. Fix: change it, or remove it to use the default 180.'),
    ('ragService', 'fargate', 'ragService = fargate: must be true or false. Fix: change it, or remove it to use the default true.'),
    ('ragImage', 'rag:latest', 'ragImage = rag:latest: must be an image by digest, as in name@sha256:DIGEST, or empty. Fix: change it, or remove it.'),
    ('ragCpuUnits', 500, 'ragCpuUnits = 500: must be one of 256, 512, 1024, 2048, 4096, 8192, 16384, 32768. Fix: use 512 if that is what you meant.'),
    ('ragMemoryMib', 256, 'ragMemoryMib = 256: must be 512 to 249856 MiB. Fix: change it, or remove it to use the default 1024.'),
    ('ragMinimumTasks', 0, 'ragMinimumTasks = 0: must be 1 to 1000 tasks. Fix: change it, or remove it to use the default 1.'),
    ('ragMaximumTasks', 0, 'ragMaximumTasks = 0: must be 1 to 1000 tasks. Fix: change it, or remove it to use the default 4.'),
    ('ragDesiredTasks', 0, 'ragDesiredTasks = 0: must be 1 to 1000 tasks. Fix: change it, or remove it to use the default 1.'),
    ('ragCpuTargetPercent', 0, 'ragCpuTargetPercent = 0: must be 10 to 95 percent. Fix: change it, or remove it to use the default 70.'),
    ('ragRequestsPerTarget', 0, 'ragRequestsPerTarget = 0: must be 1 to 100000 requests a minute. Fix: change it, or remove it to use the default 100.'),
    ('ragMaximumConcurrency', 0, 'ragMaximumConcurrency = 0: must be 1 to 1000 requests. Fix: change it, or remove it to use the default 64.'),
    ('ragFargateSpotPercent', 101, 'ragFargateSpotPercent = 101: must be 0 to 100 percent. Fix: change it, or remove it to use the default 0.'),
    ('exposure', 'Public', 'exposure = Public: must be one of internal, public. Fix: use public if that is what you meant.'),
    ('certificateArn', 'cert', 'certificateArn = cert: must be the ARN of an ACM certificate, or empty. Fix: change it, or remove it.'),
    ('bearerTokenSecretArn', 's3cr3t', 'bearerTokenSecretArn = [secret]: must be the ARN of a Secrets Manager secret, not the secret itself, or empty. Fix: change it, or remove it.'),
    ('answerProvider', 'OpenAI', 'answerProvider = OpenAI: must be one of bedrock, openai, inference. Fix: use openai if that is what you meant.'),
    ('openaiApiKeySecretArn', 'sk-1', 'openaiApiKeySecretArn = [secret]: must be the ARN of a Secrets Manager secret, not the secret itself, or empty. Fix: change it, or remove it.'),
    ('openaiBaseUrl', 'api.openai.com', 'openaiBaseUrl = api.openai.com: must be an http or https address such as https://host/v1. Fix: change it, or remove it to use the default "https://api.openai.com/v1".'),
    ('openaiModel', 'gpt 5', 'openaiModel = gpt 5: must be a model name without spaces, of up to 128 characters. Fix: change it, or remove it.'),
    ('ragRequestTimeoutSeconds', 0, 'ragRequestTimeoutSeconds = 0: must be 1 to 3600 seconds. Fix: change it, or remove it to use the default 120.'),
    ('albIdleTimeoutSeconds', 4001, 'albIdleTimeoutSeconds = 4001: must be 1 to 4000 seconds. Fix: change it, or remove it to use the default 150.'),
    ('orchestrator', 'lambda', 'orchestrator = lambda: must be true or false. Fix: change it, or remove it to use the default true.'),
    ('orchestratorMemoryMib', 64, 'orchestratorMemoryMib = 64: must be 128 to 10240 MiB. Fix: change it, or remove it to use the default 1024.'),
    ('orchestratorTimeoutSeconds', 901, 'orchestratorTimeoutSeconds = 901: must be 1 to 900 seconds. Fix: change it, or remove it to use the default 120.'),
    ('orchestratorReservedConcurrency', -2, 'orchestratorReservedConcurrency = -2: must be -1 to 10000. Fix: change it, or remove it to use the default -1.'),
    ('ingestion', 'sqs', 'ingestion = sqs: must be true or false. Fix: change it, or remove it to use the default true.'),
    ('ingestionMemoryMib', 64, 'ingestionMemoryMib = 64: must be 128 to 10240 MiB. Fix: change it, or remove it to use the default 1024.'),
    ('ingestionTimeoutSeconds', 10, 'ingestionTimeoutSeconds = 10: must be 30 to 900 seconds. Fix: change it, or remove it to use the default 300.'),
    ('ingestionMaximumConcurrency', 1, 'ingestionMaximumConcurrency = 1: must be 2 to 1000. Fix: change it, or remove it to use the default 2.'),
    ('ingestionMaximumReceives', 0, 'ingestionMaximumReceives = 0: must be 1 to 1000. Fix: change it, or remove it to use the default 5.'),
    ('ingestionTokensPerMinute', 999, 'ingestionTokensPerMinute = 999: must be 1000 to 100000000 tokens. Fix: change it, or remove it to use the default 150000.'),
    ('chunkTokens', 49, 'chunkTokens = 49: must be 50 to 2000 tokens. Fix: change it, or remove it to use the default 400.'),
    ('chunkOverlapTokens', -1, 'chunkOverlapTokens = -1: must be 0 to 999 tokens. Fix: change it, or remove it to use the default 50.'),
    ('budgetMonthlyUsd', 0, 'budgetMonthlyUsd = 0: must be 1 to 10000000 USD. Fix: change it, or remove it to use the default 100.'),
    ('budgetEmail', 'team', 'budgetEmail = team: must be an e-mail address, or empty. Fix: change it, or remove it.'),
    ('region', None, 'region is not set: it is required. Fix: set it; it must be a region such as eu-central-1.'),
    ('region', '', 'region = "": must be a region such as eu-central-1. Fix: change it.'),
    ('allowedAccountIds', [111122223333], 'allowedAccountIds[0] = 111122223333: must be text. Fix: put it in quotes.'),
    ('allowedAccountIds', ['111122223333', '111122223333'], 'allowedAccountIds[1] = 111122223333: is listed twice. Fix: remove it.'),
    ('tags', {'Owner': 1}, 'tags.Owner = 1: must be text. Fix: put it in quotes.'),
    ('tags', {'project': 'x'}, 'tags = {"project": "x"}: must be at most 40 tags: keys of 1 to 128 and values of up to 256 letters, digits, spaces and _.:/=+-@; no key may be Name, start with aws: or differ from another (or Project, Stack, ManagedBy) in case only. Fix: change it, or remove it.'),
    ('tags', {'a': 'b!'}, 'tags = {"a": "b!"}: must be at most 40 tags: keys of 1 to 128 and values of up to 256 letters, digits, spaces and _.:/=+-@; no key may be Name, start with aws: or differ from another (or Project, Stack, ManagedBy) in case only. Fix: change it, or remove it.'),
    ('tags', {f"k{number}": "" for number in range(41)}, 'tags = {"k0": "", "k1": "", "k2": "", "k3": "", "k4": "", "k5": "", "k6": "", "k7": "", "k8": "", "k9": "", "k10": "", "k11"...: must be at most 40 tags: keys of 1 to 128 and values of up to 256 letters, digits, spaces and _.:/=+-@; no key may be Name, start with aws: or differ from another (or Project, Stack, ManagedBy) in case only. Fix: change it, or remove it.'),
    ('tags', [], 'tags = []: must be an object whose values are texts. Fix: change it, or remove it.'),
    ('machineImages', {'dlam': 'ami-0123456789abcdef0'}, 'machineImages = {"dlam": "ami-0123456789abcdef0"}: must map dlami or ecs-gpu or ecs-neuron to ids such as ami-0123456789abcdef0. Fix: change it, or remove it.'),
    ('vpcCidr', '', 'vpcCidr = "": is no IPv4 block; allowed is an IPv4 block from /16 to /20 inside 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, but not in 172.17.0.0/16. Fix: write a block such as 10.20.0.0/16.'),
    ('vpcCidr', '10.20.0.1/16', 'vpcCidr = 10.20.0.1/16: is not written as the start of its block; allowed is an IPv4 block from /16 to /20 inside 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, but not in 172.17.0.0/16. Fix: write 10.20.0.0/16.'),
    ('vpcCidr', '\ud800', 'vpcCidr = "\\ud800": is no IPv4 block; allowed is an IPv4 block from /16 to /20 inside 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, but not in 172.17.0.0/16. Fix: write a block such as 10.20.0.0/16.'),
    ('interfaceEndpoints', ['logs', 'logs'], 'interfaceEndpoints[1] = logs: is listed twice. Fix: remove it.'),
    ('trainingInstanceTypes', ['g5.xlarge', 'g5.xlarge'], 'trainingInstanceTypes[1] = g5.xlarge: is listed twice. Fix: remove it.'),
    ('ragCpuTargetPercent', 70.5, 'ragCpuTargetPercent = 70.5: must be a whole number. Fix: change it, or remove it to use the default 70.'),
    ('logRetentionDays', 'many', 'logRetentionDays = many: must be a whole number. Fix: change it, or remove it to use the default 30.'),
    ('orchestratorMemoryMib', 10**30, 'orchestratorMemoryMib = 1000000000000000000000000000000: must be a whole number. Fix: change it, or remove it to use the default 1024.'),
    ('lakeLifecycleRules', 'none', 'lakeLifecycleRules = none: must be a list of objects. Fix: change it, or remove it to use the default that Pulumi.yaml shows.'),
    ('gpuFleets', 'none', 'gpuFleets = none: must be a list of objects. Fix: change it, or remove it.'),
    ('gpuFleets', {'name': 'nodes'}, 'gpuFleets = {"name": "nodes"}: must be a list of objects. Fix: change it, or remove it.'),
    ('gpuFleets', [None], 'gpuFleets[0] = null: must be an object. Fix: write an object with name, purpose, instanceTypes, nodeImage, maximum, or remove it.'),
    ('gpuFleets', ['nodes'], 'gpuFleets[0] = nodes: must be an object. Fix: write an object with name, purpose, instanceTypes, nodeImage, maximum, or remove it.'),
    ('answerModel', 'arn:aws:bedrock:eu-central-1::foundation-model/x', 'answerModel = arn:aws:bedrock:eu-central-1::foundation-model/x: must be the id of a Bedrock model or inference profile, such as amazon.titan-embed-text-v2:0. Fix: change it, or remove it to use the default "global.anthropic.claude-haiku-4-5-20251001-v1:0".'),
    ('answerTemperature', '0,2', 'answerTemperature = 0,2: must be a number from 0 to 1 with a point, such as 0.2, or empty. Fix: change it, or remove it.'),
    ('answerTemperature', '.5', 'answerTemperature = .5: must be a number from 0 to 1 with a point, such as 0.2, or empty. Fix: change it, or remove it.'),
    ('budgetEmail', 'team@example', 'budgetEmail = team@example: must be an e-mail address, or empty. Fix: change it, or remove it.'),
    ('openaiBaseUrl', '', 'openaiBaseUrl = "": must be an http or https address such as https://host/v1. Fix: change it, or remove it to use the default "https://api.openai.com/v1".'),
]  # fmt: skip

REFUSED_IN_A_FLEET: list[tuple[str, Any, str]] = [
    ('name', 'GPU', 'name = GPU: must be 1 to 24 of a-z, 0-9 and inner hyphens, letter first. Fix: change it.'),
    ('purpose', 'serving', 'purpose = serving: must be one of training, inference. Fix: change it.'),
    ('instanceTypes', ['g5.xlarge', 'g5.xlarge'], 'instanceTypes[1] = g5.xlarge: is listed twice. Fix: remove it.'),
    ('weights', {'g5.xlarge': 0}, 'weights.g5.xlarge = 0: must be 1 to 999. Fix: change it, or remove it.'),
    ('nodeImage', 'ecs', 'nodeImage = ecs: must be one of dlami, ecs-gpu, ecs-neuron. Fix: use ecs-gpu if that is what you meant.'),
    ('minimum', -1, 'minimum = -1: must be 0 to 1000. Fix: change it, or remove it to use the default 0.'),
    ('maximum', 0, 'maximum = 0: must be 1 to 1000. Fix: change it.'),
    ('onDemandBase', -1, 'onDemandBase = -1: must be 0 to 1000. Fix: change it, or remove it to use the default 0.'),
    ('onDemandPercentage', 101, 'onDemandPercentage = 101: must be 0 to 100 percent. Fix: change it, or remove it to use the default 0.'),
    ('spotAllocationStrategy', 'lowestprice', 'spotAllocationStrategy = lowestprice: must be one of price-capacity-optimized, capacity-optimized, capacity-optimized-prioritized, lowest-price. Fix: use lowest-price if that is what you meant.'),
    ('spotPoolCount', 21, 'spotPoolCount = 21: must be 0 to 20. Fix: change it, or remove it to use the default 0.'),
    ('maximumPriceUsd', 0.5, 'maximumPriceUsd = 0.5: must be text. Fix: put it in quotes.'),
    ('volumeSizeGib', 8, 'volumeSizeGib = 8: must be 30 to 16384 GiB. Fix: change it, or remove it to use the default 200.'),
    ('capacityBlockReservationId', 'cr-1', 'capacityBlockReservationId = cr-1: must be a reservation id such as cr-0123456789abcdef0, or empty. Fix: change it, or remove it.'),
    ('checkpointPath', '/mnt/shared-data/checkpoints/../../scratch', 'checkpointPath = /mnt/shared-data/checkpoints/../../scratch: must be a folder below /mnt/shared-data/checkpoints, of up to 255 characters, or empty. Fix: change it, or remove it.'),
    ('checkpointPath', '/tmp', 'checkpointPath = /tmp: must be a folder below /mnt/shared-data/checkpoints, of up to 255 characters, or empty. Fix: change it, or remove it.'),
    ('capacityRebalancing', 'on', 'capacityRebalancing = on: must be true or false. Fix: change it, or remove it to use the default false.'),
    ('instanceRefresh', 1, 'instanceRefresh = 1: must be true or false. Fix: change it, or remove it to use the default false.'),
    ('idleMinutes', 15, 'idleMinutes = 15: must be 0 (never) or 30 to 10080 minutes. Fix: change it, or remove it to use the default 0.'),
    ('maximumLifeHours', -1, 'maximumLifeHours = -1: must be 0 (never) or 1 to 8760 hours. Fix: change it, or remove it to use the default 0.'),
    ('extraBootScript', ['x'], 'extraBootScript = ["x"]: must be text. Fix: change it, or remove it.'),
    ('instanceTypes', [], 'instanceTypes = []: must list 1 to 40 different items, every item must be an instance type such as g5.xlarge. Fix: change it.'),
    ('instanceTypes', ['g5'], 'instanceTypes[0] = g5: must be an instance type such as g5.xlarge. Fix: change it, or remove it.'),
    ('instanceTypes', [5], 'instanceTypes[0] = 5: must be text. Fix: put it in quotes.'),
    ('weights', {'g5.xlarge': None}, 'weights.g5.xlarge = null: must be a whole number. Fix: change it, or remove it.'),
    ('weights', None, 'weights = null: must be an object whose values are whole numbers. Fix: change it, or remove it.'),
    ('maximum', 'two', 'maximum = two: must be a whole number. Fix: change it.'),
    ('maximum', 1.5, 'maximum = 1.5: must be a whole number. Fix: change it.'),
    ('maximumPriceUsd', '0.0', "maximumPriceUsd = 0.0: must be a price per hour above zero, quoted, such as '0.65', or empty. Fix: change it, or remove it."),
    ('instanceType', ['g5.xlarge'], 'instanceType = ["g5.xlarge"]: is not a known key. Fix: use instanceTypes if that is what you meant.'),
    ('apiKey', 'marker', 'apiKey = [secret]: is not a known key. Fix: remove it; known are name, purpose, instanceTypes, weights, nodeImage, minimum, maximum, onDemandBase, onDemandPercentage, spotAllocationStrategy, spotPoolCount, maximumPriceUsd, volumeSizeGib, capacityBlockReservationId, checkpointPath, capacityRebalancing, instanceRefresh, idleMinutes, maximumLifeHours, extraBootScript.'),
]  # fmt: skip

REFUSED_IN_A_LIFECYCLE_RULE: list[tuple[str, Any, str]] = [
    ('id', 'a b', 'id = a b: must be 1 to 255 letters, digits, dots, underscores or hyphens. Fix: change it.'),
    ('prefix', 'raw', 'prefix = raw: must be empty, or folders as in raw/ or raw/pdfs/. Fix: change it, or remove it.'),
    ('prefix', '/raw/', 'prefix = /raw/: must be empty, or folders as in raw/ or raw/pdfs/. Fix: change it, or remove it.'),
    ('minimumSizeBytes', -1, 'minimumSizeBytes = -1: must be 0 to 5497558138880 bytes. Fix: change it, or remove it to use the default 0.'),
    ('transitions', {}, 'transitions = {}: must be a list of objects. Fix: change it, or remove it.'),
    ('expireDays', 0, 'expireDays = 0: must be 1 to 36500 days, or -1 for never. Fix: change it, or remove it to use the default -1.'),
    ('expireDays', -7, 'expireDays = -7: must be 1 to 36500 days, or -1 for never. Fix: change it, or remove it to use the default -1.'),
    ('days', 30, 'days = 30: is not a known key. Fix: remove it; known are id, prefix, minimumSizeBytes, transitions, expireDays.'),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "message"), REFUSED, ids=range(len(REFUSED)))
def test_a_refused_value_is_told_in_full(key: str, value: Any, message: str) -> None:
    assert faults_of({key: value}) == [message], "the person does not learn what to type instead"


@pytest.mark.parametrize(("key", "value", "message"), REFUSED_IN_A_FLEET, ids=range(len(REFUSED_IN_A_FLEET)))
def test_a_refused_value_in_a_fleet_is_told_with_its_place(key: str, value: Any, message: str) -> None:
    fleets = [FLEET | {"name": "good"}, FLEET | {key: value}]
    assert faults_of({"gpuFleets": fleets}) == [f"gpuFleets[1].{message}"], (
        "the fault is looked for elsewhere"
    )


@pytest.mark.parametrize(
    ("key", "value", "message"), REFUSED_IN_A_LIFECYCLE_RULE, ids=range(len(REFUSED_IN_A_LIFECYCLE_RULE))
)
def test_a_refused_value_in_a_lifecycle_rule_is_told_with_its_place(
    key: str, value: Any, message: str
) -> None:
    rule = {"id": "keep", "expireDays": 5} | {key: value}
    assert faults_of({"lakeLifecycleRules": [rule]}) == [f"lakeLifecycleRules[0].{message}"]


def test_every_key_has_a_refused_value_in_the_tables() -> None:
    lists = ("gpuFleets", "lakeLifecycleRules", "existingSubnets")
    keys = [key for cls in section_types().values() for key in settings_of(cls) if key not in lists]
    assert set(keys) <= {key for key, _, _ in REFUSED}, "a key without such a row may accept anything"
    assert settings_of(_item_class("gpuFleets")).keys() <= {key for key, _, _ in REFUSED_IN_A_FLEET}
    assert settings_of(_item_class("lakeLifecycleRules")).keys() <= {
        key for key, _, _ in REFUSED_IN_A_LIFECYCLE_RULE
    }


def _item_class(key: str) -> Any:
    for cls in section_types().values():
        item = settings_of(cls).get(key)
        if item:
            hint = get_type_hints(cls)[item.name]
            assert get_origin(hint) is tuple
            return get_args(hint)[0]
    raise AssertionError(f"{key} is no key")


def test_faults_at_any_depth_of_a_list_come_together() -> None:
    transitions = [{"days": -1, "storageClass": "GLACIAL"}, {"day": 3}, None]
    classes = "STANDARD_IA, ONEZONE_IA, INTELLIGENT_TIERING, GLACIER_IR, GLACIER, DEEP_ARCHIVE"
    place = "lakeLifecycleRules[0].transitions"
    assert faults_of({"lakeLifecycleRules": [{"id": "a", "transitions": transitions}]}) == [
        f"{place}[0].days = -1: must be 0 to 36500 days. Fix: change it.",
        f"{place}[0].storageClass = GLACIAL: must be one of {classes}. Fix: use GLACIER if that is what you meant.",
        f"{place}[1].day = 3: is not a known key. Fix: use days if that is what you meant.",
        f"{place}[1].days is not set: it is required. Fix: set it; it must be 0 to 36500 days.",
        f"{place}[1].storageClass is not set: it is required. Fix: set it; it must be one of {classes}.",
        f"{place}[2] = null: must be an object. Fix: write an object with days, storageClass, or remove it.",
    ]


def test_each_missing_key_of_an_entry_is_named() -> None:
    faults = faults_of({"gpuFleets": [{}]})
    named = Counter(fault.split(" is not set: it is required. Fix: set it; it must ")[0] for fault in faults)
    required = ("name", "purpose", "instanceTypes", "nodeImage", "maximum")
    assert named == Counter(f"gpuFleets[0].{key}" for key in required)


def test_each_key_of_an_existing_subnet_is_judged() -> None:
    subnets = [{"id": "a1", "zone": "eu-central-1", "tier": "privat"}]
    changes = {
        "existingVpcId": "vpc-1",
        "existingVpcCidr": "10.0.0.0/16",
        "availabilityZones": None,
        "existingSubnets": subnets,
    }
    assert faults_of(changes) == [
        "existingSubnets[0].id = a1: must be a subnet id such as subnet-0123456789abcdef0. Fix: change it.",
        "existingSubnets[0].zone = eu-central-1: must be an availability zone such as eu-central-1a. Fix: change it.",
        "existingSubnets[0].tier = privat: must be one of private, public. Fix: use private if that is what you meant.",
    ]


@pytest.mark.parametrize("value", ["45", 45])
def test_the_nearest_allowed_number_is_offered_not_the_one_that_looks_alike(value: Any) -> None:
    (message,) = faults_of({"logRetentionDays": value})
    assert message.endswith("Fix: use 60 if that is what you meant."), "logs would be kept for 545 days"


ACCEPTED: list[tuple[str, Any]] = [
    ("region", "us-gov-west-1"), ("allowedAccountIds", ["111122223333", "444455556666"]), ("nameSuffix", "a"),
    ("nameSuffix", "team-a-16-letter"), ("tags", {"Cost Center": "a/b:c=d+e-f@g_h.i", "Größe": ""}),
    ("tags", {"Project": "own"}), ("logRetentionDays", 3653), ("vpcCidr", "172.20.0.0/20"),
    ("interfaceEndpoints", ["logs", "sqs"]), ("machineImages", {"dlami": "ami-0123456789abcdef0"}),
    ("lakeLifecycleRules", []), ("budgetEmail", "first.last+aws@example.co.uk"), ("ragCpuTargetPercent", "70"),
    ("openaiBaseUrl", "http://vllm.internal:8000/v1"), ("openaiModel", "meta-llama/Llama-3.1-8B"),
    ("answerModel", "amazon.nova-lite-v1:0"), ("ragImage", f"123.dkr.ecr.eu-central-1.amazonaws.com/rag@sha256:{'a' * 64}"),
    ("orchestratorReservedConcurrency", 0), ("answerTemperature", "0"), ("answerTemperature", 0.25), ("answerTemperature", "1.0"),
    ("embeddingModel", "eu.cohere.embed-v4:0"), ("chunkOverlapTokens", 0), ("ingestionTokensPerMinute", 1000), ("trainingInstanceTypes", ["u-6tb1.metal", "trn2u.48xlarge"]),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), ACCEPTED, ids=range(len(ACCEPTED)))
def test_an_allowed_value_is_not_refused(key: str, value: Any) -> None:
    single = [fault for fault in faults_of({key: value}) if fault.startswith(key)]
    assert single == [], "a person is kept from a valid stack"


@pytest.mark.parametrize("price", ["0.65", "12", "0.000001", "9999.999999"])
def test_a_price_above_zero_is_not_refused(price: str) -> None:
    assert faults_of({"gpuFleets": [FLEET | {"maximumPriceUsd": price}]}) == []
