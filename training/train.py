"""Trains `openclaw/nlp/classifier.bin` from the labelled sentences in `training/data`.

    python -m training.train            train, print the figures, write the file
    python -m training.train --check    fail unless the file belongs to these data and features

Logistic regression on the features of `openclaw.nlp.classifier` by stochastic gradient descent with
AdaGrad steps (Duchi et al. 2011): one label against the rest, for the kinds of a sentence one kind
against another. No library of linear algebra is called, so the same data give the same weights. The
figures and the calibration (Platt 1999) come from five trainings, each scored on authors whom it
has not seen.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from openclaw.nlp import classifier

DATA = Path(__file__).with_name("data")
MESSAGE = tuple(
    "asks orders tells chats todo_add todo_done todo_remove todo_change todo_list remember forget "
    "correct recall file web program sum clock know text fact preference decision appointment "
    "promise day_note several refers".split()
)
ANSWER = ("announces", "did", "offers", "asks_back", "refuses", "answers", "smalltalk")
LASTING = ("fact", "preference", "decision", "contact")
STATED = (*LASTING, "appointment", "passing")
SAID = (*STATED, "asks", "orders", "chats", "unsure", "cited", "remark", "hands_over", "complains")
"""The kinds of a sentence, of which one is right."""
SENTENCE = {
    "lasting": LASTING,
    "states": STATED,
    **{kind: (kind,) for kind in (*LASTING, "complains")},
}
"""Labels of a sentence, and the kinds that each stands for."""
TOPIC = tuple("birthday gifts food health family work owed home travel media hobbies".split())
ABOUT = {"personal": TOPIC, **{topic: (topic,) for topic in TOPIC}}
"""Labels of a line of notes, and the topics that each stands for: personal is what tells any."""
FOLDS = 5
DECAY = 1e-5
TYPOS = 0.15
"""Share of the sentences of which a copy with a typo is read too."""
KINDS = frozenset(("asks", "orders", "tells", "chats"))
ORDERED = "todo_add todo_done todo_remove todo_change remember forget correct".split()
ACTS = {
    "asks": frozenset(("asks",)),
    "orders": frozenset(("orders",)),
    "tells": frozenset(("tells",)),
    "chats": frozenset(("chats",)),
    "both": frozenset(("asks", "orders")),
    **{label: frozenset(("orders", label)) for label in ORDERED},
    "todo_list": frozenset(("asks", "todo_list")),
    "recall": frozenset(("asks", "recall")),
    "corrects": frozenset(("tells", "correct")),
}
"""What a message may do, one of which is right, and the labels that it then has."""
WANTS = {
    label: tuple(act for act, told in ACTS.items() if label in told)
    for label in MESSAGE
    if any(label in told for told in ACTS.values())
}
SURE_OF_KIND = 0.95
"""The precision on unseen authors that a kind of message must have to be trusted."""
SURE_OF_ANY = 0.88
"""The same of `asks` and `orders` among all messages. With 0.85 every fifth one that orders nothing
is taken for an order in the languages but English, not every seventh."""
SURE_OF_WANT = {True: 0.95, False: 0.92}
"""The same of both among the messages that do one of them, in English and in the others."""


@dataclass(frozen=True)
class Plan:
    """How a model is trained: its labels; the buckets of its features; the precision on unseen
    authors above which a label is trusted; the rounds through the data and the rate of learning;
    whether pairs of near words are features; where one of several kinds is right, these, and the
    kinds that each of the first labels stands for; the integer up to which a weight is stored; and
    the share of a sentence's features that is left out each time it is read, so that a label does
    not hang on one word (Srivastava et al. 2014).
    """

    labels: Sequence[str]
    buckets: int
    sure: float
    rounds: int = 12
    rate: float = 0.5
    pairs: bool = False
    kinds: Sequence[str] = ()
    stands_for: Mapping[str, Sequence[str]] = field(default_factory=dict, hash=False)
    steps: int = 20
    dropped: float = 0.0

    @property
    def columns(self) -> Sequence[str]:
        """The kinds, and the labels that are columns of their own."""
        return (*self.kinds, *(one for one in self.labels if one not in self.stands_for))

    @property
    def groups(self) -> Sequence[Sequence[int]]:
        return [[self.kinds.index(one) for one in kinds] for kinds in self.stands_for.values()]


PLANS = {
    # One kind of message against another, and pairs of near words: at the same precision 68 % of
    # the messages in English that ask or order are told, not 60 %; with half the buckets 65 %.
    "message": Plan(MESSAGE, 1 << 17, 0.9, 6, 0.2, True, tuple(ACTS), WANTS, 10, 0.3),
    "answer": Plan(ANSWER, 1 << 15, 0.95),
    "language": Plan(tuple(classifier.LANGUAGES), 1 << 12, 0.97),
    # One kind against another finds 60 % of the lasting sentences of unseen authors at a precision
    # of 0.9, lasting against the rest 51 %; with half the buckets it is 56 %. A sentence that is
    # kept has no reader before it is kept, so it must be surer.
    "sentence": Plan(tuple(SENTENCE), 1 << 17, 0.94, 6, 0.2, True, SAID, SENTENCE),
    "source": Plan(("hands_over",), 1 << 17, 0.9, 6, 0.2, pairs=True),
    # A line may be personal and its topic not sure: then the best one does. With the names as they
    # are a topic is found for 40 % of the lines of unseen authors at a precision of 0.85, not 51 %.
    "topic": Plan(tuple(ABOUT), 1 << 16, 0.95, 14, 0.3, False, (*TOPIC, "none"), ABOUT, 4, 0.2),
}
FEWEST = 8
"""A threshold must hold for so many sentences at least."""
PACKINGS = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_HUFFMAN_ONLY)
"""The shorter one is taken: where few weights are 0 Huffman codes alone save 8 to 13 %."""

ALLOWED = {"answers-": ANSWER, "said-": SAID, "topics-": (*TOPIC, "none")}
"""Labels by the beginning of a file's name; all others are of messages."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Example:
    """A sentence with its labels; `known` are the labels that its source tells, None for all."""

    text: str
    labels: frozenset[str]
    author: str
    language: str
    known: frozenset[str] | None = None


