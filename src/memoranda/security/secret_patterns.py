"""The shapes of secrets, as data: keys of vendors by prefix and length, and secrets that are said in a sentence.

The text of a group named `keep` stays in front of the replacement. Every repetition is bounded, so no text makes them slow.
"""

from __future__ import annotations

import re
from typing import Final

_FIELD: Final = (
    r"(?i:(?<!/)(?:pass(?:word|wd|phrase|code)|(?-i:(?<![A-Za-z])(?:pass|PASS|Pass)|(?<=[a-z])Pass)|pwd|secret(?:s?_key_base)?|(?<!next_)(?<!page)(?<!page_)token|credentials?|private-token|apikey|"
    r"(?:api|secret|access|private|signing|encryption|master|account|shared|auth|licen[cs]e|deploy|wpa|wifi|psk|app|service|storage|webhook)[_. -]?(?:access[_-]?)?key))"
)
"""The name of a field, a variable or a header that ends in a word for a secret."""
_NO_VALUE: Final = (
    r"(?!(?i:\[redacted\]|\[?redacted|\$|%[(\w]|<|\{|!|os\.|env|getenv|process\.|config|settings|self\.|args|options|secrets?\.|vault|await|new |function|"
    r"[+.]|(?:none|null|nil|undefined|true|false|yes|no|on|off|str|string|text|int|bool|bytes|any|password|passwort|secret|token|required|optional|hidden|empty|blank|unset|disabled|enabled|changeme|"
    r"valid|invalid|correct|incorrect|wrong|expired|missing|unknown|see|ask|same|default|placeholder|todo|tbd|example|is|the|a|an|in|not)\b|"
    r"\*{2}|your[-_ ]|(?:my|some|the|insert|enter|replace|put|dummy|fake|sample|example)[-_ ][a-z_-]{0,30}(?:key|secret|token|pass|password|here|value)\b|x{4}|\.{3}|[\w.]{1,60}[(\[]|/(?:run|etc|var|home|usr)/|https?:))"
)
"""What follows such a name but stands for a value that is elsewhere, is code, or describes it."""

VENDOR_KEYS: Final = (
    r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    r"\bsk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic and compatible services
    r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/=]{16,}",  # Stripe
    r"\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{30,}",
    r"\bgl(?:pat|dt|rt|ptt|soat|cbt|ft|agent|imt)-[A-Za-z0-9_-]{18,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}",  # Slack
    r"(?P<keep>\bhooks\.slack\.com/services/)[A-Za-z0-9/_-]{20,}|(?P<keep2>\bdiscord(?:app)?\.com/api/webhooks/)\d{10,}/[\w-]{20,}",
    r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b",  # AWS
    r"(?P<keep>\b(?:AKIA|ASIA)[A-Z0-9]{16}\b[^\w\n]{1,8}(?:\w{1,20}[:= ]{1,3})?)[A-Za-z0-9+/]{40}\b",
    r"\bLTAI[A-Za-z0-9]{12,24}\b|\bAKID[A-Za-z0-9]{13,40}\b",  # Alibaba, Tencent
    r"\bAIza[A-Za-z0-9_-]{30,}|\bGOCSPX-[A-Za-z0-9_-]{20,}|\b1//0[A-Za-z0-9_-]{30,}",  # Google
    r"\bya29\.[A-Za-z0-9_-]{20,}",
    r"\b(?:hf|gsk|npm)_[A-Za-z0-9]{30,}",
    r"\b(?:hf|gsk|npm|r8|dop_v1|doo_v1|dor_v1|shpat|shpss|shpca|shppa|lin_api|ntn|figd|rubygems|sbp|sntrys|phc|phx|rnd|dckr_pat|glsa|glc|"
    r"ATCTT3xFfG|pscale_tkn|pscale_pw|key_live|rdme|vc[apst]|prefect|pnu|pul|tfp|cfut|cfat|fo1|fm2|fio-u|EZAK|EZTK|ops|oat|pcsk|csk|fw|xai|nvapi|"
    r"tvly|pplx|tskey|xkeysib|xsmtpsib|PMAK|sq0atp|sq0csp|AGE-SECRET-KEY|CFPAT|NRAK|NRJS|NRII|ABSK|cio|bkua|aio|sk_prod|sgp)[-_](?=[A-Za-z_-]{0,512}\d)[A-Za-z0-9_-]{16,}",
    r"\bsecret_[A-Za-z0-9]{40,}",  # Notion
    r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}|\bdp\.(?:pt|st|ct|sa)\.[A-Za-z0-9._-]{30,}|\bs\.[A-Za-z0-9]{24}\b",  # Vault, Doppler
    r"\bpypi-[A-Za-z0-9_-]{20,}|(?i:\bage-secret-key-1)[a-zA-Z0-9]{20,}",
    r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",  # SendGrid
    r"\bSK[0-9a-f]{32}\b|\bkey-[0-9a-f]{32}\b|\b[0-9a-f]{32}-us\d{1,2}\b",  # Twilio, Mailgun, Mailchimp
    r"\bkey(?=[a-z0-9]{0,13}[A-Z])(?=[A-Za-z]{0,13}\d)[A-Za-z0-9]{14}\b|\bGR1348941[\w-]{20,}|\bsl\.[\w-]{50,}|\bsk\.eyJ[\w-]{20,}\.[\w-]{16,}",  # Airtable, GitLab, Dropbox, Mapbox
    r"\bATATT3[A-Za-z0-9_=-]{30,}|\bpat[A-Za-z0-9]{14}\.[0-9a-f]{60,}|\bEAA[A-Z][A-Za-z0-9]{40,}",  # Atlassian, Airtable, Meta
    r"\b\d{8,10}:AA[A-Za-z0-9_-]{30,}|\b[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{25,}",  # Telegram, Discord
    r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # JSON Web Token
    r"(?P<keep>\b(?:[Bb]earer|BEARER)\s{1,4})[A-Za-z0-9._~+/-]{8,}=*",
    # After "Authorization:" only; in a sentence, "Basic" is followed by words such as "understanding".
    r"(?P<keep>\bBasic )[A-Za-z0-9+/]{12,512}={1,2}(?!\w)",
    r"(?P<keep>\b[Aa]uthorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:[Bb]asic|[Tt]oken|[Aa]pi[Kk]ey)\s{1,4})[A-Za-z0-9+/._-]{8,}=*",
    r"(?P<keep>\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@\"'<>]{0,256}:)(?!(?i:pass ?word|passwd|pass|pwd|secret|change_?me|your[-_]?\w*|example|placeholder|x{3,}|\*{3,}|\$\{?\w+\}?|\{\w+\}|%\w+%|\[\w+\])@)[^\s/@\"'<>]{1,256}(?=@)",
    r"\b[5KL][1-9A-HJ-NP-Za-km-z]{50,51}\b|\b[xyz]prv[1-9A-HJ-NP-Za-km-z]{90,}|\bnsec1[02-9ac-hj-np-z]{50,}",  # wallets
    r"(?P<keep>(?i:[?&;](?:access_token|auth_token|id_token|refresh_token|token|api_?key|apikey|key|auth|sig|signature|x-amz-signature|password|pwd|"
    r"pass|secret|client_secret|jwt|session_?id|sessionid|sid|sas|code)=))(?=[^\s&#\"'<>]{0,512}\d)[^\s&#\"'<>]{8,512}",
    r"(?P<keep>(?i:\botpauth://[^\s?]{0,200}\?(?:[^\s&]{0,80}&){0,4}secret=))[A-Za-z2-7]{10,}",
    r"(?P<keep>\bhttps?://[^\s?]{0,80}/(?:private-|calendar/|ical/))(?=[\w@.%-]{0,80}[0-9a-f]{16})[\w@./%-]{20,}",
    # A private key that is cut at its beginning, or kept by PuTTY.
    r"(?:(?m:^)[A-Za-z0-9+/=]{16,200}\r?\n){1,100}+-----END (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----|(?P<keep>\bPrivate-Lines: \d+\s)[A-Za-z0-9+/=\s]{32,}",
    # Hashes of passwords: crypt, bcrypt, argon2, LDAP, Django.
    r"\$(?:apr1|1|2[abxy]|5|6|7|y|argon2\w{1,2}|scrypt|pbkdf2[\w-]{0,10})\$[^\s:;\"']{20,}|\{S?SHA\d{0,3}\}[A-Za-z0-9+/=]{20,}|\bpbkdf2_sha\d+\$\d+\$\S{20,}",
    r"(?P<keep>(?i:\bwifi:)(?:[A-OQ-Z]:[^;\n]{0,64};){0,4}P:)(?:\\.|[^;\n]){4,64}",  # the text of a Wi-Fi QR code
    # A token as the user of a URL, and tokens in the path of web hooks, bots and links to reset or join.
    r"(?P<keep>\bhttps?://)(?=[^\s@/:]{0,512}\d)(?=[^\s@/:]{0,512}[A-Za-z])[^\s@/:.]{20,256}(?=(?::x-oauth-basic)?@)",
    r"(?P<keep>\bhttps?://[^\s/]{0,80}hooks?[^\s/]{0,60}/(?:[a-z]{2,20}\d?/){0,4})(?=\S{0,120}(?:[A-Za-z]\d|\d[A-Za-z]|\d{6}))[\w@/%=.-]{12,}|(?P<keep2>\bhttps?://[^\s?]{0,120}/(?:web)?hooks?\w{0,4}/)(?=\S{0,120}(?:[A-Za-z]\d|\d[A-Za-z]|\d{6}))[\w@/%=-]{12,}",
    r"(?P<keep>\bhttps?://[^\s?]{0,120}/(?:reset|reset-password|invite|join|magic|magic-link|verify|confirm|activate|unsubscribe|login|auth)/)(?=\S{0,512}\d)(?=\S{0,512}[A-Za-z])[\w=-]{20,}",
    r"(?P<keep>/bot)\d{6,12}:[\w-]{30,}",
    # Session cookies and signatures of requests.
    r"(?P<keep>(?i:(?<![\w.-])(?:[\w.-]{0,20}sess(?:ion)?[\w.-]{0,6}|connect\.sid|sid|csrf[_-]?token|auth[\w-]{0,10}|remember_\w{1,20})=))(?!\$|<|\{)(?=[^\s;&\"']{0,512}\d)[^\s;&\"',]{16,}",
    r"(?P<keep>\b(?:Signature|response|oauth_signature)=\"?)[\w%+/=]{28,}",
    r"(?P<keep>\bjdbc:oracle:\w+:[\w.-]{1,40}/)[^\s@/]{3,64}(?=@)|(?P<keep2>(?<!\S)[\w.*-]{1,80}:(?:\d{2,5}|\*):[\w*-]{1,40}:[\w-]{1,40}:)(?!\d+:\d+)[^\s:]{4,}(?=\s|$)",
    r"(?P<keep>(?i:<(?:[\w.:-]{0,30})(?:password|passwd|passphrase|secret|token|api_?key)>))[^<\s$*{]{3,}(?=</)",
    r"(?P<keep>(?i:\b(?:key|name)=\"[\w.:-]{0,40}(?:password|passwd|passphrase|secret|token|api_?key|pwd)\"\s{1,3}value=\"))[^\"<$*{]{3,}",
    # A name that ends in a word for a secret, with a value. A plain word counts when the line or the list goes on after it.
    rf"(?P<keep>{_FIELD}[\"']?\s{{0,4}}(?:=>|:=|[=:])\s{{0,4}}[\"'`]?){_NO_VALUE}(?:(?<=[\"'`])(?!\s*[\"'`])[^\"'`\n]{{4,200}}(?=[\"'`])|"
    r"(?=[^\s\"',;&]{0,512}[\d!@#%^&*_+=~-])[^\s\"'`,;&<]{4,}|(?:(?<=[=\"])|(?<=: ))(?![A-Z][a-z])[^\W\d_]{3,40}(?=[;&,}\"']|\s*(?:\n|$)))",
    r"(?P<keep>(?i:(?:^|\n)\s{0,8}(?:ENV|export|set|SETX?) [\w.]{0,40}(?:password|passwd|secret|token|api_?key|pwd) ))(?![$<{*])[^\s=]{4,}(?=\s*(?:\n|$))",
)  # fmt: skip

