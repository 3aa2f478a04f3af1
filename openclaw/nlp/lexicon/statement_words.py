"""Patterns that tell what a sentence does: English, German, and simple cues of French, Spanish,
Italian and Dutch. Each is matched against one sentence of bounded length."""

from __future__ import annotations

import re


def _any(words: str) -> str:
    return "|".join(words.split())


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


LEAD_IN = re.compile(
    r"(?:(?:hi|hello|hey|ok(?:ay)?|thanks|thank you|yes|yeah|yep|sure|well|so|and|also|but|oh|ah|"
    r"right|great|perfect|cool|nice|good|by the way|btw|fyi|ps|p\.s\.|please|now|then|next|first|"
    r"finally|just|hallo|ja|bitte|danke|also|übrigens|und|aber|dann|jetzt|oui|merci|et|alors|sí|"
    r"gracias|y|pues|sì|grazie|e|openclaw|claw)\b(?!['\u2019])[\s,.!:\u2013\u2014-]*+)+",
    re.IGNORECASE,
)
REMEMBER = re.compile(
    r"(?:(?:please|can you|could you|kannst du|bitte|and|also)[ ,]+)*"
    r"(?:remember|keep in mind|bear in mind|don['\u2019]?t forget|do not forget|note(?= that\b|:)|"
    r"make a note|take note|for the record|for your information|fyi|just so you know|"
    r"you should know|merk(?:e)? dir|denk(?:e)? daran|vergiss nicht|notiere(?: dir)?|zur info|"
    r"retiens|n['\u2019]oublie pas|note bien|recuerda|no olvides|ten en cuenta|ricorda(?:ti)?|"
    r"onthoud)"
    r"\b[ ,:]*(?:that|this|dass|que|che|dat)?[ ,:]*",
    re.IGNORECASE,
)
TO_DO = re.compile(r"(?:to|zu|when|how|de|di|a)\b", re.IGNORECASE)
"""After "remember": a task, not a fact."""

