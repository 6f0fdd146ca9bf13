"""The deterministic splitter: what becomes a claim, what does not, and what is said about the rest."""

from __future__ import annotations

import pytest
from support.flowers import MARCH_REPLY

from aucert_otel import ConfigurationError
from aucert_verifiers.grounding.claim import Split, Splitter, Unsplit
from aucert_verifiers.grounding.splitter import RuleSplitter


RULES = RuleSplitter()


def texts(reply: str) -> list[str]:
    return [claim.text for claim in RULES.split(reply).claims]


def test_it_is_a_splitter():
    assert isinstance(RULES, Splitter)
    assert RULES.fingerprint == RuleSplitter().fingerprint
    assert RULES.fingerprint != RuleSplitter(max_claims=5).fingerprint


def test_the_reply_as_the_customer_reads_it_becomes_atomic_claims():
    split = RULES.split(MARCH_REPLY)
    assert [claim.text for claim in split.claims] == [
        "Our policy gives you 30 days to report damage.",
        "You are well within the window to report damage.",
        "The policy asks for a photo of the arrangement.",
        "We will get a replacement sent out.",
    ]
    assert split.dropped == ("I'm sorry your flowers arrived in that condition.",)
    assert split.faithful
    assert split.ok
    assert split.covered == 1.0
    window, photo = split.claims[1], split.claims[2]
    assert window.several  # the policy, and the delivery date
    assert window.sentence == (
        "Our policy gives you 30 days to report damage, so you're well within the window."
    )
    assert MARCH_REPLY[window.start : window.end] == "you're well within the window."
    assert photo.implied
    assert not photo.several


def test_the_repaired_reply_keeps_its_deadline_and_its_condition():
    found = texts(
        "Our policy asks for damage to be reported within 48 hours of delivery. Your bouquet arrived "
        "yesterday, so you're still inside that window if you send a photo of the arrangement today, "
        "and we'll get a replacement sent out."
    )
    assert found == [
        "Our policy asks for damage to be reported within 48 hours of delivery.",
        "Your bouquet arrived yesterday.",
        (
            "You are still inside that window in which damage can be reported if you send a photo of the "
            "arrangement today."
        ),
        "We will get a replacement sent out.",
    ]


@pytest.mark.parametrize(
    ("reply", "claims"),
    [
        (
            "Standard delivery takes 3 to 5 days and costs $4.99.",
            ["Standard delivery takes 3 to 5 days.", "Standard delivery costs $4.99."],
        ),
        (
            "Refunds are issued within 5 days; exchanges take 10 days, but gift cards are final.",
            [
                "Refunds are issued within 5 days.",
                "Exchanges take 10 days.",
                "Gift cards are final.",
            ],
        ),
        (
            "If the item is damaged, you have 48 hours to report it, and we will send a replacement.",
            [
                "If the item is damaged, you have 48 hours to report it.",
                "We will send a replacement.",
            ],
        ),
        (
            "Yes, you can return shoes, bags and hats within 30 days.",
            ["You can return shoes, bags and hats within 30 days."],
        ),
        (
            "Please note that refunds take 5 days.",
            ["Refunds take 5 days."],
        ),
        (
            "I'm sorry to hear that, but refunds are not possible after 30 days.",
            ["Refunds are not possible after 30 days."],
        ),
        (
            "Unfortunately, gift cards cannot be refunded.",
            ["Gift cards cannot be refunded."],
        ),
        (
            "Mr. Smith bought it at Acme Inc. on Jan. 5. The price was $4.99.",
            ["Mr. Smith bought it at Acme Inc. on Jan. 5.", "The price was $4.99."],
        ),
        (
            "Please send us a photo of the damage and include your order number 1234.",
            [
                "The policy asks for a photo of the damage.",
                "The policy asks for your order number 1234.",
            ],
        ),
        (
            "Call us on weekdays before 5 pm.",
            ["The policy asks you to call us on weekdays before 5 pm."],
        ),
    ],
)
def test_a_sentence_is_cut_where_one_statement_ends(reply, claims):
    split = RULES.split(reply)
    assert [claim.text for claim in split.claims] == claims
    assert split.faithful