_DIGIT_WORDS: Final = (
    "zero|oh|one|two|three|four|five|six|seven|eight|nine|null|eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|"
    "cero|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|zéro|un|deux|trois|quatre|cinq|sept|huit|neuf|due|quattro|cinque|sei|sette|otto|nove|um|dois|três|quatro|oito|nul|een|twee|drie|vijf|zes|zeven|negen"
)
_WORDS: Final = (
    r"(?:mdp|digicode|\w{1,15}(?:passwort|kennwort|wachtwoord)|code (?:de l['’]|du |de la |d['’])(?:immeuble|entrée|porte|portail|garage|alarme|coffre|bâtiment|résidence)|pass ?words?|(?:secret|security|magic|safe) (?:words?|phrases?|answers?)|code ?words?|pass ?codes?|pass ?phrases?|pass ?keys?|passwd|pwd|pw|pins?(?: codes?| numbers?)?|api[ -]?keys?|secret[ -]?keys?|access[ -]?keys?|"
    r"(?:access|auth|api|bearer|refresh|session|bot|personal access|security) ?tokens?|client secrets?|license keys?|(?:wi-?fi|wlan|wpa2?|network|router|hotspot)[ -]keys?|"
    r"(?:security|door|gate|alarm|lock|safe|access|entry|unlock|vault|garage|keypad|intercom|building|voicemail|sim|screen|cvv|cvc|cvv2|otp|verification|"
    r"one[- ]time|backup|recovery|confirmation|2fa|mfa|auth(?:entication)?|login) (?:codes?|pins?|combinations?|combos?)|"
    r"(?:security|access|unlock|verification|cvv|cvc|otp|login) numbers?|"
    r"combinations?(?: (?:to|of|for) (?:the|my|our) (?:\w+ )?(?:safe|lock|locker|vault))?|cvv2?|cvc|otp|"
    r"passw[oö]rt|kennwort|geheimzahl|zugangscode|zugangsdaten|türcode|wlan-?(?:passwort|schlüssel)|mots? de passe|code (?:pin|secret|d'acc[eè]s|de la porte|du portail)|contrase[nñ]as?|clave(?: de acceso| del wifi| secreta)?|"
    r"senhas?|palavra-passe|parola d'ordine|codice (?:pin|segreto|di accesso)|wachtwoord|pincode|toegangscode|has[lł]o|kod (?:pin|dostępu|do \w+)|пароль|пин-?код|код доступа|lösenord|adgangskode|passord|kodeord|salasana|heslo|şifre|parola)"
)
_LINK: Final = (
    r"(?:\s{0,3}(?:[:=]|->|→|—|–)\s{0,3}|['’]s\s{1,3}|,?\s{1,3}(?:c['’]est|is|was|are|will be|would be|remains|should be|being|has been (?:set|changed|reset) to|(?:is )?(?:now )?(?:set|changed|reset) to|"
    r"is now|now is|is still|still is|reads|goes|lautet|ist|heißt|est|es|será|sera|è|é|sarà|jest|to(?= \S*\d)|brzmi|это|är|er|on|je|is nu)(?: now| still|:)?\s{1,3})"
)
_OF: Final = r"(?:(?: of| for| to| on| at| in| für| fürs| zum| vom| von| pour| de| du| del| della| para| per| do| da| voor| van| dla| från| til)(?: \S{1,30}){1,4}?)?"
_STRONG: Final = r"(?!\*\*|![a-z]+\s)(?=[^\s\"'`“”]{0,512}[\d!@#$%^&*_+=~])[^\s\"'`“”,;]{3,}"
"""A value with a digit or a symbol in it: "my password is too long" is no secret."""

_MIXED: Final = r"(?=[^\s\"'`“”,;)]{0,512}\d)(?=[^\s\"'`“”,;)]{0,512}[A-Za-z])[^\s\"'`“”,;()]"
"""Letters and digits in one value: a word, a year or a price has only one of them."""
_PASSWORD: Final = r"(?:pass ?word|pass ?code|pass ?phrase|passwd|pwd|passwort|kennwort|mot de passe|contrase[nñ]a|senha|wachtwoord|has[lł]o|пароль|lösenord|heslo|şifre)"

