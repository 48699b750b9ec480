"""The shapes of secrets, as data: keys of vendors by prefix and length, and secrets that are said in a sentence.

The text of a group named `keep` stays in front of the replacement. Every repetition is bounded, so no text makes them slow.
"""

from __future__ import annotations

from typing import Final

VENDOR_KEYS: Final = (
    r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    r"\bsk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic and compatible services
    r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/=]{16,}",  # Stripe
    r"\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{30,}",
    r"\bgl(?:pat|dt|rt|ptt|soat|cbt|ft|agent|imt)-[A-Za-z0-9_-]{18,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}",  # Slack
    r"(?P<keep>\bhooks\.slack\.com/services/)[A-Za-z0-9/_-]{20,}|(?P<keep2>\bdiscord(?:app)?\.com/api/webhooks/)\d{10,}/[\w-]{20,}",
    r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b",  # AWS
    r"\bLTAI[A-Za-z0-9]{12,24}\b|\bAKID[A-Za-z0-9]{13,40}\b",  # Alibaba, Tencent
    r"\bAIza[A-Za-z0-9_-]{30,}|\bGOCSPX-[A-Za-z0-9_-]{20,}|\b1//0[A-Za-z0-9_-]{30,}",  # Google
    r"\bya29\.[A-Za-z0-9_-]{20,}",
    r"\b(?:hf|gsk|npm)_[A-Za-z0-9]{30,}",
    r"\b(?:hf|gsk|npm|r8|dop_v1|doo_v1|dor_v1|shpat|shpss|shpca|shppa|lin_api|ntn|figd|rubygems|sbp|sntrys|phc|phx|rnd|dckr_pat|glsa|glc|"
    r"ATCTT3xFfG|pscale_tkn|pscale_pw|key_live|rdme|vc[apst]|prefect|pnu|pul|tfp|cfut|cfat|fo1|fm2|fio-u|EZAK|EZTK|ops|oat|pcsk|csk|fw|xai|nvapi|"
    r"tvly|pplx|tskey|xkeysib|xsmtpsib|PMAK|sq0atp|sq0csp|AGE-SECRET-KEY|CFPAT|NRAK|NRJS|NRII|ABSK|cio|bkua|aio|sk_prod|sgp)[-_](?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,}",
    r"\bsecret_[A-Za-z0-9]{40,}",  # Notion
    r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}|\bdp\.(?:pt|st|ct|sa)\.[A-Za-z0-9._-]{30,}|\bs\.[A-Za-z0-9]{24}\b",  # Vault, Doppler
    r"\bpypi-[A-Za-z0-9_-]{20,}|(?i:\bage-secret-key-1)[a-zA-Z0-9]{20,}",
    r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",  # SendGrid
    r"\bSK[0-9a-f]{32}\b|\bkey-[0-9a-f]{32}\b|\b[0-9a-f]{32}-us\d{1,2}\b",  # Twilio, Mailgun, Mailchimp
    r"\bATATT3[A-Za-z0-9_=-]{30,}|\bpat[A-Za-z0-9]{14}\.[0-9a-f]{60,}|\bEAA[A-Z][A-Za-z0-9]{40,}",  # Atlassian, Airtable, Meta
    r"\b\d{8,10}:AA[A-Za-z0-9_-]{30,}|\b[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{25,}",  # Telegram, Discord
    r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # JSON Web Token
    r"(?P<keep>\b(?:[Bb]earer|BEARER)\s{1,4})[A-Za-z0-9._~+/-]{8,}=*",
    # After "Authorization:" only; in a sentence, "Basic" is followed by words such as "understanding".
    r"(?P<keep>\b[Aa]uthorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:[Bb]asic|[Tt]oken|[Aa]pi[Kk]ey)\s{1,4})[A-Za-z0-9+/._-]{8,}=*",
    r"(?P<keep>\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@\"'<>]{0,256}:)(?!(?i:pass ?word|passwd|pass|pwd|secret|change_?me|your[-_]?\w*|example|placeholder|x{3,}|\*{3,}|\$\{?\w+\}?|\{\w+\}|%\w+%|\[\w+\])@)[^\s/@\"'<>]{1,256}(?=@)",
    r"\b[5KL][1-9A-HJ-NP-Za-km-z]{50,51}\b|\b[xyz]prv[1-9A-HJ-NP-Za-km-z]{90,}|\bnsec1[02-9ac-hj-np-z]{50,}",  # wallets
    r"(?P<keep>(?i:[?&;](?:access_token|auth_token|id_token|refresh_token|token|api_?key|apikey|key|auth|sig|signature|x-amz-signature|password|pwd|"
    r"pass|secret|client_secret|jwt|session_?id|sessionid|sid|sas|code)=))(?=[^\s&#\"'<>]*\d)[^\s&#\"'<>]{8,512}",
    r"(?P<keep>(?i:\botpauth://[^\s?]{0,200}\?(?:[^\s&]{0,80}&){0,4}secret=))[A-Za-z2-7]{10,}",
    r"(?P<keep>(?i:\b(?:account_?key|shared_?access_?key|shared_?secret|client_?secret|aws_secret_access_key|secret_?access_?key|private_?token|"
    r"encryption_?key|signing_?key|webhook_?secret|master_?key|pwd|passphrase|passcode|smtp_pass|db_pass|[a-z]{1,20}_(?:password|passwd|secret|token|key|pass)|"
    r"api[_-]?key|password|passwd|secret|access[_-]?token|auth[_-]?token)\b[\"']?\s{0,4}[=:]\s{0,4}[\"']?))"
    r"(?!\[redacted\]|\$\{|%\(|<|\{\{|os\.|env|getenv|None|null|true|false|str\b|string\b|required|optional|changeme\b|\*{3}|[Yy][Oo][Uu][Rr][-_]|[xX]{4}|\.{3})[^\s\"',;&]{4,}",
)  # fmt: skip

