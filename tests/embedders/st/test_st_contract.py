"""The contract of every embedder, kept by models of sentence-transformers."""

import pytest

from closecall import load_embedder
from closecall.testing import check_embedder

pytestmark = pytest.mark.torch


def test_a_folder_keeps_the_contract_and_each_option_is_another_identity(tiny):
    made = {
        name: load_embedder(f"st:{tiny}?{name}")
        for name in ("dims=4", "max_tokens=12", "precision=bf16")
    }
    made["window=truncate"] = load_embedder(f"st:{tiny}", window="truncate")
    check_embedder(load_embedder(f"st:{tiny}"), variants=made)


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_a_coarser_precision_keeps_it_within_its_own_rounding(tiny, precision):
    check_embedder(load_embedder(f"st:{tiny}?precision={precision}"), tolerance=2e-2)


def test_the_published_model_keeps_it(published):
    check_embedder(load_embedder(f"st:{published}"))