_DOORS: Final = (
    r"alarm|alarm ?anlage|alarma|alarme|allarme|front door|back door|door|haustür|tür|porte|puerta|porta|deur|voordeur|gate|tor|portail|port[oó]n|cancello|portão|poort|safe|tresor|coffre|"
    r"caja fuerte|cassaforte|cofre|kluis|lock|lock ?box|key ?box|padlock|schloss|fahrradschloss|cadenas|candado|lucchetto|cadeado|slot|locker|spind|casier|taquilla|garage|keypad|vault|schließfach|digicode|intercom|suitcase|koffer|shed"
)
_DEVICES: Final = r"phone|handy|téléphone|m[oó]vil|telefono|telefoon|telefone|tablet|ipad|iphone|laptop|screen|voice ?mail|mailbox|storage unit|building|gym|sim|entrance|elevator|office"
_CODE: Final = (
    r"(?!(?:fehler|post|zip|area|error|bar|farb|quell|source|qr|exit|dress|status|country|l[äa]nder|promo|rabatt|kortings|land|bron|streep|byte|uni|en|de|trans|opcode)code)\w{3,24}code|"
    r"(?:verification|confirmation|security|access|login|atm|card|bank|voice ?mail|door|gate|alarm|unlock|entry|lock ?box|storage|tablet|phone|ipad|pickup|auth\w{0,12}|2fa) (?:code|pin)|one[- ]time (?:code|pin|pass ?word|pass ?code)|"
    r"c[oó]digo de (?:verificaci[oó]n|confirmaci[oó]n|seguridad|acceso|seguran[çc]a|verifica[çc][ãa]o|confirma[çc][ãa]o|acesso)|(?:c[oó]digo|codice) (?:del?l?a?|do|da|dell['’]) ?(?:\w+ )?(?:alarm[ea]|allarme|puerta|porta|cancello|port[oó]n|portão|garage|garaje|garagem)|"
    r"m?tan|code de (?:validation|connexion|d[ée]verrouillage)|codice (?:di )?(?:verifica|conferma|accesso|sicurezza)|code de (?:confirmation|v[ée]rification|s[ée]curit[ée]|l['’]alarme)|(?:tablet|phone|ipad|laptop) code|digicode"
)
_SIGN_IN: Final = r"router|modem|wi-?fi|wlan|guest wi-?fi|hotspot|printer|log ?in|log in|sign in|laptop|computer|pc|nas|server|account|portal|vpn|netflix|spotify|disney|amazon|paypal|e-?mail|gmail|website|forum|tablet|network|netz|netzwerk|admin|drucker|konto|compte|cuenta|conto|conta|account"
_ACCOUNTS: Final = r"wi-?fi|wlan|vpn|log ?in|log in|log on|sign in|account|nas|router|netflix|hulu|spotify|disney|paypal|gmail|konto|compte|cuenta"
_WORD_AND_DIGITS: Final = r"(?:[A-Za-z]{4,20}[_!.-]?|[a-z]{3,12}(?:-[a-z]{3,12}){1,4}-)\d{2,8}[!?#*$]?(?![\w-])"
"""Passwords as people make them; product names have other shapes, or are named in `_TECHNICAL`."""
_TECHNICAL: Final = r"(?i:chrome|firefox|safari|android|ios|python|oauth|utf|sha|http|tls|ssl|ipv|mp\d|md\d|base\d|x86|amd|arm|ed25519|rsa|aes|web\d|sqlite|log4|neo4|k8s|s3|ec2|wpa|usb|wi-?fi|office|windows|ubuntu|debian|node|php|java|vue|es\d|h\.?26|rs\d|cat\d|\w+[@-]?v\d|port\b|ipad|iphone|imap|pop3|smtp|802)"
"""Names of standards and products that have digits in them."""
_PAPERS: Final = (
    r"ssn|social security|social insurance|national insurance|tax(?:payer)? (?:id|file)|nino|medicare|aadhaar|passport|reisepass|passeport|pasaporte|passaporto|passaporte|paspoort|"
    r"personalausweis|ausweis|carte d['’]identité|carta d['’]identità|identity card|id card|dni|nie|nif|cpf|bsn|burgerservicenummer|pesel|steuer-?(?:id|nummer|identifikations)|"
    r"sozialversicherungs|rentenversicherungs|krankenversicherten|seguridad social|sécurité sociale|(?:num[ée]ro de )?sécu|cédula|rg|cnh|codice fiscale|tessera sanitaria|rijbewijs|führerschein|permis de conduire|patente|carnet de conducir"
)
_CODE_ENDS: Final = (
    r"(?=[.,;!?)]|\s*$|\s+(?i:and|then|now|so|but|und|dann|aus|et|puis|y|e|en|again|followed|hash|pound)\b)(?![.,]\d)"
)
"""No unit follows: "the gate is 4417 mm wide"."""

