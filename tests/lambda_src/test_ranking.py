"""Several rankings made into one by reciprocal rank."""

from hypothesis import given
from hypothesis import strategies as st

from rag.ranking import RANK_CONSTANT, reciprocal_rank_fusion

RANKINGS = st.lists(st.lists(st.integers(0, 20), max_size=15, unique=True), max_size=4)


def test_the_score_is_the_sum_of_the_reciprocal_ranks() -> None:
    assert reciprocal_rank_fusion([["a", "b"], ["b"]]) == [("b", 1 / 62 + 1 / 61), ("a", 1 / 61)]


def test_what_two_rankings_hold_beats_the_first_of_one() -> None:
    fused = [item for item, _ in reciprocal_rank_fusion([["only", "x", "both"], ["other", "y", "both"]])]
    assert fused[0] == "both"


def test_of_equal_scores_the_earlier_ranking_decides() -> None:
    rankings = [["v1", "v2"], ["t1", "t2"]]
    assert [item for item, _ in reciprocal_rank_fusion(rankings)] == ["v1", "t1", "v2", "t2"]
    assert [item for item, _ in reciprocal_rank_fusion(rankings[::-1])] == ["t1", "v1", "t2", "v2"]


def test_nothing_is_ranked_when_nothing_was_found() -> None:
    assert reciprocal_rank_fusion([]) == reciprocal_rank_fusion([[], []]) == []


def test_an_item_that_a_ranking_holds_twice_counts_once_at_its_better_rank() -> None:
    assert dict(reciprocal_rank_fusion([["a", "b", "a"]]))["a"] == 1 / 61


@given(RANKINGS)
def test_every_item_comes_once_and_scores_never_rise(rankings: list[list[int]]) -> None:
    fused = reciprocal_rank_fusion(rankings)
    assert sorted(item for item, _ in fused) == sorted({item for ranking in rankings for item in ranking})
    scores = [score for _, score in fused]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= len(rankings) / (RANK_CONSTANT + 1) for score in scores)


@given(RANKINGS)
def test_one_ranking_alone_keeps_its_order(rankings: list[list[int]]) -> None:
    for ranking in rankings:
        assert [item for item, _ in reciprocal_rank_fusion([ranking])] == ranking
        assert [item for item, _ in reciprocal_rank_fusion([ranking, ranking])] == ranking


@given(RANKINGS)
def test_an_item_above_another_in_every_ranking_stays_above_it(rankings: list[list[int]]) -> None:
    fused = [item for item, _ in reciprocal_rank_fusion(rankings)]

    def rank(ranking: list[int], item: int) -> float:
        return ranking.index(item) if item in ranking else float("inf")

    for position, lower in enumerate(fused):
        for upper in fused[position + 1 :]:
            dominates = all(rank(ranking, upper) < rank(ranking, lower) for ranking in rankings)
            assert not dominates, f"{upper} is above {lower} everywhere but in the result"


@given(RANKINGS)
def test_the_names_of_the_items_do_not_matter(rankings: list[list[int]]) -> None:
    renamed = [[f"id-{97 * item % 1009}" for item in ranking] for ranking in rankings]
    names = {item: f"id-{97 * item % 1009}" for ranking in rankings for item in ranking}
    expected = [(names[item], score) for item, score in reciprocal_rank_fusion(rankings)]
    assert reciprocal_rank_fusion(renamed) == expected, "ids that sort differently would change the answer"
