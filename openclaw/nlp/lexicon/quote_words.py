"""Patterns of text that a message only cites, makes up or hands over, and of what no memory should
hold. Each is matched against a sentence or a paragraph; every repetition is bounded."""

from __future__ import annotations

import re

_I = re.IGNORECASE

NAMELESS = re.compile(r"(?:and |but )?(?:he|she|they|er|sie|il|elle|ils|elles|él|ella|ellos)\b", _I)
"""The sentence begins with a pronoun for somebody it does not name."""
REPORTED = re.compile(
    r"(?:(?:and|but|so|well|then) )?(?:he|she|they|someone|somebody|people|everyone|er|sie|man|il|"
    r"elle|on|ils|él|ella|ellos|"
    r"(?-i:[A-ZÀ-Þ])[\w'\u2019-]{1,30}(?: (?-i:[A-ZÀ-Þ])[\w'\u2019-]{1,30})?|"
    r"(?:my|our|the|a|an|his|her|their|one|mein\w*|unser\w*|der|die|das|mon|ma|notre|le|la|mi|el) "
    r"[\w'\u2019 -]{2,40}?) (?:just |also |always |once |apparently |hat (?:mir )?(?:gesagt|"
    r"geschrieben)|a )?(?:said|says|told|tells|claims?|claimed|thinks?|thought|wrote|writes|"
    r"mention(?:s|ed)|asked|asks|believes?|reckons?|insists?|insisted|complain(?:s|ed)|announced|"
    r"replied|answered|suggests?|suggested|wants me|meint|meinte|sagt|sagte|schrieb|schreibt|"
    r"behauptet|findet|glaubt|dit|disait|écrit|pense|prétend|dice|dijo|piensa|escribi[óo]|cree|"
    r"afirma)\b",
    _I,
)
WORDED = re.compile(
    r"\b(?:says?|saying|reads?|reading|titled|with the (?:words?|text|line|sentence|title)|sagt|"
    r"steht|"
    r"disant|dit|diciendo|dice|diga)\b",
    _I,
)
"""An order with one of these gives words to write."""
DOUBTS = re.compile(
    r"(?:(?:well|hm+|but|and|so)[, ]+)?(?:i (?:guess|think|suppose|wonder|hope|wish|assume|"
    r"feel like|had a "
    r"(?:\w+ )?dream|dreamt|dreamed|was wondering|could|might)|maybe|perhaps|possibly|would|"
    r"ich glaube|"
    r"ich denke|vielleicht|je crois|je pense|peut-être|creo que|quizás?|tal vez)\b",
    _I,
)
LONG_QUOTE = re.compile(
    r"\"[^\"]{12,1500}\"|\u201c[^\u201d]{12,1500}\u201d|"
    r"\u201e[^\u201c\u201d]{12,1500}[\u201c\u201d]"
    r"|\u00ab[^\u00bb]{12,1500}\u00bb|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){12,600}'(?!\w)"
)
SHORT_QUOTE = re.compile(
    r"(?<!\w)['\"\u2018\u201c\u201e\u00ab][^'\"\u2019\u201c\u201d\u00bb\n]{1,40}"
    r"['\"\u2019\u201c\u201d\u00bb](?!\w)"
)
SPEAKER = re.compile(
    r"(?:\[?\d{1,2}:\d{2}(?::\d{2})?\]?,? ?)?(?:[*_]{0,2})(?P<who>[^\W\d_][\w .'\u2019-]{0,24}?)"
    r"(?:[*_]{0,2}) ?(?:\(\d{1,2}:\d{2}\) ?)?: (?=\S)"
)
SECRET_WORD = re.compile(
    r"\b(?:pass(?:word|code|phrase|wort)|pin(?: code| number|-?nummer)?|alarm code|door code|"
    r"security code|cvv|cvc|seed phrase|api key|kennwort|geheimzahl|mot de passe|code secret|"
    r"contraseña|clave secreta)\b"
    r"(?=.{0,30}[\d=:]|\W{0,3}(?:is|ist|lautet|est|es)\b)|\bcode\b(?=.{0,12}\d{3})"
    r"|\b(?:social security|sozialversicherung\w*|s\u00e9curit\u00e9 sociale|seguridad social|"
    r"national insurance|ssn|iban|bank (?:details|account)|account (?:number|no)|routing number|"
    r"sort code|(?:credit|debit|bank) card|card number|kontonummer|bankverbindung|kreditkarte\w*|"
    r"passport (?:number|no)|reisepassnummer)\b(?=.{0,40}\d{2})"
    r"|(?-i:\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7} ?[A-Z0-9]{3,4}\b)"
    r"|(?<![\d-])\d{3}-\d{2}-\d{4}(?![\d-])|\b(?:\d{4}[ -]?){3}\d{1,4}\b",
    _I,
)
"""Codes, cards, accounts and official papers, by their words and forms."""
ORDER_TO_AN_AGENT = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,30}\b(?:previous|prior|above|earlier|preceding|"
    r"system|safety|all|your)\b.{0,30}\b(?:instructions?|prompts?|rules?|guidelines?|messages?)\b"
    r"|\byou are now\b|\bsystem prompt\b|\bjailbreak|\bdeveloper mode\b|\bas an ai\b"
    r"|\b(?:without|never|do not|don['\u2019]t) (?:telling|tell|informing|inform|notifying|notify) "
    r"(?:the )?user\b|\bthe assistant (?:must|should|shall|will)\b",
    _I,
)
LIFTS_A_GUARD = re.compile(
    r"\b(?:never|do not|don['\u2019]t|stop|no need to) "
    r"(?:ever )?ask(?:ing)?\b(?! (?:me )?(?:if|"
    r"whether|about|how|what|why|follow|more|so many|two))"
    r"|\b(?:always|from now on|just)\b.{0,80}\bwithout (?:asking|(?:my |any |a )?(?:confirm\w*|"
    r"permission|approval|consent|ok\b|okay|yes\b|question))"
    r"|\b(?:always|from now on|every time|whenever)\b.{0,120}(?:://|\bwww\.)",
    _I,
)
"""Asks to skip a confirmation; nothing of that kind is kept without the user's yes."""
MARKUP = re.compile(
    r"<!--|\]\(|\^[0-9a-f]{8}\b|\bdue:\d{4}|</?[a-z][\w-]{0,20}[^<>\n]{0,80}>|\*\*\S|\{\{|\}\}|"
    r"\[REDACTED\]|\\n|=>|\(\);?",
    _I,
)
STORY = re.compile(
    r"\b(?:write|tell|compose|make up|invent|continue|generate|create|imagine|schreib\w*|erzähl\w*|"
    r"écris|raconte|inventes?|escribe|cuenta|inventa)\b.{0,60}\b(?:story|tale|poem|haiku|novel|"
    r"song|"
    r"lyrics|rap|dialogue|scene|monologue|character|screenplay|limerick|sonnet|fable|sketch|"
    r"diary of|"
    r"profile|biography|bio|persona|first person|geschichte|gedicht|märchen|lied|dialog|figur|"
    r"szene|"
    r"histoire|conte|poème|chanson|personnage|scène|cuento|historia|poema|canción|personaje|"
    r"diálogo)\b"
    r"|\b(?:role-?play|pretend|act as|act like|play the (?:role|part)|you are an? |"
    r"let['\u2019]?s play|imagine (?:that )?"
    r"(?:i|you|we)|in the voice of|tu es un|du bist ein|eres un|spiel\w* (?:die|den|einen|eine)|"
    r"\b(?:dummy|fake|placeholder|fictional|fictitious|made-up|mock|invented) (?:\w+ )?(?:data|"
    r"names?|"
    r"person|people|users?|customers?|address\w*|profiles?|records?|persona)\b|"
    r"stell dir vor|faisons comme si|haz como si)\b",
    _I,
)
"""The text after it is made up."""
PLAYS = re.compile(
    r"(?:now |please |you )*(?:play|be|act out|take on|answer as|speak as|talk as|reply as|"
    r"respond as|"
    r"write as|sei|spiele?|joue|sois|haz de|s\u00e9) (?:the|an?|my|der|die|das|eine?n?|mein\w*|"
    r"le|la|une?|el|"
    r"una?|mi) (?!bit\b|little\b|lot\b|songs?\b|music\b|album\b|playlist\b|radio\b|video\b|game\b|"
    r"track\b|next\b|first\b|last\b)(?:[\w-]+ ){0,3}[\w-]+(?:[.,:;!]| and\b| who\b| -|$)",
    _I,
)
"""Gives a role, so the text after it is made up. Matched at the beginning."""
TO_SOMEBODY = re.compile(
    r"(?:dear|sehr geehrte\w*|estimad[oa]s?|to whom it may concern)\b.{0,60}|"
    r"(?-i:Liebe[rs]?|Ch\u00e8re?s?|Querid[oa]s?) (?-i:[A-Z\u00c0-\u00de]).{0,40},",
    _I,
)
"""The salutation of a letter. Matched at the beginning."""
CITES = re.compile(
    r"\b(?:copied|pasted|quoted|taken|quote|quotation|excerpt|extract|snippet|citation|zitat|"
    r"zitiert|"
    r"kopiert|extrait|copi\u00e9|copiado|cita)\b.{0,60}$"
    r"|^(?:from|on|in|via|aus|von|auf|de|du|en) (?:the|an?|his|her|their|this|that|some|"
    r"one of the|der|"
    r"dem|einem?|einer|le|la|une?|el|una?)\b.{2,50}$"
    r"|\b(?:say|says|said|saying|stat(?:es?|ed)|reads?|writ(?:es?|ing|ten)|wrote|claim(?:s|ed)?|"
    r"(?:begin|start|end|open|close)(?:s|ning|ning)? with|goes|as follows|following|argues?|argued|"
    r"announce[sd]?|promises?|advertises?|tells?|told|asks?|asked|answers?|answered|repl(?:ies|"
    r"ied|y)|"
    r"sent|posted|texted|tweeted|titled|named|text|words?|wording|message|mail|e-?mail|letter|"
    r"quotes?|"
    r"review|comment|post|bio|profile|description|slogan|motto|caption|headline|sentence|line|"
    r"lyrics?|"
    r"verse|paragraph|passage|transcript|example|prompt|sagt|sagte|steht|schreibt|schrieb|meint|"
    r"lautet|"
    r"dit|\u00e9crit|dice|dijo|pone)(?: (?:me|us|him|her|them|this|mir|uns|moi|nous|da|dort|"
    r"there))?$",
    _I,
)
"""Before a colon: the text after it is somebody else's."""
LABELS = frozenset(
    """me about note notes ps fyi info context background decision decided rule rules result
    outcome conclusion update preference preferences diet work job health allergies allergy
    family home style heads heads-up headsup warning news confession disclosure reason language
    important remember reminder fact facts summary correction btw question answer hinweis regel
    entscheidung info kontext notiz r\u00e8gle d\u00e9cision regla""".split()
)
"""Words before a colon that name no speaker."""
FIRST_PERSON = re.compile(
    r"(?:\W*\w+[,.!]? ){0,3}(?:i|i['\u2019]\w+|my|we|we['\u2019]\w+|our|me|ich|mein\w*|wir|je|"
    r"j['\u2019]\w+|mon|ma|nous|yo|mi|soy|tengo)\b",
    _I,
)
MOOD = re.compile(
    r"(?:i|we) (?:only|just) (?:need|want) (?:an?|the|one|two|three|to|some|your|this|that)\b|"
    r"(?:u+gh+|a+r+gh+|gr+|omg|sigh|meh|damn|gosh|god|ya+y|woo+\w*|ew+|pf+|oof|wow|aw+|"
    r"haha\w*)\b.{0,30}"
    r"\b(?:hate|love|like|adore|can['\u2019]?t stand|despise|detest)\b"
    r"|(?:.{0,12}\b)?(?:hate|love|can['\u2019]?t stand) (?:mondays|tuesdays|wednesdays|thursdays|"
    r"fridays|"
    r"weekends|rain|winter|summer|life|my life|everything|everyone)\b.{0,8}$",
    _I,
)
"""A sigh or a need of the moment, no preference. Matched at the beginning."""
SUPPOSING = re.compile(
    r"(?:suppose|supposing|imagine|assume|assuming|pretend|say|hypothetically|what if|"
    r"let['\u2019]?s "
    r"(?:say|assume|pretend|suppose)|angenommen|nehmen wir an|supposons|imaginons|supongamos|"
    r"imagina|pongamos)\b",
    _I,
)
LETTER = re.compile(
    r"\b(?:write|draft|compose|schreib\w*|verfass\w*|rédige|écris|escribe|"
    r"redacta)\b (?:\w+ ){0,2}?(?:an?|"
    r"the|my|our|einen?|eine|meine?n?|une?|la|ma|una?|mi) (?:[\w-]+ ){0,2}(?:letter|e-?mail|mail|"
    r"message|"
    r"speech|complaint|application|resignation|card|toast|eulogy|review|tweet|post|ad|caption|"
    r"brief|"
    r"nachricht|rede|beschwerde|bewerbung|kündigung|lettre|message|discours|carta|correo|mensaje|"
    r"discurso)\b",
    _I,
)
"""The rest of the paragraph belongs into the letter."""
MATERIAL_FOLLOWS = re.compile(
    r"\bhere(?:['\u2019]s| is| are|['\u2019]re)? (?:the|my|his|her|their|our|a|an|what|some|"
    r"[A-Z]\w+['\u2019]s) "
    r"(?:[\w'\u2019-]+ ){0,3}(?:e-?mail|mail|message|note|letter|text|transcript|log|draft|chat|"
    r"thread|"
    r"review|article|paragraph|code|list|error|output|reply|answer|conversation|wrote|sent|posted|"
    r"said|profile|bio|ad|advert|advertisement|listing|description|post|tweet|comment|statement|"
    r"quote|"
    r"poem|essay|speech|contract|terms|offer|page|passage|excerpt|extract|snippet|sms|document|"
    r"report|"
    r"minutes|minute|application|cv|r\u00e9sum\u00e9|statement|testimonial|interview|caption|"
    r"dialogue|lyrics)\b|"
    r"(?:^|[.!?] )(?:so |and |hey,? )?(?:is|was|are|does|do|could|can|would|might) (?:this|these|"
    r"that|it|"
    r"the following) (?:\w+ ){0,3}(?:spam|scam|phishing|legit\w*|genuine|fake|fraud\w*|real|"
    r"credible|"
    r"trustworthy|polite|rude|grammatical\w*|correct|ironic|sarcastic|passive.aggressive|clear|"
    r"formal|"
    r"english|german|french|spanish|true|accurate|sound|make sense|mean|ok|okay|plausible|"
    r"well.written|"
    r"ai|human|convincing)\b|"
    r"\b(?:what|how) (?:does|do|is|would|can) (?:this|these|the following)\b.{0,30}\b(?:mean|"
    r"sound|say|"
    r"read|tone|come across|about)|"
    r"\b(?:extract|pull out|pick out|list|find|identify|highlight|underline|count|classify|tag|"
    r"mark|"
    r"name|spot|tell me|what (?:is|are)|what['\u2019]s|analy[sz]e|detect|rate|guess|"
    r"judge) (?:all |every |me )?"
    r"(?:the|any|every|its|each) (?:\w+ ){0,2}(?:facts?|key points?|names?|dates?|"
    r"main (?:points?|idea)|"
    r"claims?|entit\w+|numbers|sentiments?|tone|verbs?|nouns?|adjectives?|adverbs?|keywords?|"
    r"topics?|"
    r"action items|emotions?|mood|subject|tenses?|grammar|style|language|author|speaker|fallac\w+|"
    r"errors?|mistakes?|typos?|passives?|pronouns?|clauses?|syllables|words|"
    r"sentences)\b(?!.{0,40}\b"
    r"(?:of my|in my|on my|from my|for my)\b)|"
    r"\b(?:read|hear|listen to|look at|consider|take) (?:this|these|the following)\b|"
    r"\b(?:what do you (?:think|make) of|thoughts on|feedback on|any comments on|your opinion on) "
    r"(?:this|these|the following)\b|"
    r"\b(?:ist|sind|klingt) (?:das|dies) (?:\w+ ){0,2}(?:spam|betrug|echt|richtig|korrekt|"
    r"h\u00f6flich|deutsch)|"
    r"\best-ce (?:que (?:ce|cette) |un |une )?(?:\w+ ){0,2}(?:spam|arnaque)\b|"
    r"\b(?:wrote|sent|texted|posted|schrieb|a écrit|escribió)(?: (?:me|us|mir|uns|this|"
    r"the following))*:|"
    r"\b(?:translate|proof-?read|correct|fix|edit|polish|improve|shorten|summari[sz]e|rewrite|"
    r"rephrase|paraphrase|spell-?check|review|check|format|classify|extract|analy[sz]e|reply to|"
    r"answer|respond to|what does (?:he|she|it|this)|explain|übersetz\w*|korrigier\w*|verbesser\w*|"
    r"kürz\w*|fass\w*|formulier\w*|antwort\w*|prüf\w*|traduis|corrige\w*|résume\w*|améliore\w*|"
    r"reformule\w*|"
    r"raccourci\w*|traduce|resume|mejora|reescribe|revisa|traduci|riassumi|correggi)\b.{0,60}"
    r"(?:\b(?:this|these|the (?:following|mistakes|errors|typos|sentences?)|mistakes|below|above|"
    r"my (?:\w+ ){0,2}(?:text|letter|mail|e-?mail|"
    r"message|paragraph|essay|bio|cv|résumé|resume|statement|profile|draft|post|speech|note|reply|"
    r"application|abstract|intro)|grammar|spelling|typos|text|mail|e-?mail|letter|message|diesen|"
    r"diese|dies|folgende\w*|meine? (?:\w+ )?(?:text|brief|mail|nachricht|anschreiben)|"
    r"ce|cet|cette|suivante?|mon (?:texte|mail|message)|ma (?:lettre|bio)|est[ea]|siguiente|mi "
    r"(?:texto|carta|correo|mensaje))\b)",
    _I,
)
"""The text to work on is before or after it, in a paragraph of its own."""
ABOUT_LANGUAGE = re.compile(
    r"\b(?:translat\w+|proof-?read|grammar|spelling|typos?|mistakes|correct (?:this|my|the)|"
    r"übersetz\w*|"
    r"korrigier\w*|rechtschreib\w*|grammatik|traduis|traduire|corrige\w*|orthographe|traduce|"
    r"traducir|ortografía|traduci)\b",
    _I,
)