SPOKEN: Final = (
    # A code opens, unlocks or silences something.
    rf"(?P<keep>(?i:\b(?:{_DOORS})\b(?![^.\n\d]{{0,30}}\b(?:number|nummer|numéro|número)\b)[^.\n\d]{{0,30}}?(?:['’]s|:| =|\?| is| ist| est| es| è| é| needs| takes| wants| braucht| code| combo| combination| pin)\s{{1,3}}))(?!\d{{4}}-\d\d-)[#*]?\d(?:[ -]{{0,3}}\d){{3,7}}[#*]?{_CODE_ENDS}",
    rf"(?P<keep>(?i:\b(?:{_DOORS}|{_DEVICES})\b[^.\n\d]{{0,30}}? (?:open|unlock|work|disarm|se coupe|s['’]ouvre|se abre|se apaga|se desactiva|si apre|si spegne|abre|desliga|geht|öffnet|entsperr|gaat|opent)\w{{0,3}}(?: \w+)? (?:with|using|on|to|avec|con|com|mit|met) ))[#*]?\d(?:[ -]{{0,3}}\d){{3,7}}[#*]?(?![\w:.,]?\d)",
    rf"(?P<keep>(?i:\b(?:{_DOORS})\b[^.\n\d]{{0,30}}? (?:at|to|is|on) ))\d{{1,2}}(?: ?- ?\d{{1,2}}){{2,3}}(?![\w-])",
    rf"(?P<keep>(?i:\b(?:press|type|enter|punch in|punch|key in|put in|tap|dial|tippe?|drück\w{{0,2}}|gib|tapez|tape|composez|teclea|marca|pulsa|introduce|digita|digite|premi|inserisci|toets|druk)(?: in)? ))[#*]?\d{{4,8}}[#*]?(?=[^.\n]{{0,60}}?(?i:#|\b(?:{_DOORS}|{_DEVICES}|open|unlock|get in|disarm|green button|hash|pound)\b)|(?<=#))",
    rf"(?P<keep>(?i:(?<!zip )(?<!area )(?<!post )(?<!postal )(?<!promo )(?<!country )\b(?:pin|code|pass ?code|combination)\b[^.\n\d]{{0,40}}?(?:now it['’]s|it['’]s(?: now)?|is now)\s))[#*]?\d{{4,8}}[#*]?{_CODE_ENDS}",
    rf"(?P<keep>(?i:\b(?:disarm|open|unlock|deactivate|turn off|entsperr\w{{0,3}}|öffne\w{{0,2}}|ouvre\w{{0,2}}|abre|apri)\b[^.\n\d]{{0,20}}\b(?:{_DOORS}|{_DEVICES})\b[^.\n\d]{{0,10}} (?:with|using|mit|avec|con|com|met) ))[#*]?\d(?:[ -]?\d){{3,7}}[#*]?{_CODE_ENDS}",
    rf"(?P<keep>(?i:\b{_PASSWORD}(?: \w{{3,15}}){{1,2}}: ?)[\"'`“]?)(?!{_TECHNICAL}){_MIXED}{{6,}}",
    # A code of a message: "… is your code", "use … to verify".
    rf"\b(?:[A-Z]-)?\d{{3}}[ -]?\d{{1,5}}\b(?=,? (?i:is|ist|est|es|è|é) (?i:your|the|dein|ihr|votre|ton|tu|su|il tuo|o seu|seu|je|uw)\b(?i:[^.\n]{{0,40}}?\b(?:{_CODE}|otp|pin|pass ?word)\b))",
    r"(?P<keep>(?i:\b(?:use|enter|type) (?:code )?))\d{3}[ -]?\d{1,5}\b(?= (?i:to (?:verify|confirm|log|sign|authenticate|reset|complete|validate|activate|access)|as your))",
    rf"(?P<keep>(?i:\b(?:{_CODE})\b{_OF}(?:{_LINK}|\?\s)))(?:[A-Z]-)?[#*]?\d(?:[ -]?\d){{3,8}}[#*]?(?!\w)",
    rf"(?P<keep>(?i:\b(?:{_CODE}|(?<!zip )(?<!area )(?<!post )(?<!postal )(?<!error )(?<!promo )code (?:for|of|to|für|pour|de|del|do|da|van|voor) (?:\w+ ){{0,3}}?(?:{_DOORS}|{_DEVICES}))(?: (?:für|for|of|to) (?:\w+ ){{0,3}}\w+)?(?:\s{{0,2}}[:=?]| is| ist| lautet| est| es| è| é)?\s{{1,3}}))[#*]?\d(?:[ -]?\d){{3,7}}[#*]?(?!\w)",
    # A value of letters and digits that is used for something one signs in to.
    rf"(?P<keep>(?i:\b(?:use|used|try|enter|type|put|with|take|nimm|nutze|utilise|usa|gebruik) [\"'`“]?))(?!{_TECHNICAL})(?=[a-z\W\d]|[A-Z][a-z])(?=[^\s\"'`]{{0,512}}\d){_MIXED}{{5,40}}(?=[\"'`”]? (?i:for|at|für|pour|para|per|voor) (?i:(?:the|my|our|your|das|den|die|le|la|el|il|o|a|de|het) )?(?i:\w+ ){{0,2}}(?i:{_SIGN_IN})\b(?!['’]s? \w|[ -](?i:cable|driver|config|code|tests?|build|side)))",
    rf"(?P<keep>(?i:\b(?:{_SIGN_IN}|sign up|signs? me up)\b[^.\n]{{0,50}}?\b(?:get in|log in|sign in|go|connect|unlock\w*|log on) with [\"'`“]?))(?!{_TECHNICAL}){_MIXED}{{6,40}}",
    rf"(?P<keep>(?i:\b(?:go|log in|sign in|connect) with [\"'`“]?))(?!{_TECHNICAL})(?=[a-z]|[A-Z][a-z]){_MIXED}{{6,40}}(?=[^.\n]{{0,40}}(?i:\b(?:site|sign|log|account|register)))",
    rf"(?P<keep>(?i:\b(?:{_ACCOUNTS})\b[^.\n]{{0,30}}(?:\.\w[^.\n]{{0,20}})?\b(?:use|used|try|need|with|enter|type|put)) [\"'`“]?)(?!{_TECHNICAL}){_WORD_AND_DIGITS}",
    rf"(?P<keep>(?i:\b(?:use|used|try|need|enter|type|put|made it) [\"'`“]?))(?!{_TECHNICAL}){_WORD_AND_DIGITS}(?=[^.\n]{{0,40}}\b(?i:{_ACCOUNTS}|pass ?word)\b)",
    rf"(?P<keep>(?i:\b(?:get in|get into|open|unlock|{_DOORS}|building)\b[^.\n\d]{{0,40}}\b(?:dial|press|type|enter|punch in|tap|tapez|tippe|teclea|digita|toets) ))[#*]?\d{{4,8}}[#*]?(?!\w|[:.,]\d| ?(?i:euros?|times|mm|kg))",
    r"(?P<keep>(?i:\b(?:enter|type) ))\d{4,8}(?= (?i:to|um|pour|para|per|om)\b)",
    # How a password is made, and then the password.
    rf"(?P<keep>(?i:\b(?:(?:word|birthday|year|backwards|twice|capital|plus|followed by|geburtsjahr)\b[^.\n:]{{0,30}}|(?:name|nom|nombre|nome|naam)\b[^.\n:]{{4,30}}): ))(?=[a-z]|[A-Z][a-z]){_MIXED}{{5,40}}(?=[.!]?\s*$)",
    # The numbers of a person: tax, insurance, identity papers.
    rf"(?P<keep>(?:(?i:\b(?:{_PAPERS})|\b(?:driv(?:er['’]?s?|ing)['’]? licen[cs]e))|\b(?:SIN|PAN|TFN|EIN|NI|NIE|NIF|RUT|ABN|ITIN|NHS|AHV|BSN|CPF|CURP|RFC))(?i:[ -]?(?:number|no\.?|nr\.?|nummer|num[ée]ro|n[úu]mero|card|#|n[°º])){{0,2}}(?i:\s{{0,2}}[:=]| is| ist| lautet| est| es| è| é)?\s{{1,3}})"
    r"(?!\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d|\d{4}\b(?![ -]?\d))(?=(?:[ ./-]?[A-Z]){0,6}(?:[ ./-]?\d[ ./-]?[A-Z]{0,3}){4})[A-Z\d](?:[ ./-]?[A-Z\d]){6,20}\b",
    r"\b[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]\b|\b\d{3}\.\d{3}\.\d{3}-\d{2}\b",
    r"(?P<keep>(?i:\b(?:sort code|routing|bsb|ach|bank|kontonummer)\b[^\n]{0,50}?(?:account|acct|kontonummer)?(?: number| no\.?)?(?: is|:)?\s{1,2}))\d{6,17}\b(?=[^\n]{0,512}$)|(?P<keep2>(?i:\b(?:account number|kontonummer|numéro de compte|número de cuenta)(?: is|:| ist| est| es)?\s{1,2}))\d[\d -]{6,20}\d\b",
    # Keys of software: groups of capitals and digits.
    r"(?P<keep>(?i:\b(?:steam|game|cd|product|activation|licen[cs]e|gift ?card) (?:key|code)\b[^.\n]{0,20}?))(?=[A-Z-]{0,20}\d)(?:[A-Z0-9]{4,6}-){2}[A-Z0-9]{4,6}\b",
    rf"(?P<keep>(?i:\b{_PASSWORD}\b[^.\n]{{0,50}}(?:, so|, i\.e\.|, meaning|, also|, alors|, así que) ))\d{{4,10}}\b",
    r"(?P<keep>(?i:\b(?:licen[cs]e|serial|product|activation|windows|office|steam|cd|registration|lizenz|licencia|licence|licenza)\b[^.\n]{0,30}?))(?=[A-Z-]{0,512}\d)(?:[A-Z0-9]{4,6}-){3,8}[A-Z0-9]{4,6}\b|\b(?=[A-Z-]{0,20}\d)(?=[\d-]{0,20}[A-Z])(?:[A-Z0-9]{5}-){4}[A-Z0-9]{5}\b",
    r"(?P<keep>(?i:\b(?:wpa2?|wi-?fi|wlan|network|netz)(?:-| )?(?:key|schlüssel|code|clé|clave|chiave|chave|sleutel)(?: is| ist| est| es|:| =)?\s{0,2}[:=]?\s{0,2}))(?=[^\s,;]{0,512}\d)[^\s,;]{8,}",
    r"(?P<keep>(?i:\b(?:code|clé|clave|chiave|chave) (?:du |del |do )?(?:wi-?fi|wlan)(?: est| es| è| é)?\s{0,2}[:=]?\s{0,2}))(?=[^\s,;]{0,512}\d)[^\s,;]{6,}",
    rf"(?P<keep>(?i:\b(?:credentials?|log ?ins?|account|zugangsdaten|identifiants)\b[^.\n]{{0,30}}?(?:to|as|now|auf)\s{{1,3}})\S{{2,40}}\s{{1,2}}[/:|]\s{{0,2}}){_MIXED}{{5,}}",
    # A code of digits that is said to be it; other kinds of codes are named by the word before.
    r"(?P<keep>(?i:(?<!zip )(?<!area )(?<!post )(?<!postal )(?<!error )(?<!exit )(?<!status )(?<!return )(?<!response )(?<!http )(?<!fault )(?<!product )(?<!item )(?<!order )(?<!promo )(?<!coupon )(?<!discount )"
    r"(?<!booking )(?<!reference )(?<!country )(?<!color )(?<!colour )(?<!flight )(?<!dialling )(?<!dialing )(?<!course )(?<!sort )(?<!customer )(?<!tax )(?<!qr )(?<!bar )(?<!station )(?<!airport )(?<!team )(?<!project )(?<!cost )"
    r"\b(?:code|codice|c[oó]digo)(?! postale?\b| fiscale\b| (?:do|del|de|du|of|for|dell[ao]?) (?:\w+ )?(?:prod|art[ií]|pedido|ordine|commande|order|error|item|course|curso|flight|country|pa[ií]s))(?: (?:for|of|to|van|de|del|della|do|da|du) (?:[\w'’]+ ){0,3}?[\w'’]+| (?:dell|d)['’]\w+)?(?:['’]s|:| =| is| lautet| ist| est| es| è| é)(?: now)?:?\s{1,3}))[#*]?\d(?:[ -]?\d){2,9}[#*]?(?=[.,!?;)]|\s*$|\s+(?:and|so|but)\b)",
    r"(?P<keep>(?i:\b(?:(?:door|gate|alarm|lock|locker|safe|garage|entry|access|unlock|verification|security|keypad|vault|login|bike|sim|front|house|otp|2fa|mfa|sms|one-time)(?: \w+)? (?:code|combination|combo|pin|puk)|zugangscode|geheimzahl|türcode|toegangscode|"
    r"c[oó]digo (?:de (?:acceso|desbloqueo|seguridad|la puerta|verificaci[oó]n)|da porta|de acesso)|codice (?:di (?:sblocco|accesso|sicurezza|verifica)|della porta)|code d['’](?:acc[eè]s|entr[ée]e)|puk|cvv2?|cvc|otp|m?tan)"
    r"(?:['’]s|:| =| is| ist| est| es| è| é)?\s{1,3}))[#*]?\d(?:[ -]?\d){2,9}[#*]?(?!\w)",
    r"(?P<keep>(?i:\bpin(?: code| number)?(?: (?!is\b)\w+){0,4}?(?:['’]s|:|\?| =| is| ist| est| es| è| é)\s{1,3}))\d(?:[ -]?\d){3,7}(?!\w)",
    r"(?P<keep>(?i:\b(?:garage|safe|door|gate|locker|vault|alarm|lock|box)\b[^.\n]{0,20}? (?:opens?|unlocks?|works?|disarms?) with ))\d(?:[ -]?\d){3,9}(?!\w)",
    r"(?P<keep>(?i:\b(?:alarm|lock|keypad|safe|locker|vault|padlock): ))[#*]?\d(?:[ -]?\d){3,7}[#*]?(?!\w)",
    r"(?P<keep>(?i:\blog(?:ged|ging)? ?in(?:to)?\b[^.\n]{0,40}? with \S{2,40} (?:/|and|:) ))(?=\S{0,512}\d)(?=\S{0,512}[A-Za-z])[^\s\"',;]{6,80}",
    r"(?<![\w-])\d{4,8}(?= (?:is|for|as|was) (?:the|my|our) (?i:\w+ ){0,2}(?i:pin|code|pass ?code|pass ?word)\b)",
    r"(?P<keep>(?i:\b(?:set-)?cookie: ?))[\w.-]{1,60}=[^\s;]{8,}(?:; ?[\w.-]{1,60}=[^\s;]{1,400}){0,20}",
    r"(?P<keep>(?i:\b(?:passport|reisepass|passeport|pasaporte|passaporte|passaporto|paspoort)(?: (?:number|no\.?|nr\.?)|nummer)?(?: is| ist| est| es| è| é|:| =|(?<=[rR.]))\s{0,3}))(?=[A-Z0-9]{0,512}\d{2})[A-Z0-9]{7,9}\b",
    r"(?P<keep>(?i:\bdriv(?:er['’]?s?['’]?|ing) licen[cs]e(?: number| no\.?)?(?: is|:)?\s{1,3}))(?=[A-Z0-9-]{0,512}\d{4})[A-Z0-9-]{7,16}\b",
    r"(?P<keep>(?i:\bsocial\b[^.\n\d]{0,30}?))\d{3}-\d{2}-\d{4}\b",
    r"(?P<keep>(?i:\b(?:recovery|licen[cs]e|product|activation|backup|bitlocker) key(?: is|:)?\s{1,3}))(?:[A-Z0-9]{4,8}-){2,8}[A-Z0-9]{4,8}\b",
    r"(?P<keep>(?i:\b(?:token|psk|mdp|pw|pass|secret|passwd|contrase[nñ]a|passwort|senha|wachtwoord|parola|mot de passe|password)(?: wi-?fi| wlan)?\s{0,2}[=:]\s{0,2}[\"']?))(?![<$*\[{]|(?i:your|env|os\.))(?=[^\s\"',;]{0,512}\d)(?=[^\s\"',;]{0,512}[A-Za-z])[^\s\"',;<>$(]{6,200}",
    # A key without a link word: long, and of letters and digits.
    r"(?P<keep>(?i:\b(?:api|access|secret|private|license|licence|encryption|signing|auth|session|service|deploy|app|wallet|bot|master|ssh|account)[ -]?(?:key|token|secret)s?(?: (?!id\b|pair\b|hash\b|fingerprint\b)[a-z]{1,12}){0,3}?[ :=]{1,3})[\"'`“]?)(?!(?i:https?:|sha\d))(?=[^\s\"'`“”,;)]{0,512}[A-Za-z])(?=(?:[^\s\d\"'`“”,;)]*\d){3})[\w+/=.~-]{16,}",
    r"(?P<keep>(?i:\b(?:pass ?word|passwd|pwd|pass|passwort|kennwort|contrase[nñ]a|senha|wachtwoord|mot de passe|has[lł]o|пароль|login|credentials|pw|mdp)\s{1,3})[\"'`]?)"
    r"(?=[^\s]{0,512}\d)(?=[^\s]{0,512}[A-Za-z!@#$%^&*])[^\s\"'`,;:/]{6,}",
    r"(?P<keep>(?i:\b(?:credentials?|log ?ins?|account|zugangsdaten|identifiants)\b[^.\n]{0,30}?(?:is|are|:|=|with)\s{1,3})\S{2,40}\s{0,2}(?:/|:|\band\b|,)\s{0,2})(?!v?\d+(?:\.\d+)+\b)(?=[^\s]{0,512}\d)[^\s\"'`,;/]{5,}",
    r"(?P<keep>(?i:\b(?:my|the|our|bank|card|phone|sim|debit|his|her|banking|account) (?:\w+ ){0,2}pin(?: code| number)?|\bpin(?: number)? (?:for|of|to|on) (?:\S+ ){1,4}?is)\s{1,3}(?:is |was |: ?)?)\d[\d -]{2,8}\d",
    r"(?P<keep>(?i:\bpin[ :#]{1,2}))\d{4}(?:\d{2})?\b(?! ?\d)",
    r"(?P<keep>(?i:\b(?:uses?|used|using|has|have|had|try|enter|type|with|via|mit|set) [\"'`“]?))(?=[^\s\"'`”]{0,512}\d)(?=[^\s\"'`”]{0,512}[A-Za-z])[^\s\"'`”,;]{5,}(?=[\"'`”]? (?i:as|for|to|als|zum) (?i:the |my |a |your |our |his |her |their )?(?i:\w+ ){0,2}(?i:pass ?word|pass ?code|log ?in|unlock|wi-?fi|passwort)\b(?! manager))",
    r"(?P<keep>(?i:\b(?:ssn|social security(?: number)?|social insurance(?: number)?|sin number|itin|tax(?:payer)? (?:id|identification)(?: number)?|national insurance(?: number)?|"
    r"steuer-?id|sozialversicherungsnummer|codice fiscale|nino|dni|numéro de sécurité sociale)\b[^.\n]{0,30}?))(?:\d{3}[- ]?\d{2}[- ]?\d{4}|\d{3}[- ]\d{3}[- ]\d{3}|[A-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]|\d{11}|[12] ?\d{2} ?\d{2} ?\d{2} ?\d{3} ?\d{3}(?: ?\d{2})?|\d{8}[A-Z])\b",
    r"(?P<keep>(?i:\b(?:totp|2fa|mfa|otp|authenticator|two-factor|google auth)\b[^.\n]{0,40}?))(?:[A-Z2-7]{4} ){3,12}[A-Z2-7]{2,4}\b|(?P<keep2>(?i:\b(?:totp|2fa|mfa|otp|authenticator|two-factor|google auth)\b[^.\n]{0,40}?))\b(?=[A-Z2-7]{0,512}[2-7])[A-Z2-7]{16,64}\b",
    r"(?P<keep>(?i:\b(?:backup|recovery|rescue|emergency|2fa) codes?\b[^.\n\d]{0,30}?))(?:[A-Za-z]{0,4}\d[\w-]{3,12}(?:[,; ]{1,2}(?:and )?)?){1,12}",
)  # fmt: skip
"""Secrets in a sentence or a command that have a digit in them."""

