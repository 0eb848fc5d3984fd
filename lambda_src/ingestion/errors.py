"""What can be wrong with a document itself."""

from rag.errors import PipelineError


class DocumentError(PipelineError):
    """The document cannot be indexed as it is; trying again does not help.

    `str(error)` says why and what its owner can do, and holds nothing of its text.
    """

    code = "document"