def read_authors(names: str, folder: Path = DATA) -> list[Example]:
    """Return the sentences of our own authors: `labels | sentence` below a head that names the
    language and the author. Raises ValueError for a line that cannot be read."""
    found = []
    for path in sorted(folder.glob(names)):
        language = author = ""
        allowed = next((w for start, w in ALLOWED.items() if path.name.startswith(start)), MESSAGE)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if head := re.match(r"# (language|author): *(\w[\w-]*)", line):
                language = head[2] if head[1] == "language" else language
                author = head[2] if head[1] == "author" else author
            elif line.strip() and not line.startswith("#"):
                labels, bar, text = line.partition(" | ")
                told = frozenset(labels.split())
                if not (bar and text.strip() and told and told.issubset(allowed) and author):
                    raise ValueError(f"{path.name}, line {number}: {line}")
                found.append(Example(text.strip(), told, f"{language}-{author}", language))
    return found


ORDER = (
    "_set _remove _createoradd _sendemail _post _order _lightchange _lightdim _lightoff _lighton "
    "_lightup _cleaning _coffee _mute _up _down _on _off _addcontact play_ _taxi _ticket "
    "_settings".split()
)
ASK = "_query _querycontact qa_ recommendation_ _recipe _convert _traffic".split()
SLURP_TOPICS = {"lists_query": "todo_list", "qa_maths": "sum"}


def read_slurp() -> Iterator[Example]:
    """Yield the utterances of SLURP whose intent says that they ask or order."""
    for line in (DATA / "slurp.jsonl").read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        intent, text = told["intent"], told["sentence"]
        asks, orders = (any(part in intent for part in parts) for parts in (ASK, ORDER))
        if asks == orders:
            continue
        topic = SLURP_TOPICS.get(intent)
        labels = frozenset(filter(None, ("asks" if asks else "orders", topic)))
        author = f"slurp{crc(text) % FOLDS}"
        yield Example(text, labels, author, "en", KINDS | {*SLURP_TOPICS.values()})


