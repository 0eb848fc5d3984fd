"""What the values of configuration keys may look like: patterns and lists, each with its words and its source. Pure."""

from ipaddress import IPv4Network

from components.settings import Allowed, matching


def _is_block(text: str) -> bool:
    """Whether the text is an IPv4 block, written as the start of the block and a prefix length."""
    try:
        return str(IPv4Network(text)) == text
    except ValueError:
        return False


IPV4_BLOCK = Allowed("must be an IPv4 block such as 10.0.0.0/16", _is_block)

REGION = matching(r"[a-z]{2,4}(-[a-z]+)+-\d", "a region such as eu-central-1")
ZONE = matching(r"[a-z]{2,4}(-[a-z]+)+-\d[a-z]", "an availability zone such as eu-central-1a")
ACCOUNT_ID = matching(r"\d{12}", "a 12-digit account id, quoted in YAML")
NAME_SUFFIX = matching(
    r"|[a-z0-9]([a-z0-9-]{0,14}[a-z0-9])?", "empty, or up to 16 of a-z, 0-9 and inner hyphens"
)
SECRET_ARN = matching(
    r"arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[A-Za-z0-9/_+=.@-]+",
    "the ARN of a Secrets Manager secret, not the secret itself",
    confidential=True,
)
CERTIFICATE_ARN = matching(
    r"arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate/[a-f0-9-]+", "the ARN of an ACM certificate"
)
INSTANCE_TYPE = matching(r"[a-z][a-z0-9-]*\.[a-z0-9-]+", "an instance type such as g5.xlarge")
IMAGE_ID = matching(r"ami-([0-9a-f]{8}|[0-9a-f]{17})", "a machine image id such as ami-0123456789abcdef0")
CONTAINER_IMAGE = matching(r"[a-z0-9][\w./:@-]{0,254}", "a container image reference")
IMAGE_BY_DIGEST = matching(
    r"[a-z0-9][\w./:-]*@sha256:[0-9a-f]{64}", "an image by digest, as in name@sha256:DIGEST"
)
MODEL_ID = matching(
    r"[a-z0-9-]+(\.[a-z0-9-]+)+(:[a-z0-9]+)*",
    "the id of a Bedrock model or inference profile, such as amazon.titan-embed-text-v2:0",
)
SUBNET_ID = matching(r"subnet-[0-9a-z]{1,17}", "a subnet id such as subnet-0123456789abcdef0")
VPC_ID = matching(r"vpc-[0-9a-z]{1,17}", "a VPC id such as vpc-0123456789abcdef0")
RESERVATION_ID = matching(r"cr-[0-9a-f]{17}", "a reservation id such as cr-0123456789abcdef0")
FLEET_NAME = matching(
    r"[a-z]([a-z0-9-]{0,22}[a-z0-9])?", "1 to 24 of a-z, 0-9 and inner hyphens, letter first"
)
RULE_ID = matching(r"[A-Za-z0-9_.-]{1,255}", "1 to 255 letters, digits, dots, underscores or hyphens")
FOLDERS = matching(r"([\w.-]+/)*", "empty, or folders as in raw/ or raw/pdfs/")
CHECKPOINT_FOLDER = matching(
    r"(?=.{1,255}$)/mnt/shared-data/checkpoints(/(?!\.{1,2}(/|$))[\w.-]+)*",
    "a folder below /mnt/shared-data/checkpoints, of up to 255 characters",
)
PRICE = matching(r"(?!0+(\.0+)?$)\d{1,4}(\.\d{1,6})?", "a price per hour above zero, quoted, such as '0.65'")
ADDRESS = matching(
    r"https?://[A-Za-z0-9.-]+(:\d{1,5})?(/[\w./-]*)?", "an http or https address such as https://host/v1"
)
TEMPERATURE = matching(r"0(\.\d{1,3})?|1(\.0{1,3})?", "a number from 0 to 1 with a point, such as 0.2")
MODEL_NAME = matching(r"[\w./:-]{0,128}", "a model name without spaces, of up to 128 characters")
SERVED_MODEL = matching(
    r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}|models/(fine-tuned|adapters|onnx)(/(?!\.{1,2}(/|$))[\w.-]+)+",
    "a Hugging Face name such as Qwen/Qwen2.5-7B-Instruct, or a folder of the lake such as models/fine-tuned/my-model",
)
SERVER_ARGUMENT = matching(r"\S(.{0,511}\S)?", "1 to 512 characters, without spaces at the ends")
# https://docs.aws.amazon.com/autoscaling/application/userguide/scheduled-scaling-using-cron-expressions.html
SCHEDULE = matching(
    r"cron\((\S{1,64} ){5}\S{1,64}\)", "a schedule of six fields such as cron(0 8 ? * MON-FRI *)"
)
TIME_ZONE = matching(r"[A-Z][\w+-]*(/[A-Za-z][\w+-]*){0,2}", "a time zone such as Europe/Berlin")
EMAIL = matching(r"[\w.!#$%&'*+/=?^`{|}~-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+", "an e-mail address")

# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
LOG_RETENTION_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653)  # fmt: skip
NODE_IMAGES = ("dlami", "ecs-gpu", "ecs-neuron")
SPOT_STRATEGIES = (
    "price-capacity-optimized", "capacity-optimized", "capacity-optimized-prioritized", "lowest-price",
)  # fmt: skip
INTERFACE_ENDPOINTS = (
    "autoscaling", "bedrock-runtime", "ecr.api", "ecr.dkr", "ecs", "ecs-agent", "ecs-telemetry",
    "elasticfilesystem", "logs", "monitoring", "secretsmanager", "sqs", "ssm", "ssmmessages", "sts",
)  # fmt: skip
STORAGE_CLASSES = (
    "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR", "GLACIER", "DEEP_ARCHIVE",
)  # fmt: skip
# The pairs with memory are in components/fargate.py.
FARGATE_CPU_UNITS = (256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
# The service model of botocore 1.44.8 says 1,800; every AWS page read still says 900.
LONGEST_FUNCTION_SECONDS = 900
LONGEST_RAG_REQUEST_SECONDS = 3600

# Every resource carries these tags: EC2 allows 50, some of them the platform's own; services share these letters; IAM
# takes two keys that differ in case only for one. https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html
MAXIMUM_TAGS = 40
TAG_PUNCTUATION = " _.:/=+-@"
DEFAULT_TAGS = ("Project", "Stack", "ManagedBy")


def _are_tags(tags: dict[str, str]) -> bool:
    keys = [*tags, *(key for key in DEFAULT_TAGS if key not in tags)]
    distinct = len({key.lower() for key in keys}) == len(keys)
    return len(tags) <= MAXIMUM_TAGS and distinct and all(map(_is_tag, tags, tags.values()))


def _is_tag(key: str, value: str) -> bool:
    letters = all(letter.isalnum() or letter in TAG_PUNCTUATION for letter in key + value)
    reserved = key.lower().startswith("aws:") or key == "Name"
    return 0 < len(key) <= 128 and len(value) <= 256 and letters and not reserved


TAGS = Allowed(
    f"must be at most {MAXIMUM_TAGS} tags: keys of 1 to 128 and values of up to 256 letters, digits, spaces and _.:/=+-@; "
    "no key may be Name, start with aws: or differ from another (or Project, Stack, ManagedBy) in case only",
    _are_tags,
)