_DIGIT_WORDS: Final = (
    "zero|oh|one|two|three|four|five|six|seven|eight|nine|null|eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|"
    "cero|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|zéro|un|deux|trois|quatre|cinq|sept|huit|neuf"
)
_WORDS: Final = (
    r"(?:pass ?words?|(?:secret|security|magic|safe) (?:words?|phrases?|answers?)|code ?words?|pass ?codes?|pass ?phrases?|pass ?keys?|passwd|pwd|pw|pins?(?: codes?| numbers?)?|api[ -]?keys?|secret[ -]?keys?|access[ -]?keys?|"
    r"(?:access|auth|api|bearer|refresh|session|bot|personal access|security) ?tokens?|client secrets?|license keys?|"
    r"(?:security|door|gate|alarm|lock|safe|access|entry|unlock|vault|garage|keypad|intercom|building|voicemail|sim|screen|cvv|cvc|cvv2|otp|verification|"
    r"one[- ]time|backup|recovery|confirmation|2fa|mfa|auth(?:entication)?|login) (?:codes?|pins?|combinations?|combos?|numbers?)|"
    r"combinations?(?: (?:to|of|for) (?:the|my|our) (?:\w+ )?(?:safe|lock|locker|vault))?|cvv2?|cvc|otp|"
    r"passw[oö]rt|kennwort|geheimzahl|zugangscode|zugangsdaten|türcode|wlan-?(?:passwort|schlüssel)|mots? de passe|code (?:pin|secret|d'acc[eè]s|de la porte|du portail)|contrase[nñ]as?|clave(?: de acceso| del wifi| secreta)?|"
    r"senhas?|palavra-passe|parola d'ordine|codice (?:pin|segreto|di accesso)|wachtwoord|pincode|toegangscode|has[lł]o|kod (?:pin|dostępu|do \w+)|пароль|пин-?код|код доступа|lösenord|adgangskode|passord|kodeord|salasana|heslo|şifre|parola)"
)
_LINK: Final = (
    r"(?:\s{0,3}(?:[:=]|->|→|—|–)\s{0,3}|['’]s\s{1,3}|,?\s{1,3}(?:c['’]est|is|was|are|will be|would be|remains|should be|being|has been (?:set|changed|reset) to|(?:is )?(?:now )?(?:set|changed|reset) to|"
    r"is now|now is|is still|still is|reads|goes|lautet|ist|heißt|est|es|será|sera|è|é|sarà|jest|to(?= \S*\d)|brzmi|это|är|er|on|je|is nu)(?: now| still|:)?\s{1,3})"
)
_OF: Final = r"(?:(?: of| for| to| on| at| in| für| fürs| zum| vom| von| pour| de| du| del| della| para| per| do| da| voor| van| dla| från| til)(?: \S{1,30}){1,4}?)?"
_STRONG: Final = r"(?=[^\s\"'`“”]*[\d!@#$%^&*_+=~])[^\s\"'`“”,;]{3,}"
"""A value with a digit or a symbol in it: "my password is too long" is no secret."""

