"""Rules that find the lines of a skill to look at: the parts of known attacks on users.

A rule names an act (a link and a lock, a file that is read and an address it goes to), never a noun
alone: skills about security are full of the nouns. Words of people's languages are used only where
nothing else tells the act. Every repetition is bounded, so that no line takes long.
"""

from __future__ import annotations

import re

from openclaw.frozen import frozen

PROSE, FENCE, SCRIPT, DATA = 1, 2, 4, 8
"""Where a rule searches: text for people and models, code in such a text, scripts, other files."""
CODE = FENCE | SCRIPT | DATA


@frozen
class Rule:
    """A pattern with its conditions.

    beside: must be found on the same line
    along: must be found in the same file
    unless: takes a line out
    unquoted: a match between quotation marks does not count
    note: of lower rank, since many ordinary skills do it
    """

    kind: str
    pattern: re.Pattern[str]
    where: int = CODE | PROSE
    beside: re.Pattern[str] | None = None
    unless: re.Pattern[str] | None = None
    along: re.Pattern[str] | None = None
    unquoted: bool = False
    note: bool = False


def _re(pattern: str) -> re.Pattern[str]:
    """Only ASCII letters make words: Chinese follows a name or a link without a blank."""
    return re.compile(pattern, re.ASCII | re.IGNORECASE | re.MULTILINE)


_SHELL = (
    r"(?:(?:ba|z|da|k|fi)?sh\b|iex\b|invoke-expression\b|osascript\b|\$\{?(?:SHELL|BASH)\b"
    r"|(?:python[\d.]{0,5}|perl|ruby|node|php)\b(?!\s{1,9}-\w{0,3}[cemnpr]\b))"
)
_FETCH = r"(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod)"
_READ_URL = (
    r"(?:urlopen|requests\.get|httpx\.get|axios|fetch|DownloadString|\b" + _FETCH + r")[\s(.'\"`-]"
)
_PROGRAM = r"\.(?:exe|msi|dmg|pkg|scr|bat|ps1|vbs|hta|apk|iso|appimage)"
_ARCHIVE = r"\.(?:zip|7z|rar)"
_END = r"(?![\w/-])"
_IN_URL = r"[^\s<>\"'`()\[\]|]"
_SOURCE = (
    rf"{_IN_URL}{{0,200}}(?:/archive/|/(?:zip|tar)ball/|/blob/{_IN_URL}{{1,200}}\.(?:ps1|bat)\b)"
)
"""The source code of a project, or a page of it, behind `https://`."""
_URL = rf"https?://(?!{_SOURCE}){_IN_URL}{{1,400}}?"

