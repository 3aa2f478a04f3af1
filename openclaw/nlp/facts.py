"""Decide which of the user's statements are worth keeping, and in which category."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from openclaw.nlp.category import guess_category
from openclaw.nlp.identifiers import exact_strings, identifiers
from openclaw.nlp.lexicon import fact_words
from openclaw.nlp.lexicon.correction_words import NAMED, PLAIN
from openclaw.nlp.lexicon.quote_words import (
    DOUBTS,
    LIFTS_A_GUARD,
    MARKUP,
    MOOD,
    NAMELESS,
    REPORTED,
    SECRET_WORD,
    WORDED,
)
from openclaw.nlp.lexicon.statement_words import CALL_ME, DECISION, FORBIDS, LETS, STANDING
from openclaw.nlp.quoted import CITATION_MARK
from openclaw.nlp.sentences import Statement, find_statements, is_order
from openclaw.nlp.words import LONGEST_LASTING, LONGEST_OWN, SHORTEST_LASTING
from openclaw.security import secrets
from openclaw.security.untrusted import find_hidden

LastingCategory = Literal["preference", "fact", "decision", "entity"]

MOST_EMOJI = 3
"""A line with more emoji was not written by hand."""
MOST_CONTACTS = 3
"""A line with more addresses or phone numbers is a list that was pasted."""
LEAST_DIGITS = 7

_EMOJI = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")
_BLANKED = "xxxxx"
_NAMES_SOMEBODY = re.compile(r"[A-ZÀ-Þ]\w|\b(?:my|our|mein|unser|mon|ma|notre|mi|nuestr)")
_CLAUSE_END = re.compile(
    r", (?:so|and|but|because|which|und|aber|weil|deshalb|daher|drum|donc|du coup|et|mais|y|pero|"
    r"así que|por lo que)\b"
    r"|; |,? (?:so|also) (?:please|pls|no|nothing|don['\u2019]?t|never|only|keep|give|bitte)\b"
)


def is_not_own_statement(quiet: str) -> bool:
    """Return True for a sentence (quotations blanked) that is not the user's own statement: it is
    reported, doubtful, markup, about somebody without a name, or an order to write words."""
    named = FORBIDS.match(quiet) or CALL_ME.match(quiet)
    if is_order(quiet) and not named and WORDED.search(quiet):
        return True
    if DOUBTS.match(quiet) or NAMELESS.match(quiet) or REPORTED.match(quiet):
        return True
    if LIFTS_A_GUARD.search(quiet) or MARKUP.search(quiet) or MOOD.match(quiet):
        return True
    return len(_EMOJI.findall(quiet)) > MOST_EMOJI or _BLANKED in quiet or CITATION_MARK in quiet


def is_secret(text: str) -> bool:
    """Return True when a text names a password or a key, or has invisible characters."""
    return bool(SECRET_WORD.search(text) or find_hidden(text) or secrets.find_secrets(text))


def has_relative_day(quiet: str) -> bool:
    """Return True when a sentence names a day relative to the day of writing ("tomorrow")."""
    return bool(fact_words.RELATIVE.search(quiet))


def category_of(quiet: str, fact: Statement) -> LastingCategory | Literal[""]:
    """Return the category of a sentence that states `fact`; "" when it is not worth keeping."""
    if _sends_to_address(quiet):
        return ""
    if fact_words.DECISION.search(quiet) and _names_decision(quiet) and not is_unsure(quiet):
        return "decision"
    if _is_contact(quiet, fact):
        return "entity"
    if (
        fact_words.RULE.match(quiet)
        or fact_words.FORBIDDEN_FOR_GOOD.match(quiet)
        or fact_words.STYLE.match(quiet)
    ):
        return "preference"
    clause = _CLAUSE_END.split(quiet, maxsplit=1)[0]
    if fact.text and (is_lasting(fact) or is_lasting(_first_clause(clause, fact))):
        rule = STANDING.search(quiet) if fact.order else STANDING.match(quiet)
        return "preference" if rule else _guess_fact_category(quiet)
    if is_order(quiet) or is_passing(fact_words.SHIFT.sub("", clause)):
        return ""
    if fact_words.PREFERENCE.search(clause):
        return "preference"
    if is_unsure(clause):
        return ""
    return "fact" if fact_words.SELF.search(clause) or fact_words.HABIT.match(clause) else ""


def _first_clause(clause: str, fact: Statement) -> Statement:
    """Return the first clause of a statement; without text when it says nothing by itself."""
    return Statement(clause if len(clause.split()) > 2 else "", fact.to_remember, fact.order)


def _names_decision(quiet: str) -> bool:
    """Return True when a sentence says what was decided, not only that something was."""
    clause = _CLAUSE_END.split(quiet, maxsplit=1)[0]
    if fact_words.DECIDED_ON_THIS.search(clause) or len(quiet.split()) <= 3:
        return False
    return not is_passing(fact_words.WHEN_DECIDED.sub("", clause))


def _is_contact(quiet: str, fact: Statement) -> bool:
    """Return True when a sentence says how to reach somebody, or who works for the user."""
    if is_order(quiet) and not fact.text:
        return False
    addresses, numbers = fact_words.EMAIL.findall(quiet), _phone_numbers(quiet)
    if not addresses and not numbers:
        return bool(fact_words.SERVES.search(quiet)) and not is_order(quiet)
    if len(addresses) + len(numbers) > MOST_CONTACTS or not _NAMES_SOMEBODY.search(quiet):
        return False
    if not addresses and fact_words.NO_PHONE.search(quiet):
        return False
    return bool(fact_words.REACHED.search(quiet))


def _sends_to_address(quiet: str) -> bool:
    """Return True for an order or a rule that names an address: it could send data there from then
    on."""
    directs = is_order(quiet) or STANDING.search(quiet) or fact_words.RULE.match(quiet)
    return bool(directs and (fact_words.ADDRESS.search(quiet) or _phone_numbers(quiet)))


def _phone_numbers(quiet: str) -> list[str]:
    """Return what looks like telephone numbers."""
    found = (each[0] for each in fact_words.PHONE.finditer(quiet))
    return [
        number
        for number in found
        if sum(sign.isdigit() for sign in number) >= LEAST_DIGITS
        and not fact_words.NO_PHONE.match(number)
    ]


def _guess_fact_category(text: str) -> LastingCategory:
    found = guess_category(text)
    return "fact" if found == "other" else found


_OWN_PEOPLE = (
    r"wife|husband|partner|spouse|girlfriend|boyfriend|fiancée?|mother|father|mum|mom|dad|parents?|"
    r"sister|brother|siblings?|son|daughter|kids?|child(?:ren)?|baby|twins?|aunt|uncle|cousin|"
    r"niece|nephew|grand(?:ma|pa|mother|father|son|daughter|parents)|friend|roommate|flatmate|"
    r"neighbou?r|boss|manager|colleague|coworker|assistant|team|company|employer|client|customer|"
    r"doctor|dentist|therapist|vet|lawyer|accountant|landlord|landlady|teacher|coach|tutor|dog|cat|"
    r"puppy|kitten|horse|rabbit|parrot|pet|frau|mann|mutter|vater|eltern|schwester|bruder|sohn|"
    r"tochter|kind(?:er)?|oma|opa|tante|onkel|freund(?:in)?|chef(?:in)?|kollegin|kollege|"
    r"nachbar(?:in)?|arzt|ärztin|zahnarzt|vermieter(?:in)?|hund|katze|dochter|zoon|vrouw|zus|broer|"
    r"moeder|vader|vriend(?:in)?|hond|kat|baas|firma|team|femme|mari|mère|père|sœur|soeur|frère|"
    r"fils|fille|enfants?|ami|amie|patronne?|collègue|chien|chat|médecin|mujer|esposa|marido|madre|"
    r"padre|hermana|hermano|hij[oa]s?|amig[oa]|jef[ea]|perr[oa]|gat[oa]|médic[oa]|moglie|marito|"
    r"sorella|fratello|figli[oa]|amic[oa]|capo|cane|gatto"
)
_MY = (
    r"(?:my|our|meine?[rmns]?|unsere?[rmns]?|ma|mon|mes|notre|nos|mis?|nuestr[oa]s?|mi[oae]|"
    r"la mia|il mio|nostr[oa]|mijn|onze?)"
)
_PERSON = re.compile(
    rf"\b{_MY} (?:\w+ ){{0,2}}(?:{_OWN_PEOPLE})\b|\bmy \w+-in-law\b", re.IGNORECASE
)
_OF_PERSON = re.compile(
    rf"\b(?:\w+ )?(?:is|are|was|ist|sind|est|es|è) {_MY} (?:\w+ )?[^\W\d_]{{3,}}",
    re.IGNORECASE,
)
_SELF = re.compile(
    r"\b(?:(?:my|our) (?:\w+ ){0,2}(?:name|surname|birthday|address|e-?mail|phone|number|pronouns?|"
    r"job|hometown|nickname|anniversary|blood type|time ?zone|native language|mother tongue|diet|"
    r"shoe size|height|weight|salary|rent|budget|passport|locker|office|desk|laptop|car|bike|house|"
    r"flat|apartment|username|handle|website|favou?rite \w+|preferred \w+|mein\w*)\b.{0,40}\b(?:is|"
    r"are|was|ends|expires)|i(?:['\u2019]m| am) (?:called|named|allergic|vegetarian|vegan|"
    r"intolerant|diabetic|left-handed|colou?r-?blind|married|divorced|single|retired|self-employed|"
    r"freelance|responsible for|based in|from (?-i:[A-Z])|originally from|born|an? (?!bit|little|"
    r"lot|few|huge|big fan of (?:this|that|it))\w+)|i (?:usually|normally|typically|generally|"
    r"mostly|regularly|rarely|only|hardly ever) \w+|i(?:['\u2019]ve|"
    r" have) been an? \w+ (?:\w+ )?(?:for|since)|i(?:['\u2019]m| am) (?-i:[A-Z])\w+|i(?:['\u2019]m|"
    r" am) (?:\d\d\b|the \w+ (?:of|at|for|in) |head of|in charge of)|i (?:go by|was born|grew up|"
    r"live|work (?:as|at|for|in|from|on (?-i:[A-Z])|part)|study|studied|teach|own|drive|commute|"
    r"speak|play|run|lead|manage|take \d+|use|wear|smoke|do(?:n['\u2019]t| not) (?:eat|drink|smoke|"
    r"drive|speak|own|work|use|like))\b|ich (?:heiße|wohne|lebe|arbeite|studiere|spreche|fahre|"
    r"spiele|trinke|esse|nutze|verwende|benutze|bin (?:\d|in|aus|von beruf|allergisch|"
    r"vegetarier\w*|vegan\w*|(?:\w+ ){1,3}allergisch|verheiratet|geboren|(?-i:[A-Z])))|"
    r"mein(?:e)? (?:\w+ )?(?:name|"
    r"geburtstag|adresse|nummer|handynummer|lieblings\w+|telefonnummer|konto\w*|auto|büro)\b|"
    r"je (?:m['\u2019]appelle|suis (?:née?|végé\w+|allergique|un|une|de|[a-zé]+(?:eur|ien|ienne|"
    r"iste|ant)\b)|vis|travaille|parle)|j['\u2019](?:habite|utilise)|mon (?:nom|prénom|"
    r"anniversaire|adresse|numéro|âge)\b|mi (?:nombre|apellido|cumpleaños|dirección|número|"
    r"correo)\b|il mio (?:nome|compleanno|indirizzo|numero)\b|i(?:['\u2019]m| am) (?:learning|"
    r"studying|training for|saving for)\b|me llamo|(?:yo )?(?:vivo|"
    r"trabajo|nací|hablo) |soy (?:de|alérgic\w+|vegetarian\w+|\w+(?:or|ora|ista|er[oa]))\b|"
    r"mi chiamo|(?:io )?(?:abito|vivo|lavoro|parlo) |sono (?:allergic\w+|vegetarian\w+|nat[oa]|un|"
    r"una)|ik (?:heet|woon|werk|spreek)|\u043c\u0435\u043d\u044f \u0437\u043e\u0432\u0443\u0442|"
    r"nazywam się|mam na imię|mieszkam|"
    r"jmenuji se|bydlím)",
    re.IGNORECASE,
)
_HAVE = re.compile(
    r"\b(?:i(?: also)? have|i['\u2019]ve got|we have|ich habe|wir haben|j['\u2019]ai|nous avons|"
    r"on a|tengo|tenemos|"
    rf"ho|abbiamo|ik heb|we hebben) (?:\w+ ){{1,4}}?(?:{_OWN_PEOPLE}|hijos|perros|gatos|enfants|"
    rf"kinderen|"
    r"children|kids|dogs|cats|sisters|brothers|sons|daughters|garden|house|flat|apartment|car|bike|"
    r"boat|shop|business|allergy|allergies|asthma|diabetes|degree|licen[cs]e|garten|haus|wohnung|"
    r"auto|fahrrad|allergie|jardin|maison|voiture|jardín|casa|coche|giardino|macchina)\b"
    r"|\bi have (?:celiac|coeliac|asthma|diabetes|adhd)\b",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\b(?:(?:[Ii]|[Ww]e|[Ss]he|[Hh]e|[Tt]hey|[A-Z]\w+) (?:\w+ly |always |never |much |both |"
    r"all )?(?:prefers?|likes?|loves?|hates?|dislikes?|enjoys?|can(?:no|['\u2019])t stand|avoids?)|"
    r"(?i:ich (?:mag|liebe|hasse|bevorzuge|trinke|esse)|(?:wir|ich) (?:\w+ )?lieber|"
    r"j['\u2019](?:aime|adore)|je (?:préfère|déteste|n['\u2019]aime)|(?:me|nos) (?:gusta|"
    r"encanta)n?|prefiero|odio|mi piac(?:e|ciono)|preferisco|ik (?:hou|"
    r"houd) van))\b",
)
_THIS_ONE = re.compile(
    r"\b(?:this|that(?= one|\W*$|,)|these|those|it|them|your|the (?:first|second|third|last|"
    r"latter|former|new|old|"
    r"other|next|previous|current|short|shorter|long|longer) (?:one|version|draft|option|idea|"
    r"answer|part|sentence|paragraph|line|variant)?|(?:option|version|variant|draft) \w|das|"
    r"dies\w*|ersteres?|cela|"
    r"ça|eso|esto|questo|quello)\b",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|right now|at the moment|currently|for now|"
    r"this (?:morning|afternoon|evening|week|weekend|month|time|one|file|list|task|page|draft|text|"
    r"note|line|answer|reply|chat|conversation|session|document|table|script|code|function|example|"
    r"test)|in here|just|(?:last|next) (?:night|week|month|weekend|time)|until|till|bis|jusqu\w*|"
    r"hasta|fino a|on (?:holiday|vacation|leave)|a (?:minute|moment|second|while) ago|earlier|soon|"
    r"later|already|yet|heute|morgen|gestern|gerade|im moment|momentan|diese woche|"
    r"aujourd['\u2019]hui|"
    r"demain|hier soir|en ce moment|hoy|mañana|ayer|ahora mismo|oggi|domani|ieri|adesso|vandaag)\b",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|might|could be|i think|i guess|i believe|i suppose|"
    r"i assume|not sure|seems?|apparently|or so|kind of|sort of|wondering|hopefully|if|unless|"
    r"would|supposedly|vielleicht|wahrscheinlich|vermutlich|möglicherweise|glaube|denke|falls|wenn|"
    r"würde|peut-être|probablement|(?<=, )s[ie]|quizás?|tal vez|probablemente|creo|forse|magari|"
    r"credo|"
    r"misschien)\b",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"\b(?:broken|slow|ready|done|late|tired|hungry|thirsty|bored|busy|sick|ill|cold|empty|full|"
    r"hurts?|aching|sleepy|stuck|fail(?:s|ed|ing)?|crash(?:es|ed|ing)?|works? (?:now|again|fine)|"
    r"not working|missing|wrong|error|problem|issue|idea|question|doubt|feeling|headache|cold|flu|"
    r"fever|meeting in|plan to|going to|about to|thought|hope|guess|time to|nothing|fun|müde|"
    r"hungrig|krank|kaputt|fertig|langsam|malade|fatiguée?|cansad[oa]|enferm[oa]|stanc[oa]|"
    r"malat[oa])\b",
    re.IGNORECASE,
)
_THING = re.compile(
    r"(?:the|our|my|der|die|das|unser\w*|mein\w*|le|la|notre|el|nuestr\w+|il|la|de|"
    r"het) (?P<what>.{3,60}?) (?:is|are|ist|sind|lautet|est|es|è|runs (?:on|at)|costs|starts|"
    r"begins|ends|expires|lives|listens on|opens|closes|stands|leads?|belongs|heißt|läuft|kostet|"
    r"beginnt|endet|coûte|commence|"
    r"cuesta|empieza|costa|inizia)\b(?P<value>.{1,120})",
    re.IGNORECASE,
)
_MATERIAL = re.compile(
    r"\b(?:error|result|results|answer|output|sum|total|log|line|lines|text|sentence|paragraph|"
    r"test|tests|build|page|title|message|warning|file|files|folder|list|draft|summary|table|"
    r"column|row|entry|bug|commit|value|script|function|diff|reply|response|question|example|image|"
    r"photo|screenshot|link|meeting|appointment|call|flight|train|parcel|package|order|delivery|"
    r"invoice|ticket|event|party|termin|treffen|flug|zug|paket|bestellung|rechnung|réunion|"
    r"rendez-vous|vol|colis|commande|facture|reunión|cita|vuelo|paquete|pedido|factura|riunione|"
    r"appuntamento|volo|pacco|ordine|fattura|attachment|word|words|number of|count|problem|reason|"
    r"point|idea|way|thing|other|rest|fehler|ergebnis|antwort|ausgabe|zeile|datei|liste|tabelle|"
    r"erreur|résultat|fichier|error|"
    r"archivo|risultato|errore)\b",
    re.IGNORECASE,
)
_PERSON_DOES = re.compile(
    r"(?:^|[,;:] )(?P<who>[A-ZÀ-Þ][\w'\u2019-]+(?: (?:van |de |"
    r"von )?[A-ZÀ-Þ][\w'\u2019-]+){0,2}),? (?:(?:who|die|der|qui|que|che) )?(?:leads?|manages?|"
    r"handles?|owns?|runs|lives|works|teaches|plays|is (?:my|our|the|an?|in charge|allergic|"
    r"responsible|based|vegetarian|vegan|\d)|was born|has|speaks|reports|leitet|wohnt|arbeitet|"
    r"ist (?:mein\w*|unser\w*|der|die|ein\w*)|dirige|habite|est (?:mon|ma|notre|le|la|une?)|vive|"
    r"trabaja|es (?:mi|nuestr\w+|el|la|un\w*)|è (?:il|la|un\w*|mi[oa])|abita|lavora)\b"
)
_NO_PERSON = frozenset(
    "It This That There These Those The A An He She They We You I What Who Which Everything "
    "Nothing Something Someone Everybody Nobody One Das Es Dies Sie Er Wir Man Alles Nichts Ce "
    "Cela Il Elle On "
    "Eso Esto Ello Questo".split()
)
_ROLE = re.compile(
    r"(?:she|he|they|sie|er|elle|il|ella|él|lei|lui)(?: is|['\u2019]s| are)?\b.{0,12}\b(?:leads?|"
    r"manages?|handles?|runs|owns|my|our|in charge|responsible|leitet|mein\w*|unser\w*|dirige|mon|"
    r"ma|"
    r"notre|mi|nuestr\w+)\b",
    re.IGNORECASE,
)
_WE_USE = re.compile(
    r"\b(?:we|our (?:team|company|office)|wir|nous|on) (?:all |always |only |mostly |both )?(?:use|"
    r"host|deploy|run|work (?:with|in|from)|meet|speak|live|have|own|ship|release|write|pay|bill|"
    r"invoice|close|start|nutzen|verwenden|benutzen|arbeiten|treffen|wohnen|leben|haben|utilisons|"
    r"habitons|travaillons|avons)\b"
    r"|\b(?:usamos|tenemos|vivimos|trabajamos|usiamo|abbiamo|viviamo|gebruiken|wonen)\b",
    re.IGNORECASE,
)
_NO_RULE = re.compile(
    r"(?:it|this|that|these|those|there|you|he|she|they|das|es|dies\w*|du|er|sie|ça|cela|ce|tu|il|"
    r"elle|eso|esto|él|ella|questo|lui|lei|dat|het)\b|the (?!user)\w+ (?:\w+ ){0,2}(?:always|"
    r"never)\b|i (?:always|never) (?:forget|thought|knew|know|underst\w+|get|got|want\w*|wonder\w*|"
    r"remember\w*|said|asked|saw|heard|think|mean\w*|seem|have to|end up|mix|struggle|tried|"
    r"noticed|expected|did|had|was)\b"
    r"|ich (?:vergesse|dachte|wusste|verstehe|habe) (?:\w+ )?(?:immer|nie)",
    re.IGNORECASE,
)
_CONTACT = re.compile(
    r"\b[A-ZÀ-Þ]\w+(?:['\u2019]s|s['\u2019]?) (?:\w+ )?(?:birthday|phone|number|e-?mail|address|"
    r"name|job|favou?rite \w+|anniversary|surname|diet|extension)\b.{0,10}\b(?:is|are)\b"
)


def is_lasting(statement: Statement) -> bool:
    """Return True for a fact about the user, his people or things, a standing rule or a decision.
    Passing and unsure facts, and facts about the text at hand, do not last."""
    fact = statement.text
    standing = bool(STANDING.search(fact) or CALL_ME.search(fact))
    if _UNSURE.search(fact) and not (standing and not re.search(r"\bmaybe|perhaps|might\b", fact)):
        return False
    if _PASSING.search(fact) and not re.match(r"(?i).{0,20}\b(?:from now on|as of today)\b", fact):
        return False
    if standing or statement.to_remember:
        return statement.to_remember or _is_rule(fact)
    if statement.order:
        return False
    if _STATE.search(fact):
        return False
    if DECISION.search(fact) or LETS.match(fact):
        return not _THIS_ONE.search(fact) and len(fact.split()) > 3
    if _PREFERENCE.search(fact):
        return not _THIS_ONE.search(fact)
    if _SELF.search(fact) or _HAVE.search(fact) or _PERSON.search(fact) or _CONTACT.search(fact):
        return not _THIS_ONE.search(fact.split(",")[0])
    return _is_about_people(fact) or _is_about_things(fact)


def is_unsure(text: str) -> bool:
    """Return True when a sentence leaves open whether it is true."""
    return bool(_UNSURE.search(text))


def is_passing(text: str) -> bool:
    """Return True when a sentence says how things are just now."""
    return bool(_PASSING.search(text) or _STATE.search(text))


def _is_rule(fact: str) -> bool:
    return len(fact.split()) > 2 and not _NO_RULE.match(fact)


def _is_about_people(fact: str) -> bool:
    found = _PERSON_DOES.search(fact)
    if found and found["who"].split()[0] not in _NO_PERSON:
        return not _MATERIAL.search(found["who"])
    return bool(_OF_PERSON.match(fact) or (_ROLE.search(fact) and identifiers(fact)))


def _is_about_things(fact: str) -> bool:
    if _WE_USE.search(fact):
        return not _THIS_ONE.search(fact) and not _MATERIAL.search(fact)
    found = _THING.match(fact)
    if not found or _MATERIAL.search(found["what"]):
        return False
    own = re.match(r"(?:our|my|unser|mein|notre|nuestr)", fact, re.IGNORECASE)
    words = found["what"].casefold().split()
    if not own and len(words) == 1 and words[0] not in PLAIN and words[0] not in NAMED:
        return False
    return bool(
        identifiers(found["value"]) if own or len(words) > 1 else exact_strings(found["value"])
    )


@lru_cache(maxsize=1024)
def lasting_facts(said: str) -> tuple[str, ...]:
    """Return the user's own words that may be worth remembering for good: about himself, his people
    and things, standing rules, decisions. A missed one is better than a wrong one: most of a long
    message is probably pasted, so only its beginning is read."""
    own = said if len(said) <= LONGEST_OWN else said[: LONGEST_OWN // 2]
    found = (fact.text for fact in find_statements(own) if is_lasting(fact))
    return tuple(
        fact for fact in dict.fromkeys(found) if SHORTEST_LASTING <= len(fact) <= LONGEST_LASTING
    )