_MIXED: Final = r"(?=[^\s\"'`“”,;)]*\d)(?=[^\s\"'`“”,;)]*[A-Za-z])[^\s\"'`“”,;()]"
"""Letters and digits in one value: a word, a year or a price has only one of them."""
_PASSWORD: Final = r"(?:pass ?word|pass ?code|pass ?phrase|passwd|pwd|passwort|kennwort|mot de passe|contrase[nñ]a|senha|wachtwoord|has[lł]o|пароль|lösenord|heslo|şifre)"

SPOKEN: Final = (
    # The value follows in commas or brackets: "the same password, <value>, for years".
    rf"(?P<keep>(?i:\b{_PASSWORD}) ?[,(] ?[\"'`“]?){_MIXED}{{6,}}",
    rf"(?P<keep>(?i:\bpass){_LINK}[\"'`“]?){_MIXED}{{6,}}",
    rf"(?P<keep>(?i:\b(?:credentials?|log ?ins?|account|zugangsdaten|identifiants)\b[^.\n]{{0,30}}?(?:to|as|now|auf)\s{{1,3}})\S{{2,40}}\s{{1,2}}[/:|]\s{{0,2}}){_MIXED}{{5,}}",
    # In a command line.
    r"(?P<keep>\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]{0,80}? -p)(?=\S*[A-Za-z\d])[^\s-]\S{3,}",
    r"(?P<keep>\b(?:sshpass|docker login|podman login|mongo(?:sh|dump)?|redis-cli|smbclient|sqlcmd|ldapsearch|htpasswd|az login|zip|unzip|7z)\b[^\n]{0,80}? -[paPw] ?[\"']?)(?=[^\s\"']*[\d!@#$%^&*])[^\s\"'<$-][^\s\"']{3,}",
    r"(?P<keep>\b(?:curl|wget|http)\b[^\n]{0,120}? (?:-u|--user)[ =][\"']?[\w.@-]{1,40}:)[^\s\"'<$]{4,}",
    r"(?P<keep>(?<!\S)--?(?:password|passwd|pass|token|api-?key|secret|auth-token|access-token|client-secret|db-password)[ =][\"']?)(?=[^\s\"']*[\d!@#$%^&*])[^\s\"'<$-][^\s\"']{4,}",
    r"(?P<keep>\b[A-Z]{2,20}(?:PASSWORD|PASSWD|PWD|PASS|TOKEN|SECRET)=[\"']?)(?!\$|<|\*)[^\s\"']{4,}",
    # A code of digits that is said to be it; other kinds of codes are named by the word before.
    r"(?P<keep>(?i:(?<!zip )(?<!area )(?<!post )(?<!postal )(?<!error )(?<!exit )(?<!status )(?<!return )(?<!response )(?<!http )(?<!fault )(?<!product )(?<!item )(?<!order )(?<!promo )(?<!coupon )(?<!discount )"
    r"(?<!booking )(?<!reference )(?<!country )(?<!color )(?<!colour )(?<!flight )(?<!dialling )(?<!dialing )(?<!course )(?<!sort )(?<!customer )(?<!tax )(?<!qr )(?<!bar )(?<!station )(?<!airport )(?<!team )(?<!project )(?<!cost )"
    r"\b(?:code|codice|c[oó]digo)(?! postale?\b| fiscale\b)(?: (?:for|of|to|van|de|del|della|do|da|du) (?:[\w'’]+ ){0,3}?[\w'’]+| (?:dell|d)['’]\w+)?(?:['’]s|:| =| is| lautet| ist| est| es| è| é)(?: now)?\s{1,3}))[#*]?\d(?:[ -]?\d){2,9}[#*]?(?=[.,!?;)]|\s*$|\s+(?:and|so|but)\b)",
    r"(?P<keep>(?i:\b(?:(?:door|gate|alarm|lock|locker|safe|garage|entry|access|unlock|verification|security|keypad|vault|login|bike|sim|front|house)(?: \w+)? (?:code|combination|combo|pin|puk)|zugangscode|geheimzahl|türcode|toegangscode|"
    r"c[oó]digo (?:de (?:acceso|desbloqueo|seguridad|la puerta|verificaci[oó]n)|da porta|de acesso)|codice (?:di (?:sblocco|accesso|sicurezza|verifica)|della porta)|code d['’](?:acc[eè]s|entr[ée]e)|puk|cvv2?|cvc)"
    r"(?:['’]s|:| =| is| ist| est| es| è| é)?\s{1,3}))[#*]?\d(?:[ -]?\d){2,9}[#*]?(?!\w)",
    r"(?P<keep>(?i:\bpin(?: code| number)?(?: (?!is\b)\w+){0,4}?(?:['’]s|:| =| is| ist| est| es| è| é)\s{1,3}))\d(?:[ -]?\d){3,7}(?!\w)",
    rf"(?P<keep>(?i:\b(?:pin|pass ?code|code)\b[^.\n]{{0,30}}?(?:['’]s|:| =| is)\s{{1,3}}))(?i:(?:{_DIGIT_WORDS})(?:[ ,-]{{1,3}}(?:{_DIGIT_WORDS})){{3,9}})\b",
    r"(?P<keep>(?i:\b(?:garage|safe|door|gate|locker|vault|alarm|lock|box)\b[^.\n]{0,20}? (?:opens?|unlocks?|works?|disarms?) with ))\d(?:[ -]?\d){3,9}(?!\w)",
    r"(?P<keep>(?i:\b(?:alarm|lock|keypad|safe|locker|vault|padlock): ))[#*]?\d(?:[ -]?\d){3,7}[#*]?(?!\w)",
    r"(?P<keep>(?i:\blog(?:ged|ging)? ?in(?:to)?\b[^.\n]{0,40}? with \S{2,40} (?:/|and|:) ))(?=\S*\d)(?=\S*[A-Za-z])[^\s\"',;]{6,80}",
    r"(?<![\w-])\d{4,8}(?= (?:is|for|as|was) (?:the|my|our) (?i:\w+ ){0,2}(?i:pin|code|pass ?code|pass ?word)\b)",
    r"(?P<keep>(?i:\b(?:set-)?cookie: ?))[\w.-]{1,60}=[^\s;]{8,}(?:; ?[\w.-]{1,60}=[^\s;]{1,400}){0,20}",
    r"(?P<keep>(?i:\b(?:passport|reisepass|passeport|pasaporte|passaporte|passaporto|paspoort)(?: (?:number|no\.?|nr\.?)|nummer)?(?: is| ist| est| es| è| é|:| =|(?<=[rR.]))\s{0,3}))(?=[A-Z0-9]*\d{2})[A-Z0-9]{7,9}\b",
    r"(?P<keep>(?i:\bdriv(?:er['’]?s?['’]?|ing) licen[cs]e(?: number| no\.?)?(?: is|:)?\s{1,3}))(?=[A-Z0-9-]*\d{4})[A-Z0-9-]{7,16}\b",
    r"(?P<keep>(?i:\bsocial\b[^.\n\d]{0,30}?))\d{3}-\d{2}-\d{4}\b",
    r"(?P<keep>(?i:\b(?:recovery|licen[cs]e|product|activation|backup|bitlocker) key(?: is|:)?\s{1,3}))(?:[A-Z0-9]{4,8}-){2,8}[A-Z0-9]{4,8}\b",
    r"(?P<keep>(?i:\b(?:token|psk|mdp|pw|pass|secret|passwd|contrase[nñ]a|passwort|senha|wachtwoord|parola|mot de passe|password)(?: wi-?fi| wlan)?\s{0,2}[=:]\s{0,2}[\"']?))(?![<$*\[{]|(?i:your|env|os\.))(?=[^\s\"',;]*\d)(?=[^\s\"',;]*[A-Za-z])[^\s\"',;<>$(]{6,200}",
    # A key without a link word: long, and of letters and digits.
    r"(?P<keep>(?i:\b(?:api|access|secret|private|license|licence|encryption|signing|auth|session|service|deploy|app|wallet|bot|master|ssh|account)[ -]?(?:key|token|secret)s?(?: (?!id\b|pair\b|hash\b|fingerprint\b)[a-z]{1,12}){0,3}?[ :=]{1,3})[\"'`“]?)(?!(?i:https?:|sha\d))(?=[^\s\"'`“”,;)]*[A-Za-z])(?=(?:[^\s\d\"'`“”,;)]*\d){3})[\w+/=.~-]{16,}",
    rf"(?P<keep>(?i:\b{_WORDS}{_OF}{_LINK})[\"'`“„«]?){_STRONG}",
    # In quotes, any value counts.
    rf"(?P<keep>(?i:\b{_WORDS}{_OF}{_LINK})[\"'`“„«])[^\"'`“”»\n]{{3,80}}(?=[\"'`“”»])",
    r"(?P<keep>(?i:\b(?:pass ?word|passwd|pwd|pass|passwort|kennwort|contrase[nñ]a|senha|wachtwoord|mot de passe|has[lł]o|пароль|login|credentials)\s{1,3})[\"'`]?)"
    r"(?=[^\s]*\d)(?=[^\s]*[A-Za-z!@#$%^&*])[^\s\"'`,;:/]{6,}",
    r"(?P<keep>(?i:\b(?:credentials?|log ?ins?|account|zugangsdaten|identifiants)\b[^.\n]{0,30}?(?:is|are|:|=|with)\s{1,3})\S{2,40}\s{0,2}(?:/|:|\band\b|,)\s{0,2})(?!v?\d+(?:\.\d+)+\b)(?=[^\s]*\d)[^\s\"'`,;/]{5,}",
    r"(?P<keep>(?i:\b(?:my|the|our|bank|card|phone|sim|debit|his|her|banking|account) (?:\w+ ){0,2}pin(?: code| number)?|\bpin(?: number)? (?:for|of|to|on) (?:\S+ ){1,4}?is)\s{1,3}(?:is |was |: ?)?)\d[\d -]{2,8}\d",
    r"(?P<keep>(?i:\bpin[ :#]{1,2}))\d{4}(?:\d{2})?\b(?! ?\d)",
    r"(?P<keep>(?i:\b(?:pass ?phrase|passphrase|master password|seed phrase|phrase secrète|frase de contraseña|mantra)(?: \S{1,20}){0,4}?(?:\s{0,3}[:=]|\s{1,3}(?:is|lautet|est|es))\s{1,3})[\"'“]?)"
    r"(?!(?:too|very|not|weak|strong|long|short|stored|in|on|the|a|an|my|set|kept|only|also|required|written|safe|secure)\b)[a-z]+(?:[ -][a-z]+){2,7}\b",
    # A plain word that ends the sentence, and does not describe the password.
    r"(?P<keep>(?i:\b(?:my|the|our|his|her|your|wifi|wi-fi|mein|das|meine|mon|le|mi|la|minha|mijn|moje)(?: \S{1,20}){0,3}? (?:pass ?word|pass ?code|passwort|kennwort|mot de passe|contrase[nñ]a|senha|wachtwoord|has[lł]o)"
    r"(?: (?:for|of|to|für|para|pour) (?:\S+ ){0,3}?\S+)? (?:is|lautet|ist|est|es|é|jest|(?<=[łl]o )to) ))"
    r"(?!(?:too|very|not|so|still|now|already|always|never|the|a|an|my|in|on|at|same|weak|strong|long|short|safe|secure|secret|wrong|correct|right|invalid|valid|expired|expiring|lost|stolen|old|new|"
    r"missing|unknown|unique|private|hidden|confidential|required|needed|optional|there|here|stored|saved|written|kept|forgotten|easy|hard|simple|complex|random|different|important|"
    r"good|bad|fine|ok|okay|case-sensitive|sensitive|compromised|leaked|reset|changed|shared|public|default|blank|empty|ready|back|gone|weird|funny|boring|what|why|how|when|being|falsch|richtig|neu|alt|zu|"
    r"sicher|abgelaufen|weg|nicht|correct|incorrect|oublié|incorrecta|correcta|segura|nueva|niet|fout|verlopen|nie|compliant|enough|something|nothing|everything|ours|mine|yours|stupid|terrible|great|awful|crap|broken|outdated|overdue|due|printed|taped|visible|encrypted|hashed|salted|protected|everywhere|anywhere|somewhere|working)\b)[a-z]{5,20}(?=[.!]?\s*$|[.!]\s|,)",
    r"(?<![^\s\"'`“])[^\s\"'`“,;]{4,64}(?=[\"'`”]? (?i:is|as|ist|est|es|als|comme|como) (?i:my|the|our|a|mein|das|mon|le|mi|la|il|moje) (?i:\w+ ){0,2}(?i:pass ?word|pass ?code|pin|api key|passwort|kennwort|mot de passe|contrase[nñ]a|senha|wachtwoord|has[lł]o)\b)(?<=[\d!@#$%^&*_+=])",
    r"(?P<keep>(?i:\b(?:use|used|try|enter|type|with|via|mit|set) [\"'`“]?))(?=[^\s\"'`”]*\d)(?=[^\s\"'`”]*[A-Za-z])[^\s\"'`”,;]{5,}(?=[\"'`”]? (?i:as|for|to|als|zum) (?i:the |my |a |your )?(?i:\w+ ){0,2}(?i:pass ?word|pass ?code|log ?in|unlock|wi-?fi|passwort)\b)",
    r"(?P<keep>(?i:\b(?:changed?|set|reset|updated?|geändert|gesetzt) (?:my|the|our|mein|das) (?:\S+ ){0,4}?(?:pass ?word|pass ?code|pin|passwort|kennwort)(?: (?:for|of|on) (?:\S+ ){0,3}?\S+)? (?:to|from|auf) [\"'`“]?))(?=[^\s]*[\d!@#$%^&*])[^\s\"'`”,;]{3,}",
    r"(?P<keep>(?:密码|密碼|口令|パスワード|暗証番号|暗証|비밀번호|암호)[^\w]{0,3}(?:是|为|為|は|는|은|：|:)?\s{0,3}[「『“\"']?)[A-Za-z0-9!@#$%^&*_.+-]{4,}",
    r"(?P<keep>كلمة (?:المرور|السر)[^\w]{0,3}(?:هي|:)?\s{0,3})[A-Za-z0-9!@#$%^&*_.+-]{4,}",
    r"(?P<keep>(?i:\b(?:ssn|social security(?: number)?|social insurance(?: number)?|sin number|itin|tax(?:payer)? (?:id|identification)(?: number)?|national insurance(?: number)?|"
    r"steuer-?id|sozialversicherungsnummer|codice fiscale|nino|dni|numéro de sécurité sociale)\b[^.\n]{0,30}?))(?:\d{3}[- ]?\d{2}[- ]?\d{4}|\d{3}[- ]\d{3}[- ]\d{3}|[A-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]|\d{11}|[12] ?\d{2} ?\d{2} ?\d{2} ?\d{3} ?\d{3}(?: ?\d{2})?|\d{8}[A-Z])\b",
    r"(?P<keep>(?i:\b(?:totp|2fa|mfa|otp|authenticator|two-factor|google auth)\b[^.\n]{0,40}?))(?:[A-Z2-7]{4} ){3,12}[A-Z2-7]{2,4}\b|(?P<keep2>(?i:\b(?:totp|2fa|mfa|otp|authenticator|two-factor|google auth)\b[^.\n]{0,40}?))\b(?=[A-Z2-7]*[2-7])[A-Z2-7]{16,64}\b",
    r"(?P<keep>(?i:\b(?:backup|recovery|rescue|emergency|2fa) codes?\b[^.\n\d]{0,30}?))(?:[A-Za-z]{0,4}\d[\w-]{3,12}(?:[,; ]{1,2}(?:and )?)?){1,12}",
)  # fmt: skip

SHAPE_HINT: Final = r"[a-z0-9_+/.-]{16,}|://|[=:]\s?\S{4}|bearer|-----begin"
"""A text with a key that is known by its shape contains this, in lower case."""
SPOKEN_HINT: Final = (
    r"pass|pin\b|open|alarm|lock|keypad|safe|vault|unlock|disarm|works? with|cookie|licen|psk|mdp|puk|código|paspoort|pincode|pwd|\bpw\b|secret|token|key|code|combin|cvv|cvc|otp|totp|2fa|mfa|authenticator|kennwort|geheim|zugang|contrase|clave|senha|parola|codice|wachtwoord|"
    r"has[lł]o|парол|пин|密码|密碼|口令|パスワード|暗証|비밀번호|암호|كلمة|lösenord|adgangskode|kodeord|heslo|salasana|şifre|kod |credential|log ?in|ssn|social|insurance|tax|"
    r"mysql|mariadb|redis-cli|mongo|curl|wget|http|security|magic word|safe word|docker|smbclient|sqlcmd|ldapsearch|7z|zip|steuer|sozial|fiscale|sécurité|dni|seed|phrase|mnemonic|wallet|recover|account|identifiants"
)
"""A text with a secret that is said in a sentence contains this, in lower case."""