SPOKEN_WORDS: Final = (
    r"(?P<keep>(?i:\bname: [\"']?\w{0,40}(?:password|passwd|secret|token|api_?key|pwd)[\"']?\s{1,20}value: ?[\"']?))(?![$<{*\"'])[^\s\"']{4,}|(?P<keep2>(?i:/user:)\S{1,40} )(?![$<%/])[^\s\"'/]{4,}",
    r"(?P<keep>\bopenssl\b[^\n]{0,80}? -(?:k|K|passin|passout|pass) (?:pass:)?[\"']?)(?!(?:env|file|stdin|fd)\b|[$<-])[^\s\"']{4,}",
    r"(?P<keep>\bauth ?= ?[(\[][\"'][^\"'\n]{1,60}[\"'], ?[\"'])[^\"'\n]{3,80}(?=[\"'])|(?P<keep2>\bsqlplus (?:-\w )?[\w.-]{1,30}/)[^\s@/]{3,40}(?=@)",
    r"(?P<keep>(?<![^\s\"'])(?!mailto:)[\w.-]{2,30}:)(?!//)(?=[^\s:@/]{0,512}[A-Za-z])[^\s:@/]{4,40}(?=@[\w-]{1,60}\.[\w.-]{2,60})|(?P<keep2>\becho [\"']?)[^\s\"'|$]{4,40}(?=[\"']? ?\| ?(?:sudo -S|passwd|chpasswd|[^\n|]{1,60}--password-stdin))",
    rf"(?P<keep>(?i:\b(?:{_ACCOUNTS}|user)\b[^.\n]{{0,40}}\bpass(?:['’]s| is|:) ))(?!(?i:valid|the|a|an|on|in|for|free|not)\b)[^\W\d_]{{4,24}}(?=[.!]?\s*$)",
    # A user and a password next to each other.
    rf"(?P<keep>(?i:\b(?:u|user|usr|user ?name|log ?in|usuario|utente|utilisateur|benutzer|nutzer|gebruiker|usuário|email|id)\b(?: is|:|=)?\s{{0,2}}\S{{2,40}}[,;/]?\s{{1,2}}(?:(?:and|und|et|y|e|en|with|mit|con) )?(?:the )?(?:p|pw|pwd|pass|pass ?word|clave|mdp|mot de passe|passwort|kennwort|senha|wachtwoord|contrase[nñ]a)\b(?:\s?[:=]| is)?\s{{1,2}})){_NO_VALUE}(?:{_STRONG}|[a-z]{{4,20}}(?=[.,!]?\s*$))",
    r"(?P<keep>(?i:\b(?:log ?ins?|credentials?|creds|account|access|admin panel|wi-?fi|wlan|zugangsdaten|acceso|accès|accesso|acesso|toegang|inloggen)\b(?: \w+){0,4}?(?: is| are| takes| mit| with|:|=| ist| est| es| è| é)\s{1,2})[\w.@-]{2,40} ?[/|] ?)(?=\S{0,512}[\d!@#$%^&*_-])(?=[^\s/]{0,512}[A-Za-z])[^\s\"'`,;/]{4,}",
    r"(?P<keep>(?i:\b(?:log ?in|credentials|creds|wi-?fi|wlan): )[\w.@-]{2,40} [/|] )(?!(?i:slow|good|bad|off|on|down|fast)\b)[\w-]{5,40}(?=[.!]?\s*$)",
    # Answers to security questions.
    r"(?P<keep>(?i:\b(?:security|secret|recovery|sicherheits|control) ?(?:questions?|frage|answer)\b[^\n]{0,50}?(?:\?|:| -| –| =|\banswer is| is)\s{1,3}[\"'“]?))(?!(?i:about|the|a|an|not|too|what|which|who|where|in|on|my|required|wrong|correct|answer)\b)(?=[A-Z\d])[\w'’][\w'’ .-]{2,40}(?=[\"'”.,!]?\s*$)",
    r"(?P<keep>(?i:\b(?:question secrète|pregunta de seguridad|domanda di sicurezza|pergunta de segurança|beveiligingsvraag|sicherheitsfrage)[^\n]{0,60}?[:?–-]\s{1,3}))[\w'’ -]{3,40}(?=[.!]?\s*$)",
    r"(?P<keep>(?i:\b(?:memorable|secret|safe|security|code|telephone) (?:word|phrase)(?: (?:with|for|at|of|to|on)(?: \w+){1,3})?(?: is|:)?\s{1,3}))(?=[A-Z])[A-Za-z]{4,30}(?=[.!]?\s*$)",
    r"(?P<keep>\b(?:http|https|xh) (?:-a|--auth)[ =][\w.@-]{1,40}:)[^\s\"'<$]{4,}|(?P<keep2>(?<!\S)--(?:http-|ftp-|proxy-|db-)?(?:password|passwd)[ =][\"']?)(?![$<{*-])[^\s\"'-][^\s\"']{3,}",
    r"(?P<keep>\b(?:curl|wget)\b[^\n]{0,120}? (?:-u|--user)[ =][\"']?[\w.@-]{1,40}:)(?!\$|<|\{)[^\s\"']{3,}",
    # The value follows in commas or brackets: "the same password, <value>, for years".
    rf"(?P<keep>(?i:\b{_PASSWORD}(?: \w+){{0,4}}?) ?[,(] ?[\"'`“]?)(?!{_TECHNICAL}){_MIXED}{{6,}}",
    rf"(?P<keep>(?i:\b{_PASSWORD}(?! manager)(?: \w+){{0,6}}?) ?[,:;(–-]{{1,2}} ?(?i:it['’]s|it is|that['’]s|that is|namely|i\.e\.) [\"'`“]?)(?!{_TECHNICAL}){_MIXED}{{6,}}",
    rf"(?P<keep>(?i:\bpass){_LINK}[\"'`“]?){_MIXED}{{6,}}|(?P<keep2>(?i:\b(?:my|our|the) pass){_LINK}[\"'`“])[^\"'`“”’\n]{{4,80}}(?=[\"'`”])",
    # What opens something: "unlock my laptop with <value>"; to log in, only what no name of a service looks like.
    rf"(?P<keep>(?i:\b(?:unlock|decrypt)(?:s|ed|ing)?\b[^.\n]{{1,40}} (?:with|using|by typing) )[\"'`“]?)(?!{_TECHNICAL}){_MIXED}{{6,}}",
    rf"(?P<keep>(?i:\b(?:log|sign|get) ?in(?:to)?\b[^.\n]{{0,40}} (?:with|using|by typing) )[\"'`“]?)(?!{_TECHNICAL}|\S+@\S+\.)(?=\S{{0,512}}[!#$%^&*+=?~])(?=\S{{0,512}}[A-Za-z])(?=\S{{0,512}}\d)[^\s\"'`“”,;()]{{6,}}",
    # A name or an address and a password with a slash between them; a passphrase in quotes.
    r"(?P<keep>(?:(?i:\b(?:log-?in|sign-?in|credentials?|creds|account|user(?:name)?)\b:?\s{1,3})[^\s/]{1,40}|[\w.+-]{1,40}@[\w.-]{1,40})\s{0,3}/\s{0,3})"
    r"(?=[^\s/]{0,512}[A-Za-z])(?=[^\s/]{0,512}[\d!#$%^&*])(?:(?=\S{0,512}[!#$%^&*])|(?=\S{0,512}[A-Z])|(?=\S+\s*$))[^\s/]{6,64}(?!\S*/)",
    r"(?P<keep>(?i:\bpass ?phrase)\s{1,3}[\"'“‘`])[^\"'”’`\n]{8,80}(?=[\"'”’`])",
    # In a command line.
    r"(?P<keep>\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]{0,80}? -p)(?=\S{0,512}[A-Za-z\d])[^\s-]\S{3,}",
    r"(?P<keep>\b(?:sshpass|docker login|podman login|mongo(?:sh|dump)?|redis-cli|smbclient|sqlcmd|ldapsearch|htpasswd|az login|zip|unzip|7z)\b[^\n]{0,80}? -[paPw] ?[\"']?)(?=[^\s\"']{0,512}[\d!@#$%^&*])[^\s\"'<$-][^\s\"']{3,}",
    r"(?P<keep>\b(?:curl|wget|http)\b[^\n]{0,120}? (?:-u|--user)[ =][\"']?[\w.@-]{1,40}:)[^\s\"'<$]{4,}",
    r"(?P<keep>(?<!\S)--?(?:password|passwd|pass|token|api-?key|secret|auth-token|access-token|client-secret|db-password)[ =][\"']?)(?=[^\s\"']{0,512}[\d!@#$%^&*])[^\s\"'<$-][^\s\"']{4,}",
    r"(?P<keep>\b[A-Z]{2,20}(?:PASSWORD|PASSWD|PWD|PASS|TOKEN|SECRET)=[\"']?)(?!\$|<|\*)[^\s\"']{4,}",
    rf"(?P<keep>(?i:\b(?:pin|pass ?code|code)\b[^.\n]{{0,30}}?(?:['’]s|:| =| is| ist| lautet| est| es| è| é)\s{{1,3}}))(?i:(?:{_DIGIT_WORDS})(?:[ ,-]{{1,3}}(?:{_DIGIT_WORDS})){{3,9}})\b",
    rf"(?P<keep>(?i:\b{_WORDS}{_OF}{_LINK})[\"'`“„«]?){_STRONG}",
    # In quotes, any value counts.
    rf"(?P<keep>(?i:\b{_WORDS}{_OF}{_LINK})[\"'`“„«])[^\"'`“”»\n]{{3,80}}(?=[\"'`“”»])",
    r"(?P<keep>(?i:\b(?:pass ?phrase|passphrase|master password|seed phrase|phrase secrète|frase de contraseña|mantra)(?: \S{1,20}){0,4}?(?:\s{0,3}[:=]|\s{1,3}(?:is|lautet|est|es))\s{1,3})[\"'“]?)"
    r"(?!(?:too|very|not|weak|strong|long|short|stored|in|on|the|a|an|my|set|kept|only|also|required|written|safe|secure)\b)[a-z]+(?:[ -][a-z]+){2,7}\b",
    r"(?<![^\s\"'`“])[^\s\"'`“,;]{4,64}(?=[\"'`”]? (?i:is|as|ist|est|es|als|comme|como) (?i:my|the|our|a|mein|das|mon|le|mi|la|il|moje) (?i:\w+ ){0,2}(?i:pass ?word|pass ?code|pin|api key|passwort|kennwort|mot de passe|contrase[nñ]a|senha|wachtwoord|has[lł]o)\b)(?<=[\d!@#$%^&*_+=])",
    r"(?P<keep>(?i:\b(?:changed?|set|reset|updated?|geändert|gesetzt) (?:my|the|our|mein|das) (?:\S+ ){0,4}?(?:pass ?word|pass ?code|pin|passwort|kennwort)(?: (?:for|of|on) (?:\S+ ){0,3}?\S+)? (?:to|from|auf) [\"'`“]?))(?=[^\s]{0,512}[\d!@#$%^&*])[^\s\"'`”,;]{3,}",
    r"(?P<keep>(?:密码|密碼|口令|パスワード|暗証番号|暗証|비밀번호|암호)[^\w]{0,3}(?:是|为|為|は|는|은|：|:)?\s{0,3}[「『“\"']?)[A-Za-z0-9!@#$%^&*_.+-]{4,}",
    r"(?P<keep>كلمة (?:المرور|السر)[^\w]{0,3}(?:هي|:)?\s{0,3})[A-Za-z0-9!@#$%^&*_.+-]{4,}",
)  # fmt: skip
"""Secrets in a sentence or a command that may have no digit."""