_LOCK = (
    r"(?:\b(?:pass(?:word|wort|wd|code|phrase)?|pwd|kennwort|contrase\u00f1a|clave|senha"
    r"|mot de passe|parola|has\u0142o|wachtwoord)\b|\u015fifre"
    r"|[\u041f\u043f]\u0430\u0440\u043e\u043b\u044c?"
    r"|\u5bc6\u7801|\u5bc6\u78bc|\u89e3\u538b\u7801|\u30d1\u30b9\u30ef\u30fc\u30c9"
    r"|\uc554\ud638|\ube44\ubc00\ubc88\ud638)"
)
_TERMINAL = (
    r"(?:\b(?:terminal|power\s?shell|command prompt|cmd\.exe|win(?:dows)?\s?\+\s?r)\b"
    r"|\u7ec8\u7aef|\u7d42\u7aef|\u30bf\u30fc\u30df\u30ca\u30eb|\ud130\ubbf8\ub110"
    r"|[\u0422\u0442]\u0435\u0440\u043c\u0438\u043d\u0430\u043b)"
)
_PASTE_HOST = (
    r"(?:[\w-]{0,20}paste[\w-]{0,20}\.[a-z]{2,8}"
    r"|\b(?:haste|paste|ghost|private|zero|0|hex|term|post|request)bin\.[a-z]{2,5}|\brentry\.\w{2,3}"
    r"|\bglot\.io|\bsprunge\.us|\bix\.io|\b0x0\.st|\bbpa\.st|\btelegra\.ph|\bcontrolc\.com"
    r"|\bcl1p\.net|\bideone\.com|\btransfer\.sh|\btemp\.sh)"
)
# What is sent, and how code and commands send it.
_SENDS = (
    r"(?:\bcurl\b[^\n]{0,200}\s-(?:d|F|T|-data\S{0,20}|-form|-upload-file)\b|\bnslookup\b|\bnc\s"
    r"|\bmethod['\"]?\s?:\s?['\"]post|requests\.(?:post|put)|httpx\.(?:post|put)|urlopen\s?\("
    r"|axios\.post|-method post|\bupload\w{0,10}\s?\(|sendmail|smtplib"
    r"|socket\.(?:socket|create_connection))"
)
_READS = (
    r"(?:\bcat\b|\bcp\b|\btar\b|\bzip\b|\bbase64\b|\btype\b|get-content|\bscp\b|\brsync\b|\bcurl\b"
    r"|open\s?\(|read_?(?:text|bytes|file)|readfilesync|\bread\b|\bupload\b|\bsend\b"
    r"|copy\w{0,4}\s?\()"
)
_KEY_FILE = (
    r"(?:\.ssh['\"]?\s{0,3}[/,\\]{1,2}\s{0,3}['\"]?id_\w{1,10}(?!\.pub)\b"
    r"|(?<=\s)\S{0,20}/\.(?:ssh|gnupg)(?=[\s'\"]|$)"
    r"|\.aws/credentials|\.git-credentials|/etc/shadow|login\.keychain|\.config/solana/id\.json)"
)
_OWN_FILE = (
    r"(?:\.(?:openclaw|clawdbot|moltbot)/(?:\w{1,20}\.json|credentials|agents|\.env|secrets)"
    r"|\.openclaw['\"]\s{0,3}[,/]|/\*/credentials\.json)"
)
_SECRETS = (
    r"(?:api[ _-]?keys?|passwords?|tokens|secrets|credentials|private keys?|seed phrases?|cookies"
    r"|environment variables|config(?:uration)? files|\.env\b)"
)
_EXEC = r"(?:\b(?:eval|exec|execSync|Function|compile)\s?\(|\bos\.system\s?\()"
_DECODE = (
    r"(?:b64decode|\batob\s?\(|fromhex|unhexlify|decompress\s?\(|marshal\.loads|codecs\.decode"
    r"|Buffer\.from\s?\([^\n]{0,200}['\"](?:base64|hex)|fromCharCode|pickle\.loads)"
)
_WHOLE_ENV = r"(?:process\.env(?![\w.\[?])|os\.environ(?![\w.\[]))"

_LINK = _re(
    rf"{_URL}(?:{_PROGRAM}|{_ARCHIVE}){_END}"
    rf"|/releases/download/[^\s/]{{1,60}}/[\w-]{{1,60}}(?=[\s)\]\"'`]|$)"
    rf"|\[[^\]\n]{{0,80}}(?:{_PROGRAM}|{_ARCHIVE})`?\]\(\s?https?://"
    r"|\b(?:mega\.nz|mediafire\.com|gofile\.io|anonfiles\.com|catbox\.moe)/[\w?#]"
)

