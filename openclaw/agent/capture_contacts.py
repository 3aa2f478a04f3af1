"""The words and forms by which `capture` tells how somebody is reached, or who serves the user:
English, German, French, Spanish. Matched against one sentence, every repetition bounded."""

from __future__ import annotations

import re

_I = re.IGNORECASE

EMAIL = re.compile(r"(?<![\w@])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
ADDRESS = re.compile(rf"{EMAIL.pattern}|://|\bwww\.|\w\.[a-z]{{2,12}}/|(?<!\w)@\w{{2}}", _I)
"""Of a person or a machine."""
PHONE = re.compile(r"(?<![\w/.,:#-])\+?\(?\d[\d ()/.-]{6,20}\d(?![\w])")
NO_PHONE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,3}(?:\.\d{1,3}){3}\b"
    r"|(?i:invoice|order|tracking|ticket|ref|reference|account|iban|isbn|rechnung|commande|facture|"
    r"pedido|factura|serial|version|tax)"
)
REACHED = re.compile(
    r"\b(?:is|are|reach\w*|under|tel|telephone|phone|mobile|cell|number|call|e-?mail|mail|contact|"
    r"works|ist|erreich\w+|nummer|handy|est|joindre|joignable|numéro|es|número|correo|teléfono|"
    r"móvil|localizar|has a new)\b|[:(]",
    _I,
)
_WORKS_AS = (
    r"vet|dentist|doctor|gp|physio\w*|midwife|plumber|electrician|carpenter|roofer|painter|"
    r"gardener|cleaner|babysitter|nanny|childminder|lawyer|solicitor|notary|accountant|landlord|"
    r"landlady|caretaker|janitor|neighbou?r|mechanic|hairdresser|tax adviser|insurance agent|agent|"
    r"editor|publisher|boss|supervisor|teacher|tutor|coach|trainer|contact(?: person)?|"
    r"tierarzt|tierärztin|hausarzt|hausärztin|zahnarzt|zahnärztin|steuerberater(?:in)?|"
    r"hausmeister(?:in)?|vermieter(?:in)?|klempner(?:in)?|handwerker|anwalt|anwältin|hebamme|"
    r"médecin|dentiste|plombier|propriétaire|notaire|comptable|nounou|vétérinaire|gardien(?:ne)?|"
    r"fontaner[oa]|casero|casera|abogad[oa]|gestor[a]?|veterinari[oa]|dentista|niñera"
)
SERVES = re.compile(
    rf"\b(?:the|our|my|unser\w*|mein\w*|der|die|notre|mon|ma|le|la|nuestr[oa]|mi|"
    rf"el) (?:\w+ ){{0,2}}"
    rf"(?:{_WORKS_AS})(?: \w+ \w+)?(?: (?:is|are|ist|heißt|est|s['\u2019]appelle|es|"
    rf"se llama)(?: now| "
    r"called| jetzt)?|:|,) (?-i:[A-ZÀ-Þ])"
    rf"|(?-i:[A-ZÀ-Þ])[\w.'\u2019 -]{{1,40}} is (?:my|our) (?:\w+ ){{0,2}}(?:{_WORKS_AS})\b"
    r"|(?-i:[A-ZÀ-Þ])[\w.'\u2019-]{1,30}(?: (?-i:[A-ZÀ-Þ])[\w.'\u2019-]{1,30})? (?:now )?(?:is in "
    r"charge of|"
    r"is responsible for|leads|heads|runs|takes over|handles|looks after|manages) (?:the|our|my)\b",
    _I,
)
