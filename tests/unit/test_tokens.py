"""Tokens: which texts stand for no value, and that everything else may be one."""

from __future__ import annotations

import pytest

from pipeline.tokens import _TOKENS, REASONS, absence, is_known_token


def test_reasons_are_the_closed_list_of_the_contract() -> None:
    assert REASONS == (
        "not_supported",
        "not_available",
        "deprecated",
        "error",
        "insufficient_permissions",
        "requires_reset",
        "unparsable",
        "masked",
        "not_recorded",
    )


def test_every_token_gives_a_reason_of_the_list_and_is_spelled_folded() -> None:
    for token, reason in _TOKENS.items():
        assert reason in REASONS
        assert token == token.casefold().strip()


@pytest.mark.parametrize("token", sorted(_TOKENS))
def test_case_does_not_matter(token: str) -> None:
    assert absence(token.upper()) == absence(token.title()) == absence(token) == _TOKENS[token]
    assert is_known_token(token.upper())


@pytest.mark.parametrize("text", ["[]", "[x]", "[Some Later Error]", "[[N/A]]"])
def test_unknown_bracket_is_an_error_worth_a_remark(text: str) -> None:
    assert absence(text) == "error"
    assert not is_known_token(text)


@pytest.mark.parametrize(
    "text",
    ["", " ", "0", "None", "none", "null", "NaN", "-", "no", "[N/A", "N/A]", "n/a.", "[", "]", "[N/A] W", "Error"],
)
def test_other_text_may_be_a_value(text: str) -> None:
    assert absence(text) is None
    assert not is_known_token(text)
