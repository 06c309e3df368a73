import pickle

import pytest

import pairup
from pairup.errors import PairupError, did_you_mean

CHILDREN = [
    pairup.AssessmentError,
    pairup.SavingError,
    pairup.ClientError,
    pairup.ExperimentError,
    pairup.MatchingError,
    pairup.ObservationError,
    pairup.PlayerError,
    pairup.PolicyError,
    pairup.ProblemError,
    pairup.ResultsError,
    pairup.ServiceError,
    pairup.SimulationError,
]


def test_every_error_is_public():
    children = {each for each in PairupError.__subclasses__() if each.__module__ == "pairup.errors"}
    assert children == set(CHILDREN)


@pytest.mark.parametrize("child", CHILDREN)
def test_every_error_is_a_pairup_error_and_a_value_error(child):
    with pytest.raises(PairupError, match="why"):
        raise child("why")
    assert issubclass(child, ValueError)


@pytest.mark.parametrize("child", CHILDREN)
def test_every_error_survives_pickling(child):
    assert str(pickle.loads(pickle.dumps(child("why")))) == "why"


def test_everything_public_exists_once():
    assert len(set(pairup.__all__)) == len(pairup.__all__)
    assert all(hasattr(pairup, name) for name in pairup.__all__)


@pytest.mark.parametrize(
    ("name", "known", "answer"),
    [
        ("unimodel", ["sam", "unimodal"], '; did you mean "unimodal"?'),
        ("UNIMODAL", ["sam", "unimodal"], '; did you mean "unimodal"?'),
        ("sam", ["SAM", "unimodal"], '; did you mean "SAM"?'),
        ("zzz", ["sam", "unimodal"], '; known: "sam", "unimodal"'),
        ("zzz", [], "; none is known"),
        (12, [11, 13, "12"], '; known: 11, 13, "12"'),
        ("12", [1, 2], "; known: 1, 2"),
    ],
)
def test_an_unknown_name_is_answered_with_a_similar_one_or_all(name, known, answer):
    assert did_you_mean(name, known) == answer
    assert did_you_mean(name, iter(known)) == answer


def test_a_long_list_of_names_is_cut():
    answer = did_you_mean("zzz", range(5000))
    assert answer.endswith("11, ... (5000 in all)")
    assert "12," not in answer