QUESTION = re.compile(
    r"(?:who|whom|whose|what|which|when|where|why|how|is|are|am|was|were|do|does|did|has|have|had|"
    r"can|could|would|will|should|shall|may|isn['\u2019]t|aren['\u2019]t|doesn['\u2019]t|"
    r"wer|wen|wem|was|wann|wo|wohin|warum|wieso|wie|welche\w*|wieviel\w*|kannst|könntest|"
    r"würdest|hast|bist|ist|sind|gibt|qui|quand|quel\w*|combien|comment|pourquoi|où|est-ce|"
    r"qu['\u2019]est|peux|pourrais|qué|quién|cuá\w+|dónde|cómo|cuánto\w*|"
    r"puedes|podrías|chi|quando|dove|quale|quanto|puoi|potresti|perché|wat|waar|wanneer|"
    r"hoe|waarom|kun|kan)\b",
    re.IGNORECASE,
)
STANDING = re.compile(
    r"\b(?:from now on|(?:do not|don['\u2019]t) ever|as of (?:now|today)|going forward|"
    r"in (?:the )?future|always|never|by default|every time|whenever|no longer|your (?:answers|"
    r"replies|responses|messages)|at all times|as a rule|ab (?:jetzt|sofort|heute)|von nun an|"
    r"künftig|in zukunft|immer|niemals|nie|grundsätzlich|(?:à partir de|dès) maintenant|désormais|"
    r"dorénavant|toujours|jamais|(?:de|desde) ahora|a partir de ahora|siempre|nunca|"
    r"d['\u2019]ora in poi|sempre|mai più|"
    r"vanaf nu|altijd|nooit)\b",
    re.IGNORECASE,
)
FORBIDS = re.compile(
    r"(?:do not|don['\u2019]?t|never|stop \w+ing|avoid|no more|"
    r"ne \w+ (?:pas|jamais)|no \w+es|nunca|non \w+re|nie|niemals)\b(?! (?:worry|forget|mind|"
    r"you)\b)",
    re.IGNORECASE,
)
CALL_ME = re.compile(
    r"(?:call me|nenn(?:e)? mich|appelle[- ]moi|llámame|chiamami|noem me|address me as)\b",
    re.I,
)
DECISION = re.compile(
    r"\b(?:(?:i|we|i['\u2019]ve|we['\u2019]ve|team|board|they|everyone) (?:have |has |just |all |"
    r"finally |now )*(?:decided|agreed|chose|chosen|settled|picked|opted|switched|moved|migrated|"
    r"renamed|standardi[sz]ed|cancel+ed|postponed|approved|signed|hired|ordered|booked)|"
    r"decision is|(?:i['\u2019]m|we['\u2019]re|i am|we are) (?:going with|sticking (?:with|to)|"
    r"switching to|moving to|dropping)|going with|settled on|(?:we|i) (?:will|['\u2019]ll) (?:use|"
    r"go with|stick|keep|host|meet|call|name|drop|skip)|(?:we|i)['\u2019]ll (?:use|go with|stick|"
    r"keep|host|meet|call|name|drop|skip)|entschieden|beschlossen|vereinbart|abgemacht|geeinigt|"
    r"wir nehmen|ich nehme|wir nutzen|(?:on a|nous avons|j['\u2019]ai) (?:décidé|choisi|convenu)|"
    r"hemos (?:decidido|acordado|elegido)|"
    r"decidimos|acordamos|abbiamo (?:deciso|scelto)|we hebben (?:besloten|afgesproken))\b",
    re.IGNORECASE,
)
LETS = re.compile(
    r"(?:let['\u2019]s|let us|lass uns) (?:just )?(?:not |stick |go (?:with|for)|use|keep|call|"
    r"name|meet|drop|host|settle|aim|choose|pick|take (?!an?\b|another\b|it\b|one\b)|nehmen)",
    re.IGNORECASE,
)
CORRECTION = re.compile(
    r"(?:no|nope|actually|correction|sorry|wait|oops|nein|doch|eigentlich|stimmt nicht|moment|non|"
    r"en fait|en realidad|perdón|in realtà|nee)\b[,.!: \u2013\u2014-]+(?=\S+ \S)|"
    r".{0,80}\b(?:i meant?|not \S+(?: \S+)? but|\S+,? (?:and )?not (?:\w+ ){0,2}\w+(?=[.!]?$)|"
    r"rather than|instead of|nicht \S+,? sondern|statt|"
    r"gemeint war|au lieu de|en lugar de|invece di)\b",
    re.IGNORECASE,
)
FINITE = re.compile(
    r"\b(?:am|is|isn['\u2019]t|are|aren['\u2019]t|was|were|has|have|had|will|won['\u2019]t|must|"
    r"may|can|cannot|can['\u2019]t|should|shall|does|doesn['\u2019]t|don['\u2019]t|do|go|goes|got|"
    r"cost|meant|takes?|needs?|wants?|uses?|lives?|works?|leads?|runs?|owns?|manages?|handles?|"
    r"likes?|loves?|hates?|prefers?|speaks?|starts?|begins?|ends?|opens?|closes?|leaves?|arrives?|"
    r"moves?|moved|means?|belongs?|contains?|costs|weighs?|measures?|listens?|points?|stands?|"
    r"sits?|pays?|earns?|drives?|rides?|teaches|teach|stud(?:y|ies)|plays?|keeps?|holds?|knows?|"
    r"eats?|drinks?|drink|eat|reports?|expires?|happens?|comes?|stays?|meets?|calls?|called|named|"
    r"lies|sells?|makes?|writes?|wears?|sleeps?|swims?|grows?|fits?|requires?|supports?|stores?|"
    r"sends?|gets?|said|says|bought|born|became|began|changed|replaced|died|married|signed|hired|"
    r"chose|paid|built|planted|won|lost|went|made|wrote|met|took|gave|kept|left|found|joined|"
    r"turned|ist|sind|war|waren|bin|hat|habe|haben|hatte|wird|werden|wurde|muss|müssen|darf|soll|"
    r"sollen|kann|heißt|heiße|heißen|wohnt|wohne|wohnen|lebt|lebe|leben|arbeitet|arbeite|arbeiten|"
    r"leitet|kostet|kosten|beginnt|endet|läuft|laufen|liegt|liegen|steht|gehört|braucht|brauche|"
    r"nutzt|nutze|nutzen|verwendet|verwende|verwenden|benutzt|benutze|mag|mögen|liebe|liebt|hasse|"
    r"bevorzuge|bevorzugt|trinke|trinkt|esse|isst|spreche|spricht|fahre|fährt|gibt|kommt|komme|"
    r"geht|bleibt|dauert|öffnet|schließt|spielt|spiele|studiert|studiere|zieht|bekommt|est|sont|"
    r"suis|sommes|a|ai|ont|avons|s['\u2019]appelle|m['\u2019]appelle|habite|habitons|travaille|"
    r"coûte|commence|aime|préfère|déteste|utilise|utilisons|dirige|es|son|soy|somos|está|están|"
    r"tiene|tengo|tenemos|llama|llamo|vive|vivo|vivimos|trabaja|trabajo|cuesta|empieza|prefiero|"
    r"prefiere|gusta|odio|usamos|uso|è|sono|siamo|ha|ho|abbiamo|chiama|chiamo|abita|abito|vivo|"
    r"lavora|lavoro|costa|inizia|preferisco|piace|usiamo|heet|woont|woon|werkt|werk|kost|begint|"
    r"houd|gebruiken|heeft|hebben)\b"
    r"|\b(?:I|we|he|she|it|they|you|there|that|who|this|what)['\u2019](?:m|s|re|ve|d|ll)\b",
    re.IGNORECASE,
)
PERSONAL = re.compile(
    r"\b(?:i|i['\u2019](?:m|ve|ll|d)|we|we['\u2019](?:re|ve|ll|d)|my|our|mine|ours|me|us|ich|wir|"
    r"mein\w*|unser\w*|mich|mir|uns|je|j['\u2019]\w+|nous|mon|ma|mes|notre|nos|yo|mi|mis|me|"
    r"nosotros|nuestr\w+|io|mio|mia|miei|mie|noi|nostr\w+|mi|ik|mijn|wij|onze|ons|soy|tengo|vivo|"
    r"trabajo|prefiero|llamo|"
    r"uso|usamos|sono|ho|abito|lavoro|preferisco|abbiamo)\b",
    re.IGNORECASE,
)
DEFINITE = re.compile(
    r"(?:the|this|these|that|those|there|it|each|every|all|both|she|he|they|der|die|das|dieser?|"
    r"diese|"
    r"jede\w*|sie|er|le|la|les|l['\u2019]\w+|cette|ce|elle|il|el|los|las|este|esta|ella|lo|gli|i|"
    r"questo|questa|"
    r"lei|lui|de|het)\b",
    re.IGNORECASE,
)
PASSING = re.compile(
    r"(?:i|we|ich|wir|je|yo|io) (?:\w+ )?(?:think|guess|wonder|hope|see|know|mean|understand|agree|"
    r"believe|feel|forgot|asked|said|told|tried|wish|suppose|assume|notice|thought|wondered|"
    r"love (?:it|that|this)|like (?:it|that|this)|denke|glaube|hoffe|frage|weiß|meine|verstehe|"
    r"crois|pense|creo|pienso|credo|penso)\b|i (?:would|'d|\u2019d) |i['\u2019]d (?!rather|"
    r"prefer)|ich (?:hätte|"
    r"möchte|würde|will|brauche) |je (?:voudrais|veux) |quiero |necesito |quisiera |vorrei |"
    r"voglio |i (?:want|need|require)\b|we (?:want|need)\b|(?:i|we) (?:do not|don['\u2019]t|"
    r"did not|didn['\u2019]t|can['\u2019]t|cannot|couldn['\u2019]t) (?:know|understand|think|care|"
    r"see|get|remember|find|open|believe|mind|have time|want)\b|(?:i['\u2019]m|i am|we['\u2019]re|"
    r"we are|ich bin) (?:just |still |now |so |very |really |a bit |a little |also |not |too |"
    r"gerade |etwas |sehr |noch )*(?:sure|curious|wondering|confused|looking|going(?! with)|trying|"
    r"back|done|ready|here|sorry|happy|glad|afraid|tired|hungry|bored|stuck|lost|thinking|asking|"
    r"interested|excited|working on|writing|reading|testing|about to|planning to|going to (?:bed|"
    r"check|look|try)|müde|fertig|da|zurück|bereit|sicher|hungrig)\b|(?:i['\u2019]ll|i will|"
    r"we['\u2019]ll|let me) (?:check|see|try|think|look|do|talk|discuss|continue|be (?:back|right|"
    r"there|done|happy|glad)|let you|take|wait|come|get back|tell|test|read|give it)\b|"
    r"i was (?:just |only )?(?:wondering|curious|thinking|asking|kidding|joking)|(?:i|"
    r"we) have (?:to\b|(?:\w+ ){0,3}(?:idea|problem|issue|question|doubt|clue|choice|option|"
    r"request|favou?r|feeling|time)s?\b)|(?:i|we) (?:should|could|might|can(?!['\u2019]t stand))\b|"
    r"(?:we['\u2019]re|we are) (?:almost|nearly|there)\b|i['\u2019]ve no\b|my (?:question|guess|"
    r"point|code|head|problem|idea|turn|mistake|bad|fault|impression|hunch|"
    r"thought)\b|(?:i|we) (?:[\w'\u2019]+ ){1,3}(?:it|this|that|these|those|how|the way)\b|"
    r"ich habe (?:\w+ ){0,2}(?:frage|problem|idee|bitte|zeit)\b|j['\u2019]ai une? (?:question|"
    r"problème|idée)|tengo una? (?:pregunta|duda|problema|idea)|ho una? (?:domanda|problema|dubbio|"
    r"idea)|(?:it|this|that|these|they|you|he|she|das|es|du|ça|cela|tu|eso|esto|"
    r"questo) (?:\w+ ){0,2}(?:always|never|immer|nie|toujours|jamais|siempre|nunca|sempre|mai)\b|"
    r".{0,140}\b(?:nothing (?:helps|changes|happens|works)|get an error|doesn['\u2019]t (?:work|"
    r"compile|help)|lol|haha)\b|i['\u2019]ve (?:been (?:thinking|wondering)|got (?:a|"
    r"another) question|(?:just )?(?:read|seen|looked|tried|tested))|you(?:['\u2019]re| are| were|"
    r" did| made| forgot| missed| can| have|['\u2019]ve| got| said| know)\b|du (?:bist|hast|kannst|"
    r"warst)\b|there(?: is|['\u2019]s| are| was| were) (?:no|nothing|something|an? error|a problem)"
    r"|(?:haha|lol|wow|hmm+)\b",
    re.IGNORECASE,
)
JUDGED = re.compile(
    r"(?:\S+ ){1,8}(?:is|are|was|were|looks?|sounds?|seems?|works?|feels?|['\u2019]s|ist|sind|war|"
    r"sieht|klingt|est|sont|es|son|è) (?:\S+ ){0,3}(?:nice|good|great|bad|wrong|fine|ok|okay|cool|"
    r"awesome|weird|perfect|better|correct|right|funny|beautiful|terrible|interesting|helpful|"
    r"clear|lovely|amazing|odd|strange|useful|useless|enough|too \w+|excellent|ugly|boring|fun|"
    r"hard|easy|difficult|hilarious|annoying|done|ready|broken|it|all|everything|well|gut|schlecht|"
    r"falsch|richtig|toll|super|schön|prima|lustig|bon|bien|faux|mauvais|bueno|mal|bonito|perfecto|"
    r"bello|buono|sbagliato|parfait)(?: now| again| so far| to me| then| for me)?(?:\W*$|,)|"
    r"(?:that|this|it|das|es|ça|c['\u2019]est|eso|esto)\b(?:['\u2019]s| \w+){0,3} (?:helps?|helped|"
    r"works?|worked|did(?:n['\u2019]t)?|doesn['\u2019]t|makes sense|sounds|looks|means)\b|(?:that|"
    r"this|it|das|es|ça|eso|esto|questo)(?:['\u2019]s| is| was| ist| war| es| est| è)\b|"
    r"c['\u2019]est\b"
    r"|the (?:weather|sun|rain|sky)\b",
    re.IGNORECASE,
)
SUPPOSED = re.compile(
    r"(?:if|suppose|supposing|imagine|assume|assuming|say|pretend|let['\u2019]s (?:say|pretend|"
    r"assume)|unless|what if|for (?:example|instance)|e\.g\.|wenn|falls|angenommen|stell dir vor|"
    r"zum beispiel|z\.b\.|si|imagine[sz]?|supposons|par exemple|imagina|supongamos|por ejemplo|se|"
    r"immagina|per esempio|"
    r"stel|als)\b",
    re.IGNORECASE,
)
REWORKS = re.compile(
    r"\W*(?:(?:please|can you|could you|would you|bitte|kannst du)\W+)*(?:help me )?(?:translate|"
    r"rewrite|rephrase|paraphrase|proofread|correct|edit|polish|shorten|summari[sz]e|sum up|"
    r"improve|spell-?check|fix (?:the|my|this)|analy[sz]e|classify|parse|format|explain|convert|"
    r"review|write|draft|compose|complete|continue|finish|übersetze?|korrigiere?|verbessere?|"
    r"fasse?|kürze|schreibe?|formuliere?|traduis|corrige|résume|rédige|écris|traduce|resume|"
    r"escribe|traduci|"
    r"correggi|riassumi|scrivi|vertaal)\b",
    re.IGNORECASE,
)
REPORTED = re.compile(
    r"\b(?:says?|saying|said|claims?|reads|titled|called|that|with the text|telling|dass|sagt|"
    r"disant|"
    r"diciendo|dicendo)\b[: ]",
    re.IGNORECASE,
)
KEY_VALUE = re.compile(r"(?=\S)([^\W\d_][\w /'\u2019.-]{1,38}?) ?(?::|=) ?(?=\S)(.{1,120})")
ORDERS = _set(
    "add append put write create make change set delete remove save store edit replace rename mark"
    " tick fix correct update move insert copy extract convert sort show tell give list find read"
    " explain look check compare search summarize summarise translate rewrite rephrase proofread"
    " draft compose send email mail call ask buy book order schedule plan remind cancel merge"
    " calculate compute count print answer continue repeat try test run start stop open close help"
    " pick choose suggest recommend describe review generate build install download upload fetch"
    " use go do get keep take see say come turn drop skip undo redo revert clean organize organise"
    " name guess think let bring cut paste split join combine round draw play sing prepare clear"
    " tidy shorten expand improve refactor format highlight quote define outline brainstorm finish"
    " complete wait hold pause undo export import archive attach reply forward ignore enter cross"
    " push pull commit include exclude group rank rate note pay track look water feed"
    " schreib schreibe zeig zeige such suche mach mache füg füge lies sag sage gib öffne"
    " erstelle erstell lösch lösche nenn nenne erklär erkläre fass fasse übersetz"
    " übersetze rechne setz setze trag trage leg lege ruf rufe erinnere erinner finde find"
    " prüf prüfe vergleich vergleiche hilf liste schick schicke plane buche kauf kaufe"
    " streich streiche entferne benenne speichere speicher korrigiere sortiere ersetze hol hole"
    " ändere änder pack packe stell stelle beantworte antworte"
    " ajoute écris montre dis donne lis cherche trouve explique crée supprime change mets"
    " ouvre calcule traduis résume envoie rappelle liste corrige"
    " añade agrega escribe muestra di dime dame lee busca encuentra explica crea borra elimina"
    " cambia pon abre calcula traduce resume envía recuérdame corrige haz"
    " aggiungi scrivi mostra dimmi dammi leggi cerca trova spiega crea cancella elimina cambia"
    " metti"
    " apri calcola traduci riassumi invia ricordami fai"
    " voeg schrijf toon zeg geef lees zoek vind maak verwijder verander zet"
)
BEGS = re.compile(
    r"(?:can|could|would|will) (?:you|we|i)\b|(?:kannst|könntest|würdest) du\b|peux-tu|pourrais-tu|"
    r"puedes|podrías|puoi|potresti|kun je|i(?:['\u2019]d| would)? (?:like|love|want|need) you to\b|"
    r"i want to\b|i['\u2019]d like\b|i would like\b|i need (?:a|an|to|some|the|help)\b|"
    r"let['\u2019]s\b|let us\b|let me\b|lass uns\b|how about\b|what about\b|time to\b|back to\b|"
    r"ich (?:möchte|will|brauche)\b|"
    r"je (?:voudrais|veux)\b|quiero\b|vorrei\b",
    re.IGNORECASE,
)
