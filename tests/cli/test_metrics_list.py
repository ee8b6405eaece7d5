"""``closecall metrics``: every metric is listed with what it needs."""

from closecall.metrics.registry import BUILT_IN


def test_every_metric_is_listed_with_its_fields_and_its_cutoff(cli):
    found = {row["name"]: row for row in cli("metrics", "--json").json}
    assert set(found) == set(BUILT_IN)
    assert found["token_f1"]["needs"] == ["references", "response"]
    assert (found["token_f1"]["default_cutoff"], found["answer_alignment"]["default_cutoff"]) == (
        0.5,
        None,
    )
    assert "model" in found["cross_encoder"]["options"]
    assert all(row["description"] for row in found.values())


def test_a_part_of_a_name_chooses(cli):
    said = cli("metrics", "llm_safety")
    assert said.code == 0
    names = [line.split()[0] for line in said.out.splitlines() if not line.startswith(" ")]
    assert names
    assert all(name.startswith("llm_safety") for name in names)
    assert "no metric's name holds 'nosuch'" in cli("metrics", "nosuch").err