_PASSWORD_OF: Final = r"(?: (?:for|di|of|to|on|at|in|für|fürs|zum|vom|von|pour|de|du|del|della|dell|para|per|do|da|voor|van|dla)(?: \S{1,20}){1,4}?)?"
_NAMED: Final = r"\b(?:pass ?words?|pass ?codes?|pass ?phrase|passwd|pwd|pw|mdp|passwort|kennwort|mots? de passe|contrase[nñ]a|clave|senha|palavra-passe|parola d['’]ordine|wachtwoord|has[lł]o|lösenord|heslo)"
_ABOUT_PASSWORD: Final = (
    r" (?:manager|policy|field|prompt|hash|reset|expir|hint|reminder|rule|strength|length|format|generator|owner|tip)"
)
"""What makes of a password something else that has a name or a value."""
_ENDS: Final = r"(?=[.!]?\s*$|[.!]\s|,|\s*\n| (?:when|before|until|since|but|and|then)\b)"
PLAIN_PASSWORD: Final = (
    rf"(?i:{_NAMED}{_PASSWORD_OF}(?:['’]s| is| was| lautet| ist| est| es| è| é| jest|,? c['’]est|(?<=[łl]o) to)(?: (?:just|simply|still|now|literally|currently|einfach|juste|simplement|solo|simplemente|semplicemente|gewoon|apenas))?) (?P<value>[^\W\d_]{{4,24}}){_ENDS}",
    rf"(?i:{_NAMED}(?!{_ABOUT_PASSWORD})(?: \w{{3,15}})?{_PASSWORD_OF}(?:\s{{0,2}}[:=]|\?)) (?P<value>[^\W\d_]{{4,24}})(?=[.!]?\s*$)",
    rf"(?i:\b(?:changed|set|reset|updated|made) (?:my|the|our|its) (?:\S+ ){{0,3}}?(?:pass ?word|pass ?code)(?: \S+){{0,3}}? to) (?P<value>[^\W\d_]{{4,24}}){_ENDS}",
    rf"(?i:\b(?:as|user|login|name|ssid|network|called) \S{{2,30}}?(?:,| with| and|, and) (?:the )?{_NAMED}) (?P<value>[^\W\d_]{{4,24}}){_ENDS}",
    rf"(?i:{_NAMED}{_PASSWORD_OF}(?:['’]s| is|:| ist| est| es| è| é)) (?P<value>[a-z]{{3,12}}(?: [a-z]{{3,12}}){{0,3}} \d{{1,4}})(?=[.!]?\s*$)",
    rf"(?i:\b(?:use[ds]?|using|set|picked|chose|have|had) )(?P<value>[^\W\d_]{{14,40}}) (?i:as (?:my|our|the) (?:\w{{1,12}} )?{_NAMED}(?! manager))",
    rf"(?i:{_NAMED}[^.\n]{{0,30}}? words[,:]{{1,2}}) (?P<value>[a-z]{{3,12}}(?:[ -][a-z]{{3,12}}){{2,7}})(?=[.!]?\s*$)",
)
"""A password that is a plain word; `value` must not be a `DESCRIPTION`."""
DESCRIPTION: Final = (
    r"(?i:too|very|still|already|always|never|same|weak|strong|long|short|safe|secure|secret|wrong|right|lost|stolen|mine|yours|ours|theirs|unique|private|public|there|here|easy|hard|simple|random|different|"
    r"good|fine|okay|default|blank|empty|ready|back|gone|weird|funny|what|where|enough|something|nothing|everything|anything|great|crap|broken|outdated|overdue|written|hidden|forgotten|known|unknown|everywhere|anywhere|somewhere|"
    r"correct|valid|invalid|until|than|since|from|after|before|least|page|line|version|about|over|under|case|sure|nope|please|sorry|done|none|sent|kept|reset|below|above|inside|attached|local|global|manual|temporary|mandatory|required|optional|confidential|only|again|online|offline|"
    r"falsch|richtig|neu|alt|sicher|weg|nicht|immer|noch|schon|leer|lang|kurz|geheim|stark|schwach|einfach|kaputt|unbekannt|vergessen|gleich|"
    r"correcte?|incorrecte?|fausse|faux|court|longue?|faible|forte?|vide|nouveau|nouvelle|perdue?|secrète?|toujours|trop|mauvais|"
    r"corta|larga|segura|insegura|nueva|vieja|vacía|débil|fuerte|incorrecta|correcta|secreta|falsa|mala|siempre|demasiado|diferente|"
    r"corretta|scorretta|errata|sbagliata|debole|lunga|nuova|vecchia|vuota|sicura|segreta|sempre|troppo|scaduta|diversa|"
    r"errada|fraca|curta|longa|nova|velha|vazia|incorreta|correta|muito|certa|"
    r"niet|fout|verlopen|juist|nieuw|zwak|sterk|kort|veilig|vergeten|leeg|altijd|verkeerd|hetzelfde|"
    r"\w{3,}(?:ed|ing|able|ible|ly|ous|ful|less|ive|ent|ory|ary|lich|bar|isch|ado|ada|ido|ida|ato|ata|uto|uta|ée|és|ées|bile|ivo|iva|mente|lijk|baar|sensitive|est|ori[ao]|óri[ao]|oire|ic[ao]|ique|ual|ial|nal)|"
    r"(?:ge|ver|abge|unge|un|ent|zu|in)\w{4,}(?:t|en|d|ig))"
)
"""A word that says how a password is, by a list and by the endings of adjectives and participles."""