CLINC = {
    "chats": "greeting goodbye thank_you yes no maybe are_you_a_bot do_you_have_pets "
    "how_old_are_you meaning_of_life what_are_your_hobbies what_is_your_name where_are_you_from "
    "who_made_you",
    "asks": "definition weather time date calculator todo_list shopping_list calendar "
    "exchange_rate traffic recipe translate spelling measurement_conversion timezone "
    "meal_suggestion travel_suggestion flight_status distance directions nutrition_info "
    "ingredients_list cook_time food_last restaurant_reviews next_holiday balance bill_due "
    "user_name plug_type how_busy calories",
    "orders": "todo_list_update shopping_list_update reminder_update alarm timer calendar_update "
    "play_music book_flight book_hotel restaurant_reservation text make_call pay_bill transfer "
    "schedule_meeting cancel_reservation update_playlist change_user_name smart_home order "
    "car_rental pto_request change_volume",
}
CLINC_TOPICS = {
    "calculator": "sum",
    "time": "clock",
    "date": "clock",
    "timezone": "clock",
    "todo_list": "todo_list",
    "shopping_list": "todo_list",
}
CLINC_EACH = 30


def read_clinc() -> Iterator[Example]:
    """Yield utterances of CLINC150 of the intents that say clearly what they want."""
    kinds = {intent: kind for kind, names in CLINC.items() for intent in names.split()}
    for line in (DATA / "clinc150.jsonl").read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        intent, text = told["intent"], told["sentence"]
        labels = frozenset(filter(None, (kinds[intent], CLINC_TOPICS.get(intent))))
        author = f"clinc{crc(text) % FOLDS}"
        yield Example(text, labels, author, "en", KINDS | {*CLINC_TOPICS.values()})


def read_messages() -> list[Example]:
    """Return all messages: of our own authors, and of the published sets."""
    own = (*read_authors("??-*.txt"), *read_authors("acts-*.txt"))
    return [*own, *read_slurp(), *read_clinc()]


def read_sentences() -> list[Example]:
    """Return the sentences that say what of a message is worth keeping, those written for it and
    the messages of our own authors, each with the kinds of which one is right."""
    own = [one for e in read_authors("??-*.txt") if (one := _as_sentence(e))]
    return read_authors("said-*.txt") + own


def _as_sentence(one: Example) -> Example | None:
    """Return a message with the kinds that it may be of as a sentence, None when its labels tell
    too little."""
    told = one.labels
    lasting = told.intersection(LASTING)
    noted = lasting and told & {"remember", "correct"}
    if "orders" in told and (lasting or "remember" in told) and not noted:
        return None
    kinds: Iterable[str]
    if lasting:
        kinds = lasting | {"contact"} if "fact" in told else lasting
    elif "appointment" in told:
        kinds = ("appointment",)
    elif told & {"day_note", "promise"}:
        kinds = ("passing", "appointment")
    elif "tells" in told or not told & KINDS:
        kinds = set(SAID).difference(LASTING)
    else:
        kinds = (told & KINDS) | {"hands_over", "complains"}
    return Example(one.text, frozenset(kinds), one.author, one.language)


def read_topics() -> list[Example]:
    """Return the lines of notes, each name of a person in braces as the model sees it."""
    return [
        replace(one, text=re.sub(r"\{.*?\}", classifier.NAME, one.text).strip())
        for one in read_authors("topics-*.txt")
    ]


def source_of(one: Example) -> str:
    """Return the language of an own sentence, the name of the set of a published one."""
    published = one.author.startswith(("slurp", "clinc"))
    return one.author.rstrip("01234") if published else one.language


def crc(text: str) -> int:
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:8], 16)


def with_copies(examples: Iterable[Example]) -> Iterator[Example]:
    """Yield each sentence, its copy without marks, and for some a copy with a typo."""
    for one in examples:
        yield one
        bare = re.sub(
            r"[?!.,;:\u3002\uff1f\uff01\u3001\uff0c\u00bf\u00a1](?=\s|$)|^[\u00bf\u00a1]",
            "",
            one.text,
        )
        if bare.strip() and bare != one.text:
            yield Example(bare, one.labels, one.author, one.language, one.known)
        drawn = random.Random(one.text)
        if drawn.random() < TYPOS and len(one.text) > 8:
            at = drawn.randrange(1, len(one.text) - 2)
            swapped = one.text[:at] + one.text[at + 1] + one.text[at] + one.text[at + 2 :]
            yield Example(swapped, one.labels, one.author, one.language, one.known)


