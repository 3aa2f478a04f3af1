"""Words that tell verbs, attributes and values apart in corrections: English, some German, French
and Spanish. They are in lower case unless a comment says otherwise."""

from __future__ import annotations

import re


def _set(words: str) -> frozenset[str]:
    return frozenset(words.casefold().split())


LONGEST_VALUE = 5

PHRASES = tuple(
    (re.compile(pattern, re.IGNORECASE), by)
    for pattern, by in (
        (r"^\s*(?:correction|update|edit|new|korrektur|neu)\s*:\s*", ""),
        (r"\b(?:the )?user's\b", "my"),
        (r"\b(?:the )?user\b(?! (?:name|id|account))", "i"),
        (r"\bi'm\b", "i am"),
        (r"\b(?:from now on|as of now|ab jetzt|ab sofort|à partir de maintenant)\b", ""),
        (r"\be-?mail(?: address)?\b", "email"),
        (r"\bphone number\b|\btelephone(?: number)?\b", "phone"),
        (r"\b(time) (zone)\b", "timezone"),
    )
)
"""Phrases and the wording that replaces them before words are compared."""

DROPPED = _set(
    "the now currently actually instead meanwhile presently jetzt nun aktuell neuerdings der die"
    " das den dem maintenant désormais le les ahora el los las"
)
FORMS = {
    **dict.fromkeys(("is", "are", "am", "ist", "sind", "bin", "est", "sont", "suis"), "be"),
    **dict.fromkeys(("es", "son", "soy", "está", "están"), "be"),
    **dict.fromkeys(("has", "hat", "habe", "haben", "tiene", "tengo"), "have"),
    **{f"{verb}s": verb for verb in (
        "take start begin end leave depart arrive open close cost weigh earn pay get wake last"
        " expire run listen live work measure contain hold require need total reside"
    ).split()},
    "finishes": "finish",
}  # fmt: skip
STATE = _set(
    "be have : = take start begin end finish leave depart arrive open close cost weigh earn pay get"
    " wake last expire run listen live measure contain hold require need total"
    " kostet kosten wiegt beginnt startet endet fährt öffnet schließt wohnt wohne läuft dauert"
    " braucht brauche nehme nimmt beträgt verdient misst lauscht"
    " coûte commence finit part ouvre ferme dure pèse mesure habite prends prend"
    " cuesta empieza comienza termina sale llega abre cierra pesa mide vive vivo tomo toma"
)
"""Verbs that say how something is. After one of them another value replaces the old one; events
("paid 30", "ran 5 km") and likes may be true together."""
ONCE = _set(
    "be start begin end finish leave depart arrive expire beginnt startet endet commence finit"
    " empieza comienza termina"
)
"""Those of them that happen on one day only; a market may close on Monday and on Tuesday."""
PLURAL = _set("are sind sont son están")
AUXILIARIES = _set("be have has had was were been being got will wurde wird worden")
CHANGED = _set(
    "moved changed shifted switched rescheduled postponed updated raised lowered increased reduced"
    " delayed verschoben verlegt geändert erhöht gesenkt"
)
BEFORE_VALUES = _set("at on in um am im à a ab de las del")
FILLERS = _set(
    "at on in from until till to by due open about around only exactly approximately roughly up and"
    " am number port room floor version flat apartment gate seat platform track level"
    " um im bei bis von zum zur auf fällig ca etwa rund raum zimmer stock gleis uhr"
    " à la de du au aux dans en environ a las"
)
INDEFINITE = _set("a an one some another ein eine einen einem einer un une una")
PRONOUNS = _set("it this that these those he she they es ce c'est esto eso")
OF = _set("of for to in at on von für vom zur zum de du del des para pour à")
WHERE = _set("with at in chez avec à dans con en")
"""Prepositions with one name only. Others may have several: a present is for Anna and for Ben, a
flat near two shops."""
PARTICLES = _set("de da del della di du la le van von der den and und et y & of")
TRAITS = _set(
    "american german french english british irish scottish welsh spanish italian dutch greek swiss"
    " austrian polish russian turkish chinese japanese korean indian african european asian"
    " canadian mexican brazilian portuguese danish swedish norwegian finnish belgian czech"
    " hungarian catholic protestant muslim jewish christian buddhist hindu"
)
"""Capitalised, but no names: "my boss is German" and "my boss is Anna" are both true."""

ATTRIBUTES = _set(
    "name surname nickname firstname lastname boss manager supervisor wife husband spouse partner"
    " girlfriend boyfriend fiancée doctor dentist landlord landlady employer company city hometown"
    " country capital ceo cto leader lead owner coach bank school university birthplace"
    " vorname nachname spitzname chef chefin vorgesetzter frau mann partnerin arzt ärztin zahnarzt"
    " vermieter arbeitgeber stadt heimatstadt land hauptstadt"
    " nom prénom surnom patron patronne ville pays nombre apellido jefe jefa ciudad país esposa"
    " marido"
    " password passphrase pin code email phone telephone mobile number address url website host"
    " hostname ip port version username login ssid wifi size colour color birthday birthdate"
    " deadline date time timezone language currency age height weight price rent salary budget gate"
    " seat room branch editor shell theme status location plate server"
    " passwort telefon telefonnummer handynummer nummer adresse größe farbe geburtstag termin frist"
    " sprache zeitzone alter gewicht preis miete gehalt raum zimmer"
    " numéro téléphone couleur anniversaire langue loyer prix taille"
    " numero telefono número teléfono dirección cumpleaños idioma precio alquiler contraseña fecha"
)
WORDY = _set(
    "colour color language editor shell theme status currency branch username login hostname food"
    " drink dish fruit sport animal season flower genre tea farbe sprache lieblingsfarbe"
    " lieblingsessen lieblingstier couleur langue idioma comida"
)
"""Attributes whose value is a plain word: "my favourite colour is red"."""
COMPOUND = re.compile(r"(?:name|nummer|adresse|farbe|datum|termin|preis|miete)$")
FAVOURITE = re.compile(r"(?:favou?rite|preferred|default|lieblings\w*|préférée?|favorit[oa])$")
PLACES = frozenset(
    (
        ("live", "in"), ("reside", "in"), ("work", "at"), ("work", "for"), ("be", "called"),
        ("be", "named"), ("based", "in"), ("located", "in"), ("wohnt", "in"), ("wohne", "in"),
        ("lebt", "in"), ("lebe", "in"), ("arbeitet", "bei"), ("arbeite", "bei"), ("heisst", ""),
        ("heisse", ""), ("habite", "à"), ("travaille", "chez"), ("s'appelle", ""), ("vive", "en"),
        ("vivo", "en"), ("trabaja", "en"), ("trabajo", "en"), ("llama", ""),
    )
)  # fmt: skip

NUMBERS = _set(
    "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred"
    " zwei drei vier fünf sechs sieben acht neun zehn elf zwölf deux trois quatre cinq sept huit"
    " neuf dix dos tres cuatro cinco seis siete ocho nueve diez"
)
TIMES = _set("noon midnight mittag mitternacht midi minuit mediodía medianoche")