NEAR_NAME: Final = re.compile(rf"(?i:\b(?:{_PASSWORD}|mdp|pw|credentials?|creds)s?\b(?!{_ABOUT_PASSWORD}))")
"""What the value of a password may be said of, in the same clause or after a question mark."""
NEAR_SIGN_IN: Final = re.compile(rf"(?i:\b(?:{_SIGN_IN})\b)")
"""What somebody signs in to: near it only a value with a letter, a digit and a symbol counts."""
NEAR_VALUE: Final = re.compile(
    r"(?:\b(?i:is|was|are|were|be|been|it['’]s|that['’]s|to|with|and|or|first|then|now|use|used|using|type|enter|ist|war|lautet|und|est|était|et|es|era|y|è|e)|[=:?,(/]|->|→|[–—])"
    r"(?: (?i:now|still|just|currently|jetzt|noch|maintenant|toujours|ahora|adesso))?"
    r"[ \t]{0,3}[\"'`“„«(]?(?P<value>[A-Za-z](?=\S{0,40}\d)[^\s\"'`“”»,;()<>/\\]{5,63})"
)
"""A word with a digit in it, after a word or a sign that leads to a value."""
NEAR_NO_VALUE: Final = re.compile(
    rf"{_TECHNICAL}|[a-z_]+=|[^\s@]{{1,64}}@[^\s.]{{1,64}}\.|(?:\w+\.)+[a-z]{{2,}}|[A-Za-z]-?\d+$|[A-Z]{{1,3}}-?\d[\d-]*$|[a-zA-Z]+[-_]?\d{{1,2}}[a-zA-Z]?$(?<!\w{{8}})|Q\d-"
)
"""Products, addresses and short names such as "B-204" and "LH1234"."""
NEAR_BREAK: Final = re.compile(
    r"[.!](?:\s|$)|(?:[,;]|\b(?:and|but|so|und|et|y|e)\b) (?:(?:my|our|the|his|her|their|mein|meine|die|der|das|mon|ma|le|la|mi|el)\b)(?! (?:new|old|other|second|first|current|next|one|latest|same)\b) \w"
)
"""Between the name and the value: something else is spoken of."""
SYMBOL: Final = re.compile(r"[#$%^&*=+~@!]")
KEY_CONTEXT: Final = (
    r"\bkey (?:to|for|of)\b|\b(?:api|app|access|secret|private|auth|account|service|license|encryption|signing|deploy|master|wallet|metamask|wpa|wifi|psk)[ _-]?key|\bapikey|secret|token\b|\bauth\b|\bcreds?\b|credential|"
    r"passw|[a-z]_(?:key|auth)\b|subscription-key|\bbearer|\bclé (?:api|secrète)|\bclave (?:api|secreta)|\bschlüssel|\bpsk\b|\bwpa"
)
NO_KEY_CONTEXT: Final = r"commit|\bsha|\bmd5|hash|digest|checksum|fingerprint|\btrace|request|\betag|public|address|\btx\b|\bblock\b|https?://[^\s?]*$|integrity|name:|\bids? "

