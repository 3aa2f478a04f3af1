"""Tell which part of a person's life a line of notes is about, by words. English and German."""

from __future__ import annotations

import re
from functools import cache

from openclaw.nlp.persons import plain_apostrophes

TOPICS = {
    "Birthday": r"""
        birthday, born, turn(?:s|ed) (?:\d+|[a-z]+t[yi]), geburtstag, geboren, jahre alt,
        \d+ (?:ge)?worden""",
    "Gifts and presents": r"""
        gifts?, presents?, gave (?!up), given, got .*\bfrom, gets? .*\bfor (?:her|his|the),
        voucher, chipped in, surprise, wrapped, secret santa, thank[- ]you, idea for,
        for (?:her|his|\w+'s) (?:\w+ )?(?:birthday|wedding|farewell|housewarming|graduation),
        for (?:her|his|\w+'s) (?:christmas|retirement|anniversary|promotion|\w+ieth),
        geschenkt?\w*, schenk\w+, gutschein, bekommen, bekam, idee für,
        zu[mr] (?:geburtstag|abschied|einzug|hochzeit|weihnachten|\w+igsten)""",
    "Food, drink and allergies": r"""
        allerg\w+, intoleran\w+, coeliac, celiac, gluten, lactose, rash, hives, swell\w*, swollen,
        sneez\w+, hay fever, pollen, wasp, stings?, adrenaline, epipen, penicillin, latex,
        reacts?(?: \w+)? to, breaks out in, makes? \w+ (?:ill|sick|sneeze|itch), vegetarian,
        vegan, pescatarian, halal, kosher,
        (?:not|n't|never|no longer|only)(?: \w+)? (?:eat|drink|have|touch|stand|tolerate),
        avoids?, eats?, drinks?, favou?rite (?:dish|food|cake|drink), dairy, nuts, peanuts,
        hazelnuts, shellfish, pork, alcohol, teetotal\w*, decaf, diet, verträgt, ausschlag,
        unverträglich\w*, isst, trinkt, vegetari\w+, laktose, nüsse, heuschnupfen,
        lieblings(?:essen|kuchen|gericht), mag kein\w*""",
    "Health": r"""
        doctor, hospital, clinic, surgery, surgeon, operation, operated, broke (?:her|his), ill,
        sick, fever, flu, shingles, infection, cancer, stroke, heart, knee, hip, shoulder, wrist,
        ankle, back pain, appendix, blood (?:pressure|test), migraines?, asthma, diabet\w+,
        inhaler, tablets?, pills?, thinners, medication, medicine, pain, therap\w+, diagnos\w+,
        pregnan\w+, expecting, smok(?:es|ing), glasses, deaf, blind, hearing aid, colou?r-blind,
        dentist, optician, stitches, physio\w*, orthop\w+, rehab\w*, krank\w*, arzt, ärztin,
        klinik, operier\w+, tabletten, fieber, schmerz\w*, herz, blutdruck, schwanger, brille,
        grippe, zahnarzt, hüfte, rücken""",
    "Family and pets": r"""
        mother, father, mum, mom, dad, parents?, sister, brother, twin, son, daughter, wife,
        husband, partner, boyfriend, girlfriend, children, kids?, baby, little one, niece, nephew,
        aunt, uncle, cousin, grand\w+, married, marr(?:y|ies), engaged, divorced?, separated,
        broke up, in-laws?, dogs?, cats?, puppy, kitten, rabbits?, parrot, pony, tortoises?,
        hamster, guinea pigs?, budgie, greyhound, terrier, labrador, mutter, vater, eltern,
        schwester, bruder, sohn, tochter, frau, mann, kinder, verheiratet, hund, katze, kater,
        enkel\w*, nichte, neffe""",
    "Work and studies": r"""
        jobs?, works? (?:at|for|as|in), worked, working, company, boss, promot\w+, contract,
        hired, resign\w+, quit, retire[sd]?, retirement, career, appli(?:ed|es) for, interview,
        stud(?:y|ies|ied|ying), university, degree, exam, thesis, dissertation, teach(?:es|er),
        trains? as, training as, apprentic\w+, intern\w*, freelanc\w+, start(?:s|ed) (?:at|as),
        team lead, head of, department, salary, office, designer, engineer, nurse, midwife,
        lawyer, consultant, arbeitet, gearbeitet, arbeit, stelle, beruf, firma, befördert,
        kündigt, gekündigt, rente, studiert, ausbildung, prüfung, lehrer\w*""",
    "Lent, borrowed and owed": r"""
        lent, lends?, borrow\w*, owes?, owed, owing, (?:paid|pays?) (?:for|me),
        pay (?:me|back|him|her), brought .*\bback, still ha(?:s|ve), has my,
        split the (?:bill|cost), geliehen, leiht, ausgeliehen, schuldet, schulde, zurückgeben,
        zurückgebracht, hat noch mein\w*""",
    "Home, address and phone": r"""
        moves?, moving, moved, flat, apartment, house, houseboat, rents?, landlord, address,
        tel\w*, phone, mobile, number, e-?mail, reach(?:ed)?, lives? (?:in|on|at), comes from,
        room \d+, zieht, umzug, umgezogen, wohnt, wohnung, haus, adresse, nummer, telefon, handy,
        zimmer""",
    "Travel": r"""
        travel\w*, trips?, journey, holidays?, vacation, fl(?:y|ies|ew|ying) to, flights?,
        (?:going|goes|go|went|been|drove|was|were) (?:to|in) (?-i:[A-Z])\w+, weeks? in, cruise,
        hik(?:es|ing|ed), back from, backpack\w*, reist, reise, reisen, urlaub, fliegt, fliegen,
        (?:fährt|fahren) (?:nach|im|in), verreist""",
    "Books, films and music": r"""
        books?, novels?, read(?:s|ing)?, biograph\w+, author, films?, movies?, series, album,
        concert, podcast, buch, bücher, roman, liest, gelesen, krimis?, filme?, serie, konzert""",
    "Hobbies, sport and free time": r"""
        hobb(?:y|ies), plays?, playing, sings?, singing, choir, paint(?:s|ing|ed)?, draws?,
        knit\w*, sews?, sewing, crochet\w*, embroid\w+, quilt\w*, weav\w+, loom, pottery,
        ceramics, calligraph\w+, origami, woodwork\w*, wood ?turning, bak(?:es?|ing), sourdough,
        brews?, brewing, cooks for, collects?, collection of, restor(?:es?|ing), builds, danc\w+,
        salsa, tango, ballet, garden\w*, allotment, climb\w*, boulder\w*, marathon, runs, running,
        jog\w*, swim\w*, row(?:s|ing), cycl(?:es|ing), ski(?:s|ing), sail\w*, surf\w*, kayak\w*,
        canoe\w*, div(?:es|ing), glid(?:es|ers?|ing), paraglid\w+, fishing, photograph\w*,
        astro\w+, telescope, stargaz\w+, chess, bridge, poker, darts, board games, crosswords?,
        puzzles, geocaching, guitar, piano, cello, violin, drums, accordion, trombone, trumpet,
        saxophone, flute, clarinet, ukulele, instrument, lessons?, courses?, class(?:es)?,
        learns?, learning, club, trains, yoga, pilates, karate, judo, fencing, archery, football,
        handball, basketball, tennis, badminton, volleyball, hockey, rugby, beekeep\w*,
        bird ?watch\w*, model \w+, taken up, took up, into \w+(?:ing|phy), keen on, loves? \w+ing,
        spare time, free (?:time|days?), weekends, spielt, singt, chor, malt, zeichnet, strickt,
        häkelt, näht, töpfer\w*, webt, web\w+, backt, bäckt, sammelt, bastelt, tanzt, klettert?,
        joggt, schwimmt, rudert, segelt, angelt, fotografiert, schach, skat, gitarre, klavier,
        posaune, trompete, geige, kurs, lernt, verein, trainiert, reitet, imker\w*, garten,
        briefmarken, wandert""",
}
"""Words of each topic, as patterns. Its name is a heading, in words by which people ask for it."""


def topic_of(line: str) -> str:
    """Return the topic with the most words in a line, "" for none; of several the first."""
    said = plain_apostrophes(line)
    counts = {name: len(pattern.findall(said)) for name, pattern in _patterns().items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else ""


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Compile the words at their first use: most prompts need none."""
    found = {}
    for name, words in TOPICS.items():
        either = "|".join(re.split(r",\s+", words.strip()))
        found[name] = re.compile(rf"(?<![\w-])(?:{either})(?![\w-])", re.IGNORECASE)
    return found