class Trained:
    """Weights (float64[buckets, columns]) and bias of one model."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.columns = plan, plan.columns
        self.weights: Floats = np.zeros((plan.buckets, len(self.columns)))
        self.bias: Floats = np.zeros(len(self.columns))

    def fit(self, examples: Sequence[Example]) -> None:
        rows = [(_vector(e.text, self.plan), *self._targets(e)) for e in with_copies(examples)]
        steps = np.full_like(self.weights, 1e-2)
        bias_steps = np.full_like(self.bias, 1.0)
        total = np.zeros_like(self.weights)
        drawn, rounds = random.Random(17), self.plan.rounds
        left_out = np.random.Generator(np.random.PCG64(17))
        for number in range(rounds):
            drawn.shuffle(rows)
            for (at, values), target, known in rows:
                if self.plan.dropped:
                    kept = left_out.random(len(at)) >= self.plan.dropped
                    at, values = at[kept], values[kept]
                told = self.weights[at]
                scores = ((told * values).sum(axis=0) + self.bias).tolist()
                wrong = _wrong(scores, target, len(self.plan.kinds)) * known
                slope = values * wrong + DECAY * told
                grown = steps[at] + slope * slope
                steps[at] = grown
                self.weights[at] = told - self.plan.rate * slope / np.sqrt(grown)
                bias_steps += wrong * wrong
                self.bias -= 0.1 * wrong / np.sqrt(bias_steps)
            if number >= rounds // 2:
                total += self.weights
        self.weights = total / (rounds - rounds // 2)

    def _targets(self, one: Example) -> tuple[Floats, Floats]:
        told, kinds = one.labels, self.plan.kinds
        if self.plan.stands_for is WANTS:
            told = told.difference(WANTS) | acts_of(one)
        target = np.array([float(label in told) for label in self.columns])
        known = [one.known is None or label in (*one.known, *kinds) for label in self.columns]
        return target, np.array(known, np.float64)

    def scores(self, text: str) -> list[float]:
        """Return the score of each label."""
        at, values = _vector(text, self.plan)
        scores: Floats = (self.weights[at] * values).sum(axis=0) + self.bias
        return classifier.group_scores(scores.tolist(), self.plan.groups, len(self.plan.labels))


def acts_of(one: Example) -> frozenset[str]:
    """Return what a message may do by its labels, of which the others may not be known."""
    if one.known is not None:
        known = one.known.intersection(WANTS)
        return frozenset(a for a, told in ACTS.items() if told & known == one.labels & known)
    if one.labels >= ACTS["both"]:
        return frozenset(("both",))
    fitting = [act for act, told in ACTS.items() if told <= one.labels]
    most = max(len(ACTS[act]) for act in fitting)
    return frozenset(act for act in fitting if len(ACTS[act]) == most)


def _wrong(scores: Sequence[float], target: Floats, kinds: int) -> Floats:
    """Return how far the probability of each column is off, when of the first `kinds` one of those
    in `target` is right."""
    # math.exp, not numpy's: numpy picks another by the processor.
    wrong: Floats = np.array([*map(classifier.probability, scores)]) - target
    if kinds and (inside := target[:kinds]).any():
        told = np.array(classifier.softmax(scores[:kinds]))
        right = told * inside
        wrong[:kinds] = told - right / right.sum()
    return wrong


@cache
def _vector(text: str, plan: Plan) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the buckets of a text's features and their values, float64[features, 1]."""
    words, letters = classifier.features(text, plan.buckets, pairs=plan.pairs)
    values: dict[int, float] = {}
    for group, share in zip((words, letters), classifier.SHARES, strict=True):
        for at in group:
            values[at] = values.get(at, 0.0) + share / (len(group) or 1) ** 0.5
    return np.array([*values], np.int64), np.array([*values.values()])[:, None]


Scored = tuple[float, bool, Example]
"""The score or probability of a label, whether it is right, and of what."""


@dataclass
class Figures:
    """A label on unseen authors: the slope and offset of its calibration, its threshold, and the
    probability and truth of each sentence."""

    slope: float = 1.0
    offset: float = 0.0
    threshold: float = 2.0
    pairs: list[Scored] = field(default_factory=list)