@pytest.mark.parametrize(
    ("reply", "claim"),
    [
        (
            "Your bouquet was delivered yesterday. It must be reported within 48 hours.",
            "Your bouquet must be reported within 48 hours.",
        ),
        (
            "Standard delivery takes 3 days. It can be upgraded at checkout.",
            "Standard delivery can be upgraded at checkout.",
        ),
        (
            "Damage must be reported within 48 hours. You missed the deadline.",
            "You missed the deadline in which damage can be reported.",
        ),
    ],
)
def test_a_reference_is_replaced_where_it_is_certain(reply, claim):
    found = RULES.split(reply).claims[-1]
    assert found.text == claim
    assert found.unresolved == ()


@pytest.mark.parametrize(
    ("reply", "unresolved"),
    [
        ("It must be reported within 48 hours.", ("it",)),
        ("You are within the window.", ("the window",)),
        (
            "Refunds take 30 days and damage must be reported within 48 hours. The deadline is strict.",
            ("the deadline",),
        ),
        ("Marie met Pierre. She moved to Paris.", ("she",)),
    ],
)
def test_a_reference_that_is_not_certain_is_left_and_said(reply, unresolved):
    assert RULES.split(reply).claims[-1].unresolved == unresolved


def test_it_takes_five_days_refers_to_nothing():
    assert RULES.split("It takes five days.").claims[0].unresolved == ()


@pytest.mark.parametrize(
    "reply",
    [
        "Hello Jane,",
        "Thanks for reaching out!",
        "I'm so sorry about that.",
        "Would you like a refund?",
        "Let me know if you need anything else.",
        "Happy to help!",
        "I hope this helps.",
        "Have a great day!",
        "Best regards,\nThe support team",
        "\U0001f389\U0001f389",
        "---",
    ],
)
def test_politeness_and_questions_are_dropped_and_named(reply):
    split = RULES.split(reply)
    assert split.claims == ()
    assert split.dropped or not any(char.isalnum() for char in reply)
    assert not split.is_abstention


@pytest.mark.parametrize(
    "reply",
    [
        "Sorry for the 3 day delay.",
        "Thanks for waiting 48 hours!",
        "Would you like the refund of $20?",
        "I don't know whether the 30 days apply.",
    ],
)
def test_no_sentence_with_a_number_is_dropped(reply):
    split = RULES.split(reply)
    assert split.claims
    assert split.lost == ()


@pytest.mark.parametrize(
    "reply",
    [
        "I don't know.",
        "I'm not sure when your order will arrive.",
        "I couldn't find any information about that.",
        "The passages do not mention whether gift cards can be refunded.",
        "Unfortunately, I am unable to confirm this.",
    ],
)
def test_what_is_not_known_is_an_abstention_and_no_claim(reply):
    split = RULES.split(reply)
    assert split.is_abstention
    assert split.claims == ()


def test_a_reply_that_knows_a_part_is_no_abstention():
    split = RULES.split("I don't know when it arrives. Standard delivery costs $4.99.")
    assert len(split.abstained) == 1
    assert [claim.text for claim in split.claims] == ["Standard delivery costs $4.99."]
    assert not split.is_abstention


@pytest.mark.parametrize("reply", ["", " ", "\n\n\t", "\u3000"])
def test_an_empty_reply_has_no_claims(reply):
    assert RULES.split(reply) == Split(())


def test_lists_keep_what_introduces_them():
    split = RULES.split(
        "You need:\n- a photo of the item\n- the order number\n\n1. Send a photo.\n2. Wait 3 days."
    )
    assert [claim.text for claim in split.claims] == [
        "You need: a photo of the item.",
        "You need: the order number.",
        "The policy asks for a photo.",
        "The policy asks you to wait 3 days.",
    ]
    assert split.faithful  # list markers are no numbers


def test_a_heading_says_what_a_fragment_is_about_and_is_no_claim():
    split = RULES.split("## Refunds\n30 days from purchase\n\n**Damage**\nWithin 48 hours.")
    assert [claim.text for claim in split.claims] == [
        "Refunds: 30 days from purchase.",
        "Damage: Within 48 hours.",
    ]
    assert "Refunds" in split.dropped


def test_every_cell_of_a_table_is_a_claim_with_its_row_and_column():
    split = RULES.split(
        "| Room | Deposit | Refund |\n|---|---:|---|\n| Suite | $50 | 30 days |\n| Standard | $20 | 14 days |"
    )
    assert [claim.text for claim in split.claims] == [
        "Suite: Deposit $50",
        "Suite: Refund 30 days",
        "Standard: Deposit $20",
        "Standard: Refund 14 days",
    ]
    assert split.claims[0].sentence == "Suite | $50 | 30 days"


