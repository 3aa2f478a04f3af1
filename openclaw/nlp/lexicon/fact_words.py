"""Patterns of sentences that are worth keeping: English, German, French, Spanish.

Each is matched against one sentence; every repetition is bounded.
"""

from __future__ import annotations

import re

_I = re.IGNORECASE

RULE = re.compile(
    r"(?:under no circumstances|in no case|on no account|at no time|no matter (?:what|how|who)|"
    r"my (?:\w+ ){0,2}rule is|as a (?:general )?rule|house rule|auf keinen fall|unter keinen "
    r"umständen|en aucun cas|sous aucun prétexte|bajo ning[úu]n concepto|en ning[úu]n caso)\b"
    r"|(?:every|each|all|any|jede\w?|alle|chaque|tou(?:s|tes) les|cada|todos los|todas las) "
    r"(?:[\w-]+ ){1,3}(?:must(?: not)?|should|has to|have to|needs? to|muss|müssen|soll|sollen|"
    r"doit|"
    r"doivent|debe|deben|tiene que|tienen que)\b"
    r"|(?:you|du|tu) (?:should|must|may|can|need to|have to|are to|sollst|darfst|dois|"
    r"debes) (?:always|"
    r"never|immer|nie|niemals|toujours|jamais|siempre|nunca)\b|(?:from|ab|"
    r"à partir d['\u2019]) ?(?:today|"
    r"now|heute|aujourd['\u2019]hui) on\b|i want .{3,80}\b(?:always|never|from now on|every time)\b"
    r"|(?:i|we) (?:always|only|usually|generally|normally|never) (?:want|need|use|take|order|buy|"
    r"pick|"
    r"choose|like|read|eat|drink|wear|pay|travel|fly|write|get) (?!it\b|this|that|these|those|"
    r"them|the\b|"
    r"an?\b|one\b|two\b|to\b|you|your|some|more|enough|help|\d|what|how|when|if\b|lost|stuck|"
    r"confused)\w"
    r"|(?:no|not|never) more than .{3,40}? (?:per|an?|each|every|in your|in one) "
    r"|(?:when|whenever|every time|each time) you (?:write|answer|reply|send|make|create|draft|"
    r"summari[sz]e|list|suggest|plan|book|explain|quote|cite|format|show|give)\b(?! (?:the|this|"
    r"that|it|them|these|those)\b)"
    r"|(?:when|whenever|every time|if) i (?:say|ask|write|mention|talk about|send|type|use)\b"
    r".{2,60}, (?!(?:what|how|why|who|which|is|are|would|could|can|do|does|will|should|did)\b)",
    _I,
)
FORBIDDEN_FOR_GOOD = re.compile(
    r"(?:do not|don['\u2019]?t|never|no|stop \w+ing|avoid|bitte keine?|keine?|schick\w* mir nie|"
    r"ne (?:me )?\w+ (?:pas|jamais)|no (?:me )?\w+) .{0,80}?(?:without (?:asking|telling|showing|"
    r"checking|my (?:ok|okay|consent|permission|yes|approval))|\bever\b|\bwith me\b|\bunless i\b|"
    r"\b(?:before|after|past) (?:\d|noon|lunch|breakfast|dinner|eight|nine|ten|six|seven|five)|"
    r"\bon (?:mon|tues|wednes|thurs|fri|satur|sun)days\b|\bon (?:the )?weekends?\b|"
    r"\bin (?:anything|"
    r"everything|any|all) |ohne (?:mich|meine?)\b|sans (?:me|mon|ma)\b|sin (?:mi|preguntar))"
    r"|stop (?:using|calling me|apologi[sz]ing|repeating|ending|starting|sending me|suggesting)\b",
    _I,
)
STYLE = re.compile(
    r"(?:\w+ly |please )*(?:use|stick to|give me|write (?:in|me)|keep to|speak|think in|talk|stay "
    r"with|always)\b.{0,30}\b(?:metric|imperial|celsius|fahrenheit|24[- ]hour|12[- ]hour|"
    r"kilomet\w+|kg\b|british (?:english|spelling)|american (?:english|spelling)|plain english|"
    r"first names?|informal(?:ly)?|formal(?:ly)?|iso dates?|si units|simple words|plain words)\b"
    r"|(?:no|skip|drop|leave out|spare me|avoid|cut out|keine?|lass|pas de|sin|nada de)\b (?:the |"
    r"all |any |your |more |die |das |les |los |las )*(?:emojis?|emoticons?|smileys?|pleasantries|"
    r"small ?talk|jargon|buzzwords?|flattery|disclaimers?|apologies|filler|fluff|floskeln|"
    r"exclamation marks|preambles?|corporate speak|greetings?|politesses?|anglizismen|"
    r"anglicismes)\b"
    r"|(?:address|refer to) me\b|(?:ich möchte |bitte )?(?:geduzt|gesiezt|duz|sieze?) mich\b"
    r"|(?:answer|reply|respond|write|speak|talk|antworte?|schreib\w*|sprich|réponds|écris|parle|"
    r"responde|"
    r"escribe|habla)[ -]?(?:to me |me |mir |bitte |moi |with me )*(?:only |always |immer |"
    r"toujours |siempre )?"
    r"(?:in|auf|en) (?:english|german|french|spanish|italian|dutch|portuguese|polish|welsh|irish|"
    r"danish|"
    r"swedish|norwegian|finnish|czech|turkish|arabic|russian|ukrainian|greek|japanese|chinese|"
    r"korean|"
    r"hindi|catalan|deutsch|englisch|französisch|spanisch|italienisch|français|anglais|allemand|"
    r"español|inglés|catalán)\b"
    r"|(?:call me|nenn\w* mich|appelle[- ]moi|ll[áa]mame|chiamami|noem me) (?!back|later|when|if|"
    r"at|"
    r"tomorrow|tonight|an? |on\b|in\b|crazy|stupid)\S"
    r"|(?:tutoie|vouvoie)[- ]moi\b|tut[ée]ame\b|trátame de\b",
    _I,
)
PREFERENCE = re.compile(
    r"\b(?:i['\u2019]d|i would|we['\u2019]d|we would|id) (?:much |always )?rather (?!not\b|you|see|"
    r"have (?:it|this|that)|it\b|this\b|that\b|do (?:it|this|that)|the (?:first|second|"
    r"other))\w+ \w"
    r"|\b(?:i['\u2019]d|i would|we['\u2019]d|we would) (?:much |always |really )?prefer (?!not\b|"
    r"it\b|this|"
    r"that|these|those|the (?:first|second|other|last|short|long)|option|version)\w"
    r"|\bi (?:hate|love|like|can['\u2019]?t stand) it when \w|\bi only (?:buy|eat|drink|use|wear|"
    r"read|"
    r"listen to|shop|take|cook|watch|work) (?!it\b|this|that|the\b)\w|\bi take (?:my|no|sugar|"
    r"milk)\b"
    r"|\bi want (?:all |every |my |your )?(?:answers?|replies|responses|summaries|reports|"
    r"invoices|mails|"
    r"e-?mails|messages|drafts)\b"
    r"|\bi(?:['\u2019]m|m| am) (?:really |just |honestly )?(?:not (?:much of |"
    r"really )?(?:an? )?(?:big |"
    r"great |huge )?(?:fan|person|lover|friend)\b|not (?:really |that |much )?into|"
    r"(?:an? )?(?:big |"
    r"huge |great )(?:fan|lover)|into \w+|(?:more )?an? [\w-]+ person\b|fond of|keen on|hooked on|"
    r"addicted to|sick of|partial to|obsessed with)"
    r"|\bi (?:really |absolutely |truly |simply |honestly )*(?:adore|detest|despise|loathe|avoid|"
    r"swear by|favou?r|can['\u2019]?t (?:stand|bear|abide)|cannot (?:stand|bear|abide)|"
    r"do(?:n['\u2019]?t| "
    r"not) (?:really )?(?:like|enjoy|care for|eat|drink|wear|trust|do)) (?!it\b|this|that|them|"
    r"you|how|what|the way)\w"
    r"|\b(?:(?:my|our) (?:\w+ ){1,2}|the (?:kids|children|baby|dog|cat|team|boss|client|twins) |"
    r"(?:mum|mom|"
    r"dad|grandma|grandpa) )(?:\w+ly |all |both |always )?(?:hates?|loves?|prefers?|likes?|"
    r"dislikes?|adores?|"
    r"can['\u2019]?t stand|won['\u2019]?t eat|do(?:es)?n['\u2019]?t (?:like|eat|drink|speak|"
    r"want any)) (?!it\b|"
    r"this|that|to know|the idea)\w"
    r"|\b(?:my go[- ]to|my usual|my favou?rite|my preferred|my pet peeve|drives? me (?:mad|crazy|"
    r"nuts|"
    r"up the wall)|any day\b|works best for me|suits me best|is my thing|isn['\u2019]t my thing|"
    r"is not "
    r"my thing)\b"
    r"|\bmir ist \w+ lieber|\bich (?:steh\w? (?:total )?auf|kann .{3,30} nicht (?:leiden|ausstehen|"
    r"ab)|vertrage|meide|schaue lieber|nehme lieber|lese lieber|\w+e lieber)\b|\bam liebsten\b"
    r"|\bj['\u2019](?:adore|aime)\b(?! (?:bien )?(?:ça|cela|ce\b))|\bje (?:n['\u2019]aime|"
    r"ne (?:mange|bois|supporte|porte)|raffole|évite|préfère|déteste|adore)\b"
    r"|\bno (?:me gust\w+|soporto|como|bebo|tomo|aguanto)\b|\bme (?:encanta|gusta|molesta)n?\b"
    r"|\bprefiero\b|\bodio\b|\bdetesto\b",
    _I,
)
SELF = re.compile(
    r"\b(?:i(?:['\u2019]m|m| am)|we(?:['\u2019]re| are)) (?:really |very |severely |slightly |"
    r"also |currently |a bit |mildly |"
    r"profoundly )?(?:on (?:nights|night shifts?|early shifts?|late shifts?|call)\b|"
    r"\d\d\b(?! (?:minutes|percent|%|pages|km|miles))|(?:left|right)[- ]?handed|"
    r"deaf|(?:night )?blind|dyslexic|autistic|pregnant|diabetic|epileptic|asthmatic|c(?:o)?eliac|"
    r"lactose|gluten|widowed|divorced|unemployed|self-employed|bilingual|introverted|"
    r"short-?sighted|"
    r"on (?:an? |the )?[\w-]+ (?:diet|medication|pills|insulin)|on (?:insulin|warfarin|lithium)|"
    r"the "
    r"(?:eldest|oldest|youngest|middle|only) (?:child|of|one of)|from (?-i:[A-Z])|near-?sighted|"
    r"far-?sighted|hard of hearing|colou?r-?blind|retired|married|single|engaged|"
    r"vegan|vegetarian|pescatarian|teetotal|allergic|intolerant|an? (?:\w+[ -]){0,3}(?:student|"
    r"teacher|nurse|doctor|engineer|developer|designer|writer|editor|carpenter|lawyer|baker|cook|"
    r"chef|farmer|pilot|driver|musician|painter|translator|scientist|researcher|accountant|"
    r"consultant|manager|librarian|mechanic|electrician|plumber|gardener|midwife|paramedic|"
    r"firefighter|photographer|journalist|pensioner|mother|father|mum|mom|dad|widow\w*|tutor|"
    r"trainee|apprentice|freelancer|parent|therapist|architect|pharmacist|vet|dentist|artist))\b"
    r"|\b(?:i|we)(?:['\u2019](?:m|re)| am| are|['\u2019]ve| have)? (?:just |recently |finally )?(?:"
    r"moved|moving|relocat\w+) (?:back )?(?:to|from|in with|out of) (?!the (?:next|other|new)|"
    r"it\b|this\b)\w"
    r"|\bmy (?:\w+ ){0,2}(?:pronouns|(?:tax|customer|member(?:ship)?|account|insurance|policy|"
    r"student|phone|mobile|house|room|locker|shoe|dress|shirt|ring|clothing) (?:id|number|size|no)|"
    r"iban|blood (?:type|group)|star sign|commute|salary|job|shift|hometown|birthplace|"
    r"mother tongue|first language|native language|degree|major|employer|hobby|hobbies|instrument)"
    r"\b.{0,30}?\b(?:is|are|was|takes|in|from)\b"
    r"|\b(?:i|we|my \w+) (?:also |mostly |often |only )?works? (?:the |in |\w+ )?(?:(?:night|day|"
    r"late|early|"
    r"rotating|split|double|weekend|morning|evening)[ -])?(?:shifts?|nights|weekends|evenings|"
    r"part[- ]time|"
    r"full[- ]time|remotely|from home)\b"
    r"|\bi (?:also |still |have )?(?:sing|coach|volunteer(?:ed)?|collect|brew|knit|sew|"
    r"breed|commute|tutor|foster|row|sail|homeschool|freelance|umpire|referee|moderate|"
    r"co-?own|graduated|got (?:married|engaged|divorced|laid off|promoted))\b (?!it\b|this|that|"
    r"them|(?:the|these) )\w+"
    r"|\bi (?:also )?play (?:the |in )?(?!with\b|around\b|it\b|this\b)\w+"
    r"|\b(?:i|we) (?:do not|don['\u2019]?t) (?:have|own|use|speak|drive|ride|wear|watch|"
    r"read) (?:an? |any )?"
    r"(?!time|clue|idea|preference|access|enough|money|questions?|problems?|the\b|this|that|it\b|"
    r"them|to\b|"
    r"your|my|much|room|anything|any\b|a\b|all\b|one\b)\w+"
    r"|(?:^|, )(?:mum|mom|dad|grandma|grandpa|granny|nana|oma|opa)(?:['\u2019]s)? (?:is|lives|has|"
    r"turned|"
    r"turns|was born|works|can['\u2019]?t|name|birthday|ist|wohnt|heißt)\b"
    r"|\b(?:i|we) (?:have|suffer from|was diagnosed with|got|grew up with|live with) (?:a |an |"
    r"mild |"
    r"severe |chronic |type \d |really bad |terrible )*(?:adhd|asthma|diabetes|migraines?|dyslexia|"
    r"epilepsy|arthritis|tinnitus|eczema|hay ?fever|ibs|insomnia|allerg\w+|pacemaker|bad (?:knee|"
    r"back|hip)|baby|toddler|twins|mortgage|allotment|balcony|dog|cat|vineyard|greenhouse|"
    r"bees|chickens|motorbike|caravan|camper)\b"
    r"|(?:\bich |^)(?:bin (?!ich\b)(?:ein\w? )?(?:\w+jährig|\d\d|links\w*|rechtshänder\w*|"
    r"schwanger|schwerhörig|"
    r"farbenblind|selbst\w+|rentner\w*|student\w*|lehrer\w*|allein\w+|verheiratet|geschieden|"
    r"vegan\w*|"
    r"vegetarisch\w*|gelernte\w? \w+|von beruf|diabetiker\w*|(?-i:[A-ZÄÖÜ])\w+(?:er|in|ist|eur|"
    r"ent|ant|"
    r"meister|mann|frau)\b)|(?:habe|hab) (?:ein\w* |zwei |drei |starke |"
    r"eine starke )*(?:\w+allergie|\w+intoleranz|"
    r"adhs|asthma|diabetes|migräne|zöliakie|kinder|katzen|hunde?|sohn|tochter)|arbeite|wohne|singe|"
    r"unterrichte|lerne|pendle|ziehe (?:nach|um))\b"
    r"|\bje suis (?:un |une )?(?:\w+ière|\w+ier|\w+eu(?:r|se)|\w+iste|\w+ien(?:ne)?|\w+ant(?:e)?|"
    r"retraitée?|gauch\w+|sourde?|enceinte|mariée?|divorcée?|célibataire|allergique|végéta\w+|"
    r"vég\w+|prof\w*|médecin|diabétique|originaire)\b(?! de (?:te|vous|le|la|ce))"
    r"|\bj['\u2019](?:habite|ai (?:deux|trois|quatre|un|une) (?:fils|filles?|enfants?|chiens?|"
    r"chats?|"
    r"frères?|sœurs?|soeurs?|bébé|jardin|voiture|allergie)|enseigne|apprends)\b|\bje (?:travaille|"
    r"vis|joue|chante|parle|déménage)\b"
    r"|\b(?:soy|estoy) (?:\w+(?:or|ora|ista|er[oa]|ante|ent[ea]|ic[oa]|og[oa]|ad[oa])|zurd[oa]|"
    r"sord[oa]|"
    r"embarazada|jubilad[oa]|casad[oa]|divorciad[oa]|autónom[oa]|alérgic[oa]|celíac[oa]|vegan[oa]|"
    r"vegetarian[oa]|diabétic[oa])\b(?<!cansado)(?<!cansada)|\b(?:vivo|trabajo|toco|estudio|nací) "
    r"(?:en|de|como|el|la|con)\b",
    _I,
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
HABIT = re.compile(
    r"(?:on \w+ |in the \w+ )?(?:i|we|my \w+ and i|ich|wir|je|nous)\b(?! (?:want|need|would|could|"
    r"should|might|must|have to|forg\w+|think|hope|tried|try|see|get (?:an?|the)|got|keep getting))"
    r".{2,80}\b(?:every (?:\w+ )?(?:morning|evening|night|day|week|weekend|month|year|summer|"
    r"winter|"
    rf"spring|autumn|{_DAY})|(?:{_DAY}s)|(?:on|most) (?:weekdays|weekends|mornings|evenings)|"
    r"(?:once|twice|(?:two|three|four|five|six) \w+) a (?:day|week|month|year)|days a week|"
    r"since (?:19|20)\d\d|for (?:\w+ ){1,3}years|jeden (?:\w+tag|morgen|abend|tag)|(?:mon|diens|"
    r"donners|frei|sams|sonn)tags|mittwochs|seit (?:19|20)\d\d|tous les \w+|chaque (?:matin|soir|"
    r"jour|semaine|\w+di)|depuis (?:19|20)\d\d)\b",
    _I,
)
DECISION = re.compile(
    r"\b(?:(?:i|we|they|(?:the|our|my) (?:[\w-]+ )?(?:team|board|committee|council|jury|family|"
    r"group|"
    r"club|co-op|company|school|association|union|parents|neighbou?rs|client|publisher|owners|"
    r"tenants|"
    r"members|choir|department|management)|board|committee|my (?:wife|husband|partner|boss|sister|"
    r"brother) and i|everybody|"
    r"everyone|all of us)(?:['\u2019]ve|['\u2019]s| have| has)? (?:\w+ly |all |just |now |then |"
    r"together )*(?:decided|agreed|chose|chosen|settled|picked|opted|switched|moved over|migrated|"
    r"renamed|standardi[sz]ed|cancel+ed|postponed|approved|signed|hired|booked|voted|committed|"
    r"quit|dropped|accepted|rejected|ruled out|made up (?:my|our) minds?|resolved)"
    r"|(?:i|we) (?:will not|won['\u2019]t|no longer|don['\u2019]t|do not) (?!understand|know|"
    r"get\b|see\b|remember|"
    r"want)\w+.{0,40}\b(?:any ?more|any longer)\b|(?:i|we)(?: will|['\u2019]ll) be (?:calling|"
    r"using|moving|"
    r"switching|hosting|keeping|dropping|selling)"
    r"|^(?:[\w-]+ ){0,3}(?:result|outcome|conclusion|verdict|agreement|resolution|ergebnis|"
    r"beschluss|"
    r"décision|decisión|acuerdo)(?=: )"
    r"|(?:it['\u2019]?s|it is|that['\u2019]?s|that is|it was) (?:now |finally |all )?(?:decided|"
    r"settled|"
    r"official|agreed|final)|(?:final|the) decision(?: is|:)|decision:"
    r"|(?:i['\u2019]?m|we['\u2019]?re|i am|we are) (?:\w+ly )?(?:going with|sticking (?:with|to)|"
    r"switching (?:to|from|over)|moving (?:everything )?to|dropping|quitting|selling|keeping|"
    r"cancel+ing|giving up)"
    r"|(?:we|i)(?: will|['\u2019]ll) (?:use|go with|stick|keep|host|call|name|drop|switch)"
    r"|(?:let['\u2019]?s|lets) (?:just )?(?:(?:stick|go) with|use|drop|host|choose|"
    r"pick)(?! (?:an? |another|"
    r"this|that|it\b|these|those|them|the (?:first|second|third|last|other|same)\b|option))"
    r"|(?:haben?|hab) (?:\w+ ){1,9}(?:entschieden|beschlossen|vereinbart|geeinigt|ausgesucht|"
    r"gekündigt|unterschrieben)|beschlossene sache|(?:wir|ich) nehmen? (?:jetzt )?d(?:as|ie|en)"
    r"|(?:on a|nous avons|j['\u2019]ai|on s['\u2019]est) (?:\w+ )?(?:décidé|choisi|convenu|opté|"
    r"mis "
    r"d['\u2019]accord|signé)|(?:hemos|he|han) (?:\w+ )?(?:decidido|acordado|elegido|optado|"
    r"firmado|"
    r"quedado)|decidimos|acordamos|elegimos|quedamos en)\b",
    _I,
)
DECIDED_ON_THIS = re.compile(
    r"\b(?:decided|agreed|chose|chosen|settled|picked|opted|with|for|on|to|nehmen|nehme|choisi|"
    r"elegido|dropping|keeping|selling) (?:it|this|that|these|those|them|the (?:first|second|third|"
    r"last|other|former|latter|new|old|short|long|blue|red|green) (?:one|version|draft|option|"
    r"variant)|(?:option|version|variant|draft|number) \w+|das|dies\w*|ça|cela|eso|esto)\b"
    r"(?! \w+ (?:is|was|are|goes|stays|will)\b)|\bagreed to disagree\b",
    _I,
)
SHIFT = re.compile(r"\b(?:early|late|night) shifts?\b", _I)
"""When somebody works; not a passing state."""
WHEN_DECIDED = re.compile(
    r"\b(?:today|yesterday|this (?:morning|afternoon|evening|week|month)|last (?:night|week|month|"
    r"weekend|year)|just|already|earlier|soon|right now|for now|a (?:week|month|minute) ago|heute|"
    r"(?:the|our|that) (?:[\w-]+ ){0,2}(?:question|issue|problem|idea)(?= of\b|[:,]| once\b)|"
    r"gestern|"
    r"gerade|diese woche|hier soir|hier|aujourd['\u2019]hui|hoy|ayer|until|till|from)\b",
    _I,
)
"""When something was decided; not how long it holds."""
_FROM_NOW = (
    r"today|tonight|tomorrow|yesterday|(?:this|next|last|coming) (?:\w+day|week|weekend|month|year|"
    r"spring|summer|autumn|fall|winter|morning|evening)|in (?:\w+ )?(?:\w+ )?(?:days?|weeks?|"
    r"months?)\b|\w+ ago|from now(?! on)|before last|after next|heute|(?<!guten )morgen|übermorgen|"
    r"gestern|(?:nächste|letzte|diese|kommende)[nrsm]? \w+|vor \w+ (?:tagen|wochen|monaten)|"
    r"aujourd['\u2019]hui|demain|hier|(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|"
    r"semaine|mois|année) prochaine?|hoy|mañana|ayer|(?:el|la) (?:próxim[oa]|semana que viene)"
)
_WEEKDAY = (
    r"(?:on|until|by|since|from) (?:mon|tues|wednes|thurs|fri|satur|sun)day|am (?:mon|diens|"
    r"donners|frei|sams|sonn)tag|am mittwoch|el (?:lunes|martes|miércoles|jueves|viernes|sábado|"
    r"domingo)"
)
FROM_NOW = re.compile(rf"\b(?:{_FROM_NOW})\b", _I)
"""A day that only the day of writing tells."""
RELATIVE = re.compile(rf"\b(?:{_FROM_NOW}|{_WEEKDAY})\b", _I)
"""The same, or a weekday, which may also be a habit."""

EMAIL = re.compile(r"(?<![\w@])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
ADDRESS = re.compile(rf"{EMAIL.pattern}|://|\bwww\.|\w\.[a-z]{{2,12}}/|(?<!\w)@\w{{2}}", _I)
"""An address of a person or a machine."""
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
