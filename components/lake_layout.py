"""Where things lie in the data lake: its prefixes, for the program and for tools that need nothing else of it."""

RAW = "raw/"
RAW_PDFS = "raw/pdfs/"
RAW_WEB_SCRAPES = "raw/web-scrapes/"
RAW_DATABASES = "raw/databases/"
PROCESSED = "processed/"
PROCESSED_CHUNKS = "processed/chunks/"
PROCESSED_EMBEDDINGS = "processed/embeddings/"
MODELS = "models/"
MODELS_FINE_TUNED = "models/fine-tuned/"
MODELS_ADAPTERS = "models/adapters/"
MODELS_ONNX = "models/onnx/"
EVALUATIONS = "evaluations/"
EVALUATIONS_BENCHMARKS = "evaluations/benchmarks/"
EVALUATIONS_AB_TESTS = "evaluations/ab-tests/"
LOGS_TRAINING = "logs/training/"
PREFIXES = (
    RAW_PDFS, RAW_WEB_SCRAPES, RAW_DATABASES, PROCESSED_CHUNKS, PROCESSED_EMBEDDINGS, MODELS_FINE_TUNED,
    MODELS_ADAPTERS, MODELS_ONNX, EVALUATIONS_BENCHMARKS, EVALUATIONS_AB_TESTS, LOGS_TRAINING,
)  # fmt: skip