def cross_validate(plan: Plan, examples: Sequence[Example]) -> Mapping[str, Figures]:
    """Return each label's figures from `FOLDS` trainings, split by author."""
    fold = split_folds(plan, examples)
    rows: dict[str, list[Scored]] = {label: [] for label in plan.labels}
    for number in range(FOLDS):
        model = Trained(plan)
        model.fit([one for one in examples if fold[one.author] != number])
        for one in examples:
            if fold[one.author] == number:
                for label, score in zip(plan.labels, model.scores(one.text), strict=True):
                    if (true := _truth(plan, label, one)) is not None:
                        rows[label].append((score, true, one))
    found = {}
    for label, held in rows.items():
        slope, offset = _calibrate(held)
        pairs = [(classifier.probability(slope * s + offset), t, o) for s, t, o in held]
        found[label] = Figures(slope, offset, _find_threshold(label, plan.sure, pairs), pairs)
    return found


def _find_threshold(label: str, sure: float, pairs: Sequence[Scored]) -> float:
    """Return the probability from which a label is trusted on all sentences and on our own."""
    own = [pair for pair in pairs if source_of(pair[2]) in classifier.LANGUAGES]
    if label not in ("asks", "orders"):
        least = max(sure, SURE_OF_KIND) if label in KINDS else sure
        return max(_threshold(pairs, least), _threshold(own, least))
    wanting = [pair for pair in own if pair[2].labels & {"asks", "orders"}]
    return max(
        _threshold(pairs, SURE_OF_ANY),
        _threshold(own, SURE_OF_ANY),
        *(
            _threshold([each for each in wanting if (each[2].language == "en") is english], least)
            for english, least in SURE_OF_WANT.items()
        ),
    )


def _truth(plan: Plan, label: str, one: Example) -> bool | None:
    """Return whether an example has a label, None when its source does not tell."""
    if plan.stands_for not in (SENTENCE, ABOUT):
        return label in one.labels if one.known is None or label in one.known else None
    inside = one.labels.intersection(plan.stands_for[label])
    return None if inside and inside != one.labels else bool(inside)


def split_folds(plan: Plan, examples: Iterable[Example]) -> Mapping[str, int]:
    """Return the fold of each author; those of one language are in different ones. Who writes
    messages in several languages is in one fold, as his lines say much the same in each; of the
    other sentences there are too few authors for it."""
    once = plan.stands_for is WANTS
    languages: dict[str, set[str]] = {}
    authors: dict[str, list[str]] = {}
    for one in sorted(examples, key=lambda each: each.author):
        name = one.author.removeprefix(f"{one.language}-")
        languages.setdefault(name, set()).add(one.language)
        known = authors.setdefault(one.language, [])
        known += [] if one.author in known else [one.author]
    shared = [name for name, told in languages.items() if once and len(told) > 1]
    folds: dict[str, int] = {}
    for language, known in authors.items():
        alone = [each for each in known if each.removeprefix(f"{language}-") not in shared]
        folds |= {author: (at + crc(language)) % FOLDS for at, author in enumerate(alone)}
        folds |= {f"{language}-{name}": at % FOLDS for at, name in enumerate(shared)}
    return folds


def _calibrate(rows: Sequence[Scored]) -> tuple[float, float]:
    """Return slope and offset of the logistic curve from scores to probabilities, by Newton's
    method."""
    slope, offset = 1.0, 0.0
    for _ in range(30):
        g0 = g1 = h00 = h01 = h11 = 0.0
        for score, true, _ in rows:
            p = classifier.probability(slope * score + offset)
            e, w = p - true, max(p * (1 - p), 1e-9)
            g0, g1 = g0 + e * score, g1 + e
            h00, h01, h11 = h00 + w * score * score, h01 + w * score, h11 + w
        det = h00 * h11 - h01 * h01
        if det <= 1e-9:
            break
        slope -= (h11 * g0 - h01 * g1) / det
        offset -= (h00 * g1 - h01 * g0) / det
        slope = max(0.05, min(slope, 20.0))
    return slope, offset


def _threshold(pairs: Sequence[Scored], sure: float) -> float:
    """Return the lowest probability, at least 0.5, above which `sure` of the sentences are right;
    2 when there is none."""
    best, right = 2.0, 0
    for count, (p, true, _) in enumerate(sorted(pairs, key=lambda each: -each[0]), 1):
        right += true
        if p < 0.5:
            break
        if count >= FEWEST and right >= sure * count:
            best = p
    return best