def test_code_is_no_claim_and_its_numbers_are_not_checked():
    split = RULES.split("The limit is 5.\n\n```python\nlimit = 7\n```\n\nIt is enforced.")
    assert split.claims[0].text == "The limit is 5."
    (code,) = split.unreadable
    assert code.why is Unsplit.CODE
    assert split.lost == ("7",)


def test_a_fence_that_never_ends_takes_the_rest():
    split = RULES.split("The limit is 5.\n```\nx = 1\nThe fee is $9.")
    assert len(split.claims) == 1
    assert set(split.lost) == {"1", "9"}


def test_a_quotation_is_split_like_anything_else():
    split = RULES.split("> Damage must be reported within 48 hours.\n> Refunds take 5 days.")
    assert [claim.text for claim in split.claims] == [
        "Damage must be reported within 48 hours.",
        "Refunds take 5 days.",
    ]


@pytest.mark.parametrize(
    ("reply", "count", "language"),
    [
        ("お届けから48時間以内にご連絡ください。写真が必要です！返金はできません。", 3, "Japanese"),  # noqa: RUF001 - as it is written there
        ("您可以在30天内退货。照片是必需的！", 2, "Chinese characters"),  # noqa: RUF001 - as it is written there
        (
            "يجب الإبلاغ عن الضرر خلال 48 ساعة. يمكن استرداد المبلغ خلال 30 يوما.",
            2,
            "Arabic script",
        ),
        ("क्षति की सूचना 48 घंटे में दें। धनवापसी 30 दिन में होती है।", 2, "Devanagari script"),
        (
            "Sie können den Artikel innerhalb von 30 Tagen zurückgeben. Die Erstattung dauert fünf Tage.",
            2,
            "German",
        ),
        (
            "Vous avez 30 jours pour demander un remboursement. Les frais sont de 5 euros.",
            2,
            "French",
        ),
    ],
)
def test_a_language_it_does_not_know_is_said_and_its_sentences_stay_whole(reply, count, language):
    split = RULES.split(reply)
    assert len(split.claims) == count
    assert all(claim.text == claim.sentence for claim in split.claims)
    (strange,) = split.unreadable
    assert strange.why is Unsplit.LANGUAGE
    assert language in strange.detail
    assert split.faithful


def test_a_foreign_sentence_among_english_ones_is_said_alone():
    reply = "Refunds take 5 days. お届けから48時間以内にご連絡ください。 Gift cards are final."
    split = RULES.split(reply)
    assert len(split.claims) == 3
    (strange,) = split.unreadable
    assert reply[strange.start : strange.end] == "お届けから48時間以内にご連絡ください。"


def test_emoji_split_nothing():
    assert texts("Refunds take 5 days \U0001f389 for everyone. 🌹 Roses keep for 7 days.") == [
        "Refunds take 5 days \U0001f389 for everyone.",
        "🌹 Roses keep for 7 days.",
    ]


def test_two_hundred_claims_are_two_hundred_claims():
    reply = " ".join(f"Service {n} costs ${n}." for n in range(1, 201))
    split = RULES.split(reply)
    assert len(split.claims) == 200
    assert split.faithful


def test_a_claim_of_six_hundred_words_is_one_claim_and_whole():
    reply = "Refunds are possible for " + ", ".join(f"item {n}" for n in range(300)) + "."
    (claim,) = RULES.split(reply).claims
    assert claim.text == reply


def test_more_claims_than_are_taken_are_said():
    reply = " ".join(f"Service {n} costs ${n}." for n in range(1, 51))
    split = RuleSplitter(max_claims=10).split(reply)
    assert len(split.claims) == 10
    assert split.unreadable[-1].why is Unsplit.LENGTH
    assert 0 < split.covered < 1
    assert "11" in split.lost


def test_a_longer_reply_than_is_read_is_said():
    split = RuleSplitter(max_chars=100).split("Refunds take 5 days. " * 50)
    assert split.unreadable[-1].why is Unsplit.LENGTH
    assert split.covered == pytest.approx(100 / 1050)


@pytest.mark.parametrize("option", ["max_chars", "max_claims"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "9"])
def test_a_limit_that_is_no_count_is_refused(option, value):
    with pytest.raises(ConfigurationError) as error:
        RuleSplitter(**{option: value})
    assert f"splitter.{option} is {value!r}" in str(error.value)