SHAPE_HINT: Final = r"[a-z0-9_+/.-]{16,}|://|</|[=:]>?\s?\S{4}|bearer|-----begin"
"""A text with a key that is known by its shape contains this, in lower case."""
SPOKEN_PARTS: Final = (
    "pass", "open", "alarm", "allarme", "lock", "key", "safe", "vault", "disarm", "press", "type", "enter", "cookie", "licen", "lizenz", "serial",
    "windows", "psk", "mdp", "puk", "code", "codice", "kod ", "pwd", "secret", "token", "combin", "cvv", "cvc", "otp", "2fa", "mfa", "authenticator",
    "kennwort", "geheim", "zugang", "contrase", "clave", "clé", "senha", "parola", "wachtwoord", "парол", "пин", "код", "密码", "密碼", "口令", "パスワード",
    "暗証", "비밀번호", "암호", "كلمة", "lösenord", "kodeord", "heslo", "salasana", "şifre", "credential", "creds", "ssn", "social", "insurance", "tax",
    "steuer", "sozial", "renten", "kranken", "fiscale", "sécu", "seguridad", "mysql", "mariadb", "redis-cli", "mongo", "curl", "wget", "http",
    "docker", "podman", "smbclient", "sqlcmd", "ldapsearch", "7z", "zip", "seed", "phrase", "mnemonic", "wallet", "recover", "account", "konto",
    "compte", "cuenta", "security", "magic word", "number", "nummer", "número", "ausweis", "identi", "rijbewijs", "führerschein", "patente", "permis",
    "nino", "itin", "ahv", "curp", "medicare", "aadhaar", "pesel", "cédula", "door", "gate", "garage", "tür", "deur", "puerta", "portail", "portón",
    "portão", "cancello", "poort", "tresor", "coffre", "cofre", "kluis", "schloss", "cadenas", "candado", "lucchetto", "cadeado", "slot", "spind",
    "taquilla", "intercom", "suitcase", "koffer", "shed", "router", "modem", "wlan", "hotspot", "printer", "drucker", "laptop", "computer", "server",
    "portal", "vpn", "netflix", "spotify", "disney", "amazon", "paypal", "mail", "forum", "tablet", "network", "netz", "admin", "sign", "site",
    "plus", "birthday", "backwards", "building", "user", "usuario", "utente", "utilisateur", "benutzer", "gebruiker", "verif", "your", "dein",
    "votre", "códig", "codig", "haslo", "hasło", "login", "log in", "logon", "log on", "numero", "numéro", "wifi", "wi-fi", "work with", "works with",
)  # fmt: skip
"""A text with a digit and a secret that is said in a sentence contains one of these, in lower case, or matches a hint below."""
SPOKEN_HINTS: Final = (
    r"(?:pin|dni|nie|nif|cpf|bsn|sin|pan|tfn|ein|rut|rfc|tor|ihr|port[ea])\b",
    r"\b(?:(?:id|pw|rg|pc|nas|tan|use|tu|su)\b|dial|u:|ni )",
    r"-[\da-z]{5}-|\.\d{3}-",
)
"""Three patterns are faster than one: each begins in one way only."""
WORDS_HINT: Final = (
    "pass", "pin ", "pin:", "pin'", "pw", "mdp", "secret", "secrète", "token", "key", "code", "otp", "cvv", "2fa", "combin",
    "kennwort", "geheim", "zugang", "contrase", "clave", "senha", "palavra", "parola", "codice", "código", "wachtwoord", "haslo",
    "hasło", "парол", "пин", "密码", "密碼", "口令", "パスワード", "暗証", "비밀번호", "암호", "كلمة", "lösenord", "adgangskode", "kodeord",
    "heslo", "salasana", "şifre", "credential", "creds", "login", "log in", "sign in", "sign-in", "unlock", "decrypt", "admin", "access", "accès", "acceso", "acesso", "toegang",
    "inlog", "wifi", "wi-fi", "wlan", "user", "u: ", "usuario", "utente", "utilisateur", "benutzer", "gebruiker", "account:", "account is",
    "security", "sicherheits", "seguridad", "sicurezza", "segurança", "beveilig", "maiden", "memorable", "phrase", "mantra", "mysql",
    "mariadb", "mongo", "curl", "wget", "http", "redis-cli", "smbclient", "sqlcmd", "sqlplus", "ldapsearch", "zip", "7z", " word", "auth",
    "@", "echo ", "value:", "openssl",
)  # fmt: skip
"""A text with a secret that is made of words contains one of these, in lower case. Substrings are found faster than a pattern."""
