"""Case files of other evaluators, as cases of closecall.

promptfoo's configurations, tables and results; deepeval's and ragas' data sets; samples and logs
of OpenAI evals; files of Hugging Face ``datasets``. What closecall knows no field for is kept with
the case as metadata; what cannot be taken over is counted and named.
"""

from closecall.importing.imported import Import, open_import
from closecall.importing.sources import SOURCES
from closecall.importing.writing import case_line

__all__ = ["SOURCES", "Import", "case_line", "open_import"]
