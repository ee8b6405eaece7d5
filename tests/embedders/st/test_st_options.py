"""What follows ``st:`` on the command line."""

import pytest

from closecall.embedders.st.options import StOptions, parse_spec
from closecall.errors import UsageError


def test_a_name_alone_and_a_name_with_options():
    assert parse_spec("models/mine") == ("models/mine", StOptions())
    name, options = parse_spec("org/name?dims=256&precision=bf16&device=cuda:1&revision=v1")
    assert name == "org/name"
    assert options == StOptions(dims=256, precision="bf16", device="cuda:1", revision="v1")
    assert parse_spec("a?prompts=none&max_tokens=64&batch_tokens=9") == (
        "a", StOptions(prompts="none", max_tokens=64, batch_tokens=9),
    )  # fmt: skip


def test_a_folder_with_a_question_mark_in_its_name_is_a_folder(tmp_path, monkeypatch):
    (tmp_path / "what?dims=3").mkdir()
    monkeypatch.chdir(tmp_path)
    assert parse_spec("what?dims=3") == ("what?dims=3", StOptions())


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("", "needs a folder"),
        ("?dims=3", "needs a folder"),
        ("m?colour=red", "no option 'colour'; there are dims, precision"),
        ("m?dims=3&dims=4", "dims is given twice"),
        ("m?dims", "name=value"),
        ("m?dims=", "dims must be a whole number from 1, got ''"),
        ("m?dims=0", "dims must be a whole number from 1, got '0'"),
        ("m?dims=²", "dims must be"),
        ("m?max_tokens=-1", "max_tokens must be"),
        ("m?precision=int8", "precision must be one of fp32, fp16, bf16, got 'int8'"),
        ("m?device=tpu", "device must be auto, cpu, mps, cuda or cuda:N, got 'tpu'"),
        ("m?device=cuda:", "device must be"),
        ("m?prompts=mine", "prompts must be one of auto, config, none"),
        ("m?compile=yes", "compile must be true or false, got 'yes'"),
        ("m?trust_remote_code=true", "no option 'trust_remote_code'"),
    ],
)
def test_what_is_not_allowed_is_refused_with_what_is(spec, said):
    with pytest.raises(UsageError) as refused:
        parse_spec(spec)
    assert said in str(refused.value)


@pytest.mark.torch
def test_a_device_that_is_not_there_is_refused_and_never_replaced(tiny):
    import torch

    from closecall.embedders.registry import load_embedder
    from closecall.embedders.st.runtime import choose_device
    from closecall.errors import ConfigurationError

    missing = f"cuda:{torch.cuda.device_count()}"
    embedder = load_embedder(f"st:{tiny}?device={missing}")
    with pytest.raises(ConfigurationError, match=f"device {missing} was asked for.*only cpu"):
        embedder.load()
    best = choose_device(torch, "auto")
    assert load_embedder(f"st:{tiny}").device == best
    assert choose_device(torch, "cpu") == "cpu"


class Machine:
    """A torch that finds so many cards, and perhaps mps."""

    __version__ = "2"

    def __init__(self, cards, *, mps=False):
        class Cuda:
            is_available = staticmethod(lambda: cards > 0)
            device_count = staticmethod(lambda: cards)

        class Mps:
            is_available = staticmethod(lambda: mps)

        self.cuda = Cuda
        self.backends = type("Backends", (), {"mps": Mps})


def test_auto_takes_the_best_device_there_is():
    from closecall.embedders.st.runtime import choose_device
    from closecall.errors import ConfigurationError

    assert choose_device(Machine(2), "auto") == "cuda"
    assert choose_device(Machine(0, mps=True), "auto") == "mps"
    assert choose_device(Machine(0), "auto") == "cpu"
    assert choose_device(Machine(2), "cuda:1") == "cuda:1"
    for machine, asked in ((Machine(2), "cuda:2"), (Machine(0), "cuda"), (Machine(1), "mps")):
        with pytest.raises(ConfigurationError, match="device=auto"):
            choose_device(machine, asked)


@pytest.mark.torch
def test_threads_are_set_only_when_asked_for(tiny):
    import torch

    from closecall.embedders.registry import load_embedder

    before = torch.get_num_threads()
    try:
        load_embedder(f"st:{tiny}?device=cpu").load()
        assert torch.get_num_threads() == before
        load_embedder(f"st:{tiny}?device=cpu", threads=before + 1).load()
        assert torch.get_num_threads() == before + 1
    finally:
        torch.set_num_threads(before)