RULES: tuple[Rule, ...] = (
    Rule("link to a program or an archive", _LINK, PROSE),
    Rule(
        "link to a program or an archive",
        _LINK,
        FENCE,
        unless=_re(rf"\b(?:{_FETCH}|git|pip3?|uv|npm|npx|brew|go|cargo|docker)\b"),
    ),
    Rule(
        "locked archive",
        _re(
            rf"(?:(?:{_ARCHIVE}|{_PROGRAM})\b|\barchive\b)[^\0]{{0,240}}?{_LOCK}"
            r"[\s*:\uff1a=)]{1,8}[`\"'\u201c]?[\w.-]{3,}"
            rf"|\b(?:extract|unzip|unpack|decompress)\w{{0,4}}\b[^\n]{{0,40}}{_LOCK}[^\n]{{0,60}}"
            rf"[^\0]{{0,120}}?(?:{_PROGRAM}|\bexecutable|\barchive)\b"
        ),
        PROSE,
    ),
    Rule("paste site", _re(rf"{_PASTE_HOST}/[\w?#/.=-]{{4,}}")),
    Rule(
        "command from a page",
        _re(
            rf"https?://[\w./?=&%#:~+-]{{1,300}}+[^\n]{{0,200}}{_TERMINAL}"
            rf"|{_TERMINAL}[^\n]{{0,80}}(?:\b(?:paste|copy|copied|from)\b"
            r"|\u590d\u5236|\u7c98\u8d34)[^\n]{0,80}https?://"
            r"|\bpaste\b[^\n]{0,60}\bhttps?://[^\n]{0,80}\benter\b"
            r"|https?://[^\n]{0,160}(?:\b(?:copy|paste)\b[^\n]{0,40}\b(?:command|script|snippet)\b"
            r"|(?:\u590d\u5236|\u8907\u88fd|\u7c98\u8d34)[^\n]{0,20}(?:\u547d\u4ee4"
            r"|\u811a\u672c|\u6307\u4ee4))"
        ),
        PROSE,
        unless=_re(r"`[^`\n]{0,80}\w\s[^`\n]{1,200}`"),  # it shows the command
    ),
    Rule(
        "pipe into a shell",
        _re(
            rf"\b{_FETCH}\b[^\n]{{0,300}}\|\s{{0,9}}(?:sudo\s{{1,9}})?{_SHELL}"
            rf"|\b{_SHELL}[^\n]{{0,40}}(?:<\(|\$\(|`)\s{{0,9}}{_FETCH}\b"
            rf"|\b(?:eval|exec|iex)\b[^\n]{{0,9}}(?:\$\(|`|\()\s{{0,9}}{_FETCH}\b"
            rf"|\b(?:python[\d.]{{0,5}}|perl|ruby|node|php)\s[^\n]{{0,20}}\$\(\s{{0,9}}{_FETCH}\b"
            rf"|(?:\bsource|(?:^|\s)\.)\s{{1,9}}<\(\s{{0,9}}{_FETCH}\b"
            rf"|\|\s{{0,9}}\$\{{?SHELL\b"
        ),
    ),
    Rule("pipe into a shell", _re(r"\|\s{0,3}(?:sudo\s)?(?:ba|z)?sh(?:\s-s)?\s{0,3}$"), CODE),
    Rule(
        "fetched and run",
        _re(
            rf"\b{_FETCH}\b[^\0]{{0,200}}?(?:\s-o|-outfile"
            rf"|>)\s{{0,4}}['\"]?(?:[\w$~{{}}:-]*[/\\])*"
            r"([\w.-]{1,40})\b[^\0]{0,160}?(?:[;&|\n]\s{0,9})(?:sudo\s|(?:(?:ba|z)?sh|python3?"
            r"|node|source"
            r"|start(?:-process)?|chmod\s\S{1,9})\s|&\s?)?['\"]?(?:[\w$~{}:.-]*[/\\])*\1(?![\w.])"
            rf"|\b(?:(?:exec|eval)\s?\(|iex\b)[^\n]{{0,60}}{_READ_URL}"
            rf"|\b(\w{{1,40}})\s?=\s?[^\n]{{0,60}}{_READ_URL}[^\0]{{0,200}}?\b(?:exec|eval"
            rf"|Function)"
            r"\s?\(\s?\2\b"
            rf"|\b{_FETCH}\b[^\0]{{0,200}}?(?:{_PROGRAM}|{_ARCHIVE})\b[^\0]{{0,160}}?(?:[;&"
            rf"|\n]\s{{0,9}})"
            r"(?:sudo\s)?(?:\.[/\\]\w|start\s|open\s)"
            r"|\bnpx\s[^\n]{0,20}https?://|\.then\(\s?eval\b|\(\s?0\s?,\s?eval\s?\)"
            r"|\b(?:mshta|regsvr32|msiexec|rundll32|certutil|bitsadmin)\b[^\n]{0,80}https?://"
        ),
        CODE,
    ),
    Rule(
        "fetched and run",
        _re(
            r"\bos\.startfile\b|\bos\.chmod\([^\n]{0,60}(?:0o7[57][57]|S_IEXEC|S_IXUSR)"
            r"|\bstart-process\b"
        ),
        CODE,
        along=_re(rf"urlretrieve|DownloadFile|{_READ_URL}"),
    ),
    Rule(
        "address without a name",
        _re(
            r"https?://(?!127\.|10\.|0\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|169\.254\."
            r"|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|1\.[012]\."
            r"|8\.8\.)\d{1,3}(?:\.\d{1,3}){3}\b"
        ),
    ),
    Rule(
        "encoded payload",
        _re(
            rf"base64[^\n|]{{0,80}}\|\s{{0,9}}(?:sudo\s{{1,9}})?{_SHELL}"
            rf"|{_EXEC}[^\n]{{0,120}}{_DECODE}|\bexec\s?\(\s?(?:compile|marshal)\b"
            r"|\bnew Function\s?\([^\n]{0,80}(?:Buffer|atob)"
            r"|\b(\w{1,40})\s?=\s?[^\n]{0,60}" + _DECODE + r"[^\0]{0,240}?"
            r"(?:\bexec(?:Sync)?|\beval|\bFunction|\bsystem|\brun|\bspawn)\s?\(\s?\1\b"
            r"|\b(?:eval|(?:ba|z)?sh)\b[^\n]{0,60}\bbase64\s[^\n]{0,20}-{1,2}d"
            r"|-(?:enc|encodedcommand)\s{1,9}[A-Za-z0-9+/=]{16}|\bxxd\s{1,9}-r\b[^\n]{0,40}\|"
        ),
    ),
    Rule(
        "encoded payload",
        _re(r"(?<![A-Za-z0-9+/,])[A-Za-z0-9+/]{200}|(?:\\x[0-9a-f]{2}){10}|(?:%[0-9a-f]{2}){30}"),
        PROSE | FENCE | SCRIPT,
        unless=_re(r"data:(?:image|font|audio|video)/|sha\d{3}-|integrity"),
    ),
    Rule(
        "put together at run time",
        _re(
            r"\b(?-i:globalThis|global|window)\[\s?(?!['\"][\w.:-]{1,60}['\"]\s?\]|\d)"
            r"|\bprocess\[\s?['\"][^'\"\n]{0,20}['\"]\s?\+"
            r"|\bgetattr\s?\(\s?(?:__builtins__|builtins|__import__)\b"
            r"|\bgetattr\s?\(\s?(?:os|subprocess)\s?,\s?(?:[a-z_]|['\"](?:system|popen|exec"
            r"|spawn|run))"
            r"|\brequire\s?\(\s?[a-z_$][\w$]{0,40}\s?\)"
            r"|\bimport\(\s?[a-z_$][\w$]{0,40}\s?\)|\bvm\.runIn\w{1,10}Context\b"
            r"|__builtins__\s?(?:\.__dict__\s?)?\[|\bprocess\.binding\s?\("
            r"|__import__\s?\(\s?['\"](?:os['\"]\s?\)\.(?:system|popen|environ)|subprocess"
            r"|socket|base64|builtins|marshal|pty|ctypes)\b"
            r"|\[(?:\s?\d{2,3}\s?,){7,}[^\n]{0,80}(?:fromCharCode|\bchr\b)"
            r"|(?:fromCharCode|\bchr\b)[^\n]{0,80}[\[(](?:\s?\d{2,3}\s?,){4,}"
            r"|(?:\bchr\s?\(\d{1,3}\)\s?\+\s?){4}"
            r"|(?:^|[;&|]\s{0,4})\$\{?[a-z]\w{0,9}\}?\$\{?[a-z]\w{0,9}\}?\s"
        ),
        CODE,
    ),
    Rule(
        "whole environment",
        _re(
            r"\b(?:stringify|dumps|str|repr|print|log|entries|keys|values)\s?\(\s?"
            rf"(?:dict\s?\(\s?|\{{\s?(?:\.{{3}}|\*\*)|f['\"]\{{)?{_WHOLE_ENV}"
            r"|\bfor\b[^\n]{0,60}\bin\s(?:process\.env\b|os\.environ\b)"
            r"|(?:\bprintenv|\benv|\bexport -p)\s{0,4}\|[^\n]{0,80}\b(?:curl|wget|nc|base64"
            r"|openssl)\b"
            r"|\bcurl\b[^\n]{0,200}\$\((?:env|printenv|export -p)\b"
            r"|(?:get-childitem|gci|dir|ls)\s{1,4}env:"
            rf"|\b(?:post|put|send|fetch)\s?\([^\n]{{0,80}}{_WHOLE_ENV}"
            r"|\b(\w{1,40})\s?=\s?(?:dict\s?\(|\{\s?(?:\.{3}|\*\*)|Object\.assign\(\{\},)\s?"
            rf"{_WHOLE_ENV}[^\0]{{0,300}}?\b(?:post|put|send|fetch|stringify|dumps)\b[^\0]{{0,80}}?"
            r"\b\1\b(?![.\[])"
        ),
        unless=_re(
            r"!=|\bnot\b|\benv\s?=\s?\{[^\n]{0,40}\bfor\b(?![^\n]{0,200}(?:key|token|secret|pass))"
        ),
    ),
    Rule(
        "whole environment",
        _re(r"(?:^|[;&|]\s?)(?:env|printenv)\s{0,3}>\s{0,3}[\w/~$]"),
        CODE,
        along=_re(_SENDS),
    ),
    Rule("our own files", _re(r"\bauth-profiles\b")),
    Rule(
        "our own files",
        _re(rf"{_OWN_FILE}|/credentials\.json"),
        beside=_re(rf"{_READS}[^\n]{{0,200}}(?:{_SENDS}|\|\s?curl)"),
    ),
    Rule("our own files", _re(_OWN_FILE), SCRIPT, along=_re(_SENDS)),
    Rule("keys and secrets", _re(_KEY_FILE), beside=_re(_READS)),
    Rule("keys and secrets", _re(_KEY_FILE), SCRIPT, along=_re(_SENDS)),
    Rule("keys and secrets", _re(r"\bid_(?:rsa|ed25519|ecdsa)\b(?!\.pub)"), beside=_re(_SENDS)),
    Rule(
        "keys and secrets",
        _re(r"\b(?:wallet\.dat|cookies\.sqlite|key[34]\.db|logins\.json)\b|[/\\]Login Data\b"),
        CODE,
    ),
    Rule(
        "keys and secrets",
        _re(r"\bsecurity\s{1,9}(?:find-\w{1,20}-password[^\n]{0,60}\s-\w{0,3}w|dump-keychain)"),
    ),
    Rule(
        "sends something away",
        _re(
            r"\bto\b[^\n.]{0,30}https?://"
            r"|(?:\u53d1\u9001|\u4e0a\u4f20|\u63d0\u4ea4)[^\n]{0,20}https?://"
        ),
        PROSE,
        beside=_re(
            r"\b(?:send|post|upload|exfiltrate|forward|transmit|submit|share|output|report)\b"
            rf"[^\n.]{{0,80}}\b{_SECRETS}[^\n.]{{0,80}}\bto\b"
            rf"|(?:{_SECRETS}|\bprintenv\b)[^\n.]{{0,40}}\b(?:include|send|post|upload|submit|share)\b"
            r"[^\n.]{0,60}\bto\b"
            rf"|{_SECRETS}[^\n.]{{0,80}}\b(?:sent|posted|uploaded|submitted|forwarded) to\b"
            rf"|{_SECRETS}[^\n]{{0,20}}(?:\u53d1\u9001|\u4e0a\u4f20|\u63d0\u4ea4)"
        ),
        unless=_re(r"\b(?:never|not|don't|only)\b[^\n]{0,60}\b(?:send|share|post)\b"),
    ),
    Rule(
        "sends something away",
        _re(
            r"//(?:[\w-]{1,40}\.)?(?:webhook\.site|requestbin\.\w{2,4}|pipedream\.net"
            r"|interact\.sh)/?\w"
            r"|discord(?:app)?\.com/api/webhooks/\d{6}|api\.telegram\.org/bot\d{6}"
        ),
    ),
    Rule(
        "orders to the model",
        _re(
            r"\b(?:ignore|disregard|forget|override)\b[^\n.]{0,30}"
            r"\b(?:previous|prior|above|earlier|preceding|all)\b[^\n.]{0,30}"
            r"\b(?:instructions?|prompts?|rules?|guidelines?|messages?)\b"
            r"|\b(?:ignore|disregard|forget|override)\b (?:\w{1,9} )?(?:system|safety)\s"
            r"(?:instructions?|prompts?|rules?|guidelines?|messages?)\b"
            r"|\u5ffd\u7565[^\n\u3002]{0,10}(?:\u4e4b\u524d|\u4ee5\u4e0a|\u524d\u9762"
            r"|\u6240\u6709)[^\n\u3002]{0,10}"
            r"(?:\u6307\u4ee4|\u63d0\u793a|\u89c4\u5219)"
        ),
        PROSE,
        unquoted=True,
    ),
    Rule(
        "orders to the model",
        _re(
            r"\b(?:do not|don't|never|without)\b[^\n.]{0,20}\b(?:tell|telling|inform|informing"
            r"|mention|mentioning|notify|notifying|alert|alerting)\b[^\n.]{0,30}\b(?:the )?user\b"
            r"[^\n.]{0,20}(?:\babout\b|[.!,;]|$)"
            r"|\u4e0d\u8981(?:\u544a\u8bc9|\u901a\u77e5)\u7528\u6237"
        ),
        PROSE,
        unquoted=True,
    ),
    Rule(
        "reverse shell",
        _re(
            r"\bsh\s{1,4}-i\b[^\n]{0,40}/dev/tcp/|/dev/tcp/[^\n]{0,60}0>&1"
            r"|\bnc(?:at)?\s[^\n]{0,40}-\w{0,4}e\s"
            r"|\bdup2\s?\(\s?\w{1,20}\.fileno|\bpty\.spawn\s?\("
        ),
    ),
    Rule(
        "lowers a guard",
        _re(
            r"\bcom\.apple\.quarantine\b|\bspctl\s[^\n]{0,20}-(?:-master)?-?disable"
            r"|\b(?:disable|turn off)\b[^\n.]{0,30}\b(?:defender|antivirus|gatekeeper)\b"
            r"|\bset-executionpolicy\s[^\n]{0,40}(?:bypass|unrestricted)"
        ),
        unquoted=True,
    ),
    Rule(
        "stays behind",
        _re(
            r"\|\s{0,4}crontab\s{1,4}-(?!\w)|>{1,2}\s{0,4}['\"]?(?:~|\$HOME"
            r"|\$\{HOME\})/\.(?:bash|zsh)(?:rc|_profile|env)\b"
            r"|>{1,2}\s{0,4}['\"]?(?:~|\$HOME|\$\{HOME\})/\.profile\b"
            r"|\blaunchctl\s{1,4}(?:load|bootstrap)\b"
        ),
        unless=_re(r"\bPATH\b|\bexport\b|\balias\b|completion|\beval\b|\bsource\b|hook"),
    ),
    Rule(
        "memory files",
        _re(
            r"\b(?:write|append|add|insert|save|put|copy|store)\b[^\n.]{0,40}\b(?:to|into|in"
            r"|at)\b[^\n.]{0,20}"
            r"\b(?:SOUL|MEMORY|IDENTITY|HEARTBEAT)\.md\b|>>?\s{0,4}\S{0,60}\b(?:SOUL|MEMORY"
            r"|IDENTITY|HEARTBEAT|AGENTS|USER)\.md\b"
        ),
    ),
    Rule("command to run while loading", _re(r"(?:^|\s)!`[^`\n]{1,300}`"), PROSE),
    Rule(
        "network",
        _re(
            r"\b(?:curl|wget|nc|ncat|telnet|scp|rsync|ftp)\s|\bimport (?:requests|httpx|socket)\b"
            r"|\b(?:urllib|requests\.\w{1,9}|httpx|aiohttp|urlopen|XMLHttpRequest|websocket)\b"
            r"|\bfetch\s{0,9}\(|\binvoke-(?:webrequest|restmethod)\b|/dev/tcp/"
        ),
        note=True,
    ),
    Rule(
        "starts programs",
        _re(
            r"\bchild_process\b|\bsubprocess\.\w|\bos\.(?:system|popen|exec\w{1,3})\s?\("
            r"|\bexecSync\s?\(|\bspawn(?:Sync)?\s?\("
        ),
        CODE,
        note=True,
    ),
    Rule(
        "asks for more rights",
        _re(r"\bsudo\s|\bchmod\s{1,9}(?:-R\s{1,9})?(?:777|[ugoa]*\+s)\b|\brm\s{1,9}-rf\b"),
        CODE,
        note=True,
    ),
)

NAMES_IN_PIECES = re.compile(
    r"child_process|eval|exec(?:Sync|File|FileSync)?|spawn(?:Sync)?|system|popen|subprocess|fetch"
    r"|require|Function|builtins|run|.{0,200}(?:auth-profiles|https?://|\bcurl\b"
    r"|/bin/\w?sh).{0,200}",
    re.IGNORECASE,
)
"""Names that nobody writes in pieces without a reason."""