def print_figures(name: str, figures: Mapping[str, Figures]) -> None:
    print(f"\n{name}: on authors not seen; P precision, R recall of what is trusted\n")
    print(f"{'label':13} {'n':>5} {'thresh':>6} {'P':>5} {'R':>5}   {'R by source'}")
    for label, told in figures.items():
        said = [true for p, true, _ in told.pairs if p >= told.threshold]
        sources = sorted({source_of(one) for *_, one in told.pairs})
        by = " ".join(f"{source} {_recall(told, source)}" for source in sources)
        print(
            f"{label:13} {sum(true for _, true, _ in told.pairs):>5} {told.threshold:>6.2f}"
            f" {_share(said):>5} {_recall(told):>5}   {by}"
        )


def _recall(told: Figures, source: str = "") -> str:
    """Return the share of the label's sentences (of one source) in which it is trusted."""
    held = [p for p, true, of in told.pairs if true and source in ("", source_of(of))]
    return _share([p >= told.threshold for p in held])


def _share(right: Sequence[bool]) -> str:
    return f"{sum(right) / len(right):.2f}" if right else "-"


def data_hash() -> str:
    """Return the SHA-256 of the data, of this file, and of the features of some sentences."""
    made = hashlib.sha256()
    for path in (*sorted(DATA.iterdir()), Path(__file__)):
        made.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    for one in read_messages()[::20]:
        made.update(repr(classifier.features(one.text, 1 << 15, pairs=True)).encode())
    return made.hexdigest()


def read_examples() -> Mapping[str, Sequence[Example]]:
    """Return what each model is trained on."""
    messages, answers = read_messages(), read_authors("answers-*.txt")
    own = [one for one in (*messages, *answers) if one.known is None]
    return {
        "message": messages,
        "answer": answers,
        "language": [Example(e.text, frozenset((e.language,)), e.author, e.language) for e in own],
        "sentence": read_sentences(),
        "source": read_authors("said-*.txt"),
        "topic": read_topics(),
    }


def train() -> None:
    models, blocks = {}, b""
    for name, examples in read_examples().items():
        plan = PLANS[name]
        figures = cross_validate(plan, examples)
        print_figures(name, figures)
        model = Trained(plan)
        model.fit(examples)
        rows, scale = _quantize(model.weights, plan.steps)
        packers = [zlib.compressobj(9, strategy=each) for each in PACKINGS]
        block = min((one.compress(rows.tobytes()) + one.flush() for one in packers), key=len)
        models[name] = {
            "labels": plan.labels,
            "groups": plan.groups,
            "buckets": plan.buckets,
            "pairs": plan.pairs,
            "bias": [round(each, 5) for each in model.bias.tolist()],
            "scale": [float(f"{each:.6g}") for each in scale.tolist()],
            "calibration": [(round(f.slope, 5), round(f.offset, 5)) for f in figures.values()],
            "thresholds": {label: round(f.threshold, 4) for label, f in figures.items()},
            "block": (len(blocks), len(blocks) + len(block)),
        }
        blocks += block
    head = json.dumps({"data": data_hash(), "models": models}).encode()
    classifier.FILE.write_bytes(head + b"\n" + blocks)
    print(f"\n{classifier.FILE.name}: {classifier.FILE.stat().st_size:,} bytes")


def _quantize(weights: Floats, steps: int) -> tuple[npt.NDArray[np.int8], Floats]:
    """Return weights as small integers, so few that they compress well, and the scale of each
    column."""
    scale = np.maximum(np.abs(weights).max(axis=0), 1e-9) / steps
    return np.rint(weights / scale).astype(np.int8), scale


def check() -> str:
    """Return what is wrong with the file, "" when it belongs to the data."""
    try:
        head = json.loads(classifier.FILE.read_bytes().partition(b"\n")[0])
    except OSError:
        return f"there is no {classifier.FILE.name}"
    return "" if head["data"] == data_hash() else f"{classifier.FILE.name} is of other data"


if __name__ == "__main__":
    if "--check" in sys.argv:
        if wrong := check():
            sys.exit(f"{wrong}: run python -m training.train")
    else:
        train()
