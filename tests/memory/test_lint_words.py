"""`memory lint` finds secrets and days by their words, and no look-alikes."""

from __future__ import annotations

import pytest

from openclaw.memory.lint import lint
from openclaw.memory.lint_findings import Document, LintContext

FAULTS = {
    "secret": (
        "Wifi Solberg: WPA2 key is 7tR-kk2-Pq9-zz!",
        "Das Passwort des NAS lautet Moewe#Nest-1981",
        "The passphrase for the backup disk is Gr4nit!Wolke_88",
    ),
    "relative-date": (
        "A fortnight ago the pump broke.",
        "The inspection was two weeks ago.",
        "The dentist moved it to the Monday after next.",
        "Sixteen months from now the lease ends.",
        "He left the week before last.",
    ),
}
NO_FAULTS = (
    "The coming of age party is in 2027.",
    "The password for the club wiki is kept by Bente.",
    "The key of the wifi cupboard is with Anna.",
    "The secret of good bread is patience.",
    "The passwords for the guests are on paper.",
)


def checks(text: str) -> set[str]:
    found = lint([Document("memory/MEMORY.md", f"- {text}\n")], LintContext())
    return {finding.check for finding in found}


@pytest.mark.parametrize(("check", "text"), [(c, text) for c in FAULTS for text in FAULTS[c]])
def test_secrets_and_days_are_found_in_other_words(check: str, text: str) -> None:
    assert check in checks(text)


@pytest.mark.parametrize("text", NO_FAULTS)
def test_names_and_sentences_about_secrets_are_no_findings(text: str) -> None:
    assert checks(text) - {"dead-link"} == set()
