"""Looking after the file: what is in it, what may go, and why a text was not found."""

import msgspec
import pytest
from cache_data import OTHER_VALUE, TEXTS, check, instrument, rows

from closecall.cache import VectorCache
from closecall.cache.explain import explain
from closecall.cache.maintenance import clear, info, prune
from closecall.errors import ConfigurationError, UnknownNameError, UsageError
from closecall.records import Role, Tokens

OTHER = instrument(model="other", dims=48)
MANY = [f"A longer file needs more sentences, this is number {n}." for n in range(2000)]


@pytest.fixture
def aged(path):
    """Two models; the default one's texts were last used on days 100 to 159, the other's 200."""
    with VectorCache(path) as cache:
        for n, text in enumerate(TEXTS):
            cache.today = lambda n=n: 100 + n
            cache.put_many(instrument(), rows(instrument(), [text]))
        cache.today = lambda: 200
        cache.put_many(OTHER, rows(OTHER, TEXTS[:5]))
    with VectorCache(path, today=lambda: 200) as cache:
        yield cache


def test_info(aged):
    found = info(aged)
    assert (found.exists, found.rows, found.set_aside) == (True, 65, ())
    assert found.bytes >= aged.path.stat().st_size
    first, second = found.instruments
    assert (first.model, first.provider, first.rows, first.bytes) == ("tiny", "local", 60, 60 * 96)
    assert (first.first_used, first.last_used) == ("1970-04-11", "1970-06-09")
    assert (second.model, second.rows, second.digest) == ("other", 5, OTHER.digest)


def test_info_makes_nothing(cache):
    assert info(cache) == msgspec.structs.replace(
        info(cache), exists=False, rows=0, bytes=0, instruments=(), set_aside=()
    )
    assert not cache.path.exists()


def test_prune_by_age(aged):
    done = prune(aged, older_than_days=60)
    assert (done.rows, done.rows_left) == (40, 25)
    assert check(aged, instrument(), TEXTS) == 20
    assert check(aged, instrument(), TEXTS[40:]) == 20
    assert check(aged, OTHER, TEXTS) == 5


def test_prune_by_age_within_a_model(aged):
    assert prune(aged, older_than_days=0, instrument="other").rows == 0
    assert prune(aged, older_than_days=0, instrument="tiny").rows == 60


@pytest.mark.parametrize("name", ["other", OTHER.digest, OTHER.digest[:6]])
def test_prune_a_model(aged, name):
    assert prune(aged, instrument=name).rows == 5
    assert check(aged, OTHER, TEXTS) == 0
    assert check(aged, instrument(), TEXTS) == 60
    assert [one.model for one in info(aged).instruments] == ["tiny"]


def test_prune_an_unknown_model_lists_those_there_are(aged):
    with pytest.raises(UnknownNameError, match=r"tiny .*other"):
        prune(aged, instrument="minilm")


@pytest.mark.parametrize("wanted", [{}, {"max_bytes": -1}, {"older_than_days": -1}])
def test_prune_needs_to_know_what(aged, wanted):
    with pytest.raises(UsageError):
        prune(aged, **wanted)


def test_prune_to_a_size_drops_the_least_recently_used(path):
    for day, part in enumerate((MANY[:1000], MANY[1000:])):
        with VectorCache(path, today=lambda day=day: day) as cache:
            cache.put_many(instrument(), rows(instrument(), part))
    with VectorCache(path) as cache:
        limit = path.stat().st_size * 3 // 4
        done = prune(cache, max_bytes=limit)
        assert done.bytes_after <= limit < done.bytes_before
        assert 0 < done.rows < 1000
        assert check(cache, instrument(), MANY[1000:]) == 1000
        assert check(cache, instrument(), MANY[:1000]) == 1000 - done.rows
        assert prune(cache, max_bytes=limit).rows == 0


def test_prune_to_nothing_ends(aged):
    assert prune(aged, max_bytes=0).rows_left == 0


def test_using_a_vector_keeps_it(path):
    with VectorCache(path, today=lambda: 1) as cache:
        cache.put_many(instrument(), rows(instrument(), TEXTS))
    with VectorCache(path, today=lambda: 9) as cache:
        check(cache, instrument(), TEXTS[:3])
    with VectorCache(path, today=lambda: 9) as cache:
        assert prune(cache, older_than_days=1).rows_left == 3
        assert check(cache, instrument(), TEXTS[:3]) == 3


def test_clear_while_another_uses_it(aged):
    (aged.path.parent / f"{aged.path.name}.damaged-20310131T120000Z").write_bytes(b"old")
    with VectorCache(aged.path) as other:
        assert check(other, instrument(), TEXTS) == 60
        done = clear(aged)
        assert (done.rows, done.rows_left, len(done.files)) == (65, 0, 1)
        assert check(other, instrument(), TEXTS) == 0
        other.put_many(instrument(), rows(instrument(), TEXTS))
        assert check(aged, instrument(), TEXTS) == 60
        assert other.notices == aged.notices == []
    assert info(aged).set_aside == ()


def test_clear_of_nothing(cache):
    assert clear(cache).rows == 0
    assert not cache.path.exists()


def test_maintenance_of_a_file_that_cannot_be_used_is_an_error(path):
    path.mkdir()
    with VectorCache(path) as cache:
        for work in (info, clear, lambda c: prune(c, max_bytes=1)):
            with pytest.raises(ConfigurationError, match="cannot use"):
                work(cache)


def test_explain_a_hit(aged):
    found = explain(aged, instrument(), Role.DOCUMENT, TEXTS[0])
    assert found.hit
    assert (found.role, found.others) == ("text", ())
    assert found.tokens == Tokens(len(TEXTS[0]), len(TEXTS[0]) + 1)


def test_explain_a_text_never_seen(aged):
    found = explain(aged, instrument(), Role.TEXT, "never seen")
    assert (found.hit, found.others, found.tokens) == (False, (), None)


@pytest.mark.parametrize("field", OTHER_VALUE)
def test_explain_names_the_field_that_changed(filled, field):
    with VectorCache(filled) as cache:
        asked = instrument(**{field: OTHER_VALUE[field]})
        found = explain(cache, asked, Role.TEXT, TEXTS[0])
    assert not found.hit
    (other,) = found.others
    (difference,) = other.differences
    stored, new = getattr(instrument(), field), OTHER_VALUE[field]
    if isinstance(new, dict):
        ((part, new),) = new.items()
        stored, field = stored[part], f"{field}.{part}"
    assert (difference.field, difference.stored, difference.asked) == (field, stored, new)
    assert other.digest == instrument().digest


def test_explain_names_the_role(filled):
    with VectorCache(filled) as cache:
        found = explain(cache, instrument(), Role.QUERY, TEXTS[0])
    ((difference,),) = (other.differences for other in found.others)
    assert (difference.field, difference.stored, difference.asked) == ("role", "text", "query")


def test_explain_puts_the_nearest_first(aged):
    asked = instrument(model="other", dims=48, window="truncate")
    found = explain(aged, asked, Role.TEXT, TEXTS[0])
    assert [len(other.differences) for other in found.others] == [1, 3]
