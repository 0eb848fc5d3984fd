"""AWS partitions: which one a region belongs to, and its DNS suffix. Pure."""

# Partitions other than `aws`, by the prefix of their regions. botocore's endpoints data, held by a test.
PARTITIONS = {
    "cn-": ("aws-cn", "amazonaws.com.cn"),
    "us-gov-": ("aws-us-gov", "amazonaws.com"),
    "us-iso-": ("aws-iso", "c2s.ic.gov"),
    "us-isob-": ("aws-iso-b", "sc2s.sgov.gov"),
    "eu-isoe-": ("aws-iso-e", "cloud.adc-e.uk"),
    "us-isof-": ("aws-iso-f", "csp.hci.ic.gov"),
    "eusc-": ("aws-eusc", "amazonaws.eu"),
}


def partition_of(region: str) -> tuple[str, str]:
    """A region's partition and DNS suffix."""
    found = (names for prefix, names in PARTITIONS.items() if region.startswith(prefix))
    return next(found, ("aws", "amazonaws.com"))
