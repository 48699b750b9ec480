"""What a sign of poisoned text is, the words that several signs share, and the signs in other languages than English.

English patterns read a folded text: lower case, one kind of space, hyphen and apostrophe. `~` in a pattern stands for
up to seventy characters of the same sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

from memoranda.text.word_filter import Needs, needed_words, words_in

_GAP: Final = r"(?:[^.!?\n]|[.!?](?=\w)){0,70}?"
START: Final = (
    r"(?:(?:^|[\n.!?:;,\]\)>*\-\"'`|]|\b(?:and|then|so|must|should|shall|will|always|never|please|now|also|"
    r"kindly|to|just|immediately|instead|first))[ \t*_#>\"'`(\[-]{0,6})"
)
"""Where a clause starts, so that a verb there is an order and no narration."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A class of wording."""

    name: str
    user: float
    """What it weighs in a user's own words."""
    outside: float
    """What it weighs in the words of a tool, a document or a web page."""
    source: str
    flags: int
    hints: tuple[str, ...]
    """A text that the pattern matches contains one of these. Empty: the pattern is always tried."""
    needs: tuple[str, ...]
    """And one of these."""
    own_wish: bool = False
    """Whether it counts little when the speaker asks it for herself: "always recommend vegetarian food to me"."""

    about_ai: bool = False
    """Whether it matches only a text that names a model, by `AI_WORD`."""

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compile(self.source, self.flags)

    @property
    def needs_words(self) -> Needs:
        """The words of a text that the pattern can match."""
        return (*words_in(self.hints), *words_in(self.needs), *needed_words(self.source))


@cache  # compiled on first use: few texts need any of them
def _compile(source: str, flags: int) -> re.Pattern[str]:
    return re.compile(source, flags)


def make_sign(
    name: str,
    user: float,
    outside: float,
    pattern: str,
    hints: str = "",
    needs: str = "",
    *,
    own_wish: bool = False,
    fold: bool = True,
    about_ai: bool = False,
) -> Sign:
    flags = re.MULTILINE if fold else re.MULTILINE | re.IGNORECASE
    source = pattern.replace("~", _GAP)
    return Sign(name, user, outside, source, flags, tuple(hints.split()), tuple(needs.split()), own_wish, about_ai)


RULES: Final = (
    r"(?:instructions?|rules?|guidelines?|guidance|directives?|prompts?|polic(?:y|ies)|restrictions?|constraints?|"
    r"safeguards?|guardrails?|filters?|training|programming|protocols?|commands?|limitations?|alignment|"
    r"system message|system prompt|(?:safety|security) (?:checks?|measures?|settings?)|safety)"
)
AI: Final = r"(?:(?:ai|a\.i\.|autonomous) (?:agents?|assistants?|models?|systems?|bots?)|ai|a\.i\.|assistants?|agents?|llms?|language models?|models?|chat ?bots?|bots?|copilot|chatgpt|gpt|claude|gemini)"
TARGET: Final = (
    r"(?:https?://|www\.|[\w.+-]+@[\w-]+\.|[\w-]+\.(?:com|net|org|io|ru|cn|xyz|info|biz|dev|app|example|test|co|me|site|top|"
    r"online|tk|cc)\b|webhook|(?:the |this |an? |our |my |remote |external |following )+(?:server|address|endpoint|url|number|"
    r"channel|account|bucket|mailbox|address|inbox|site|website|form)\b)"
)
AI_WORD: Final = re.compile(
    r"(?<![^\W_])(?:ais?|a\.i|assistants?|agents?|llms?|models?|language|bots?|chat ?bots?|copilots?|chatgpt|gpt|claude|gemini|crawlers?|scrapers?|summari[sz]ers?|"
    r"ki|ia|sprachmodelle?|lenguaje|langage|linguistici|asistente|assistente|ассистент|助手|アシスタント)"
)
"""A name of a model. The word filter looks for parts of words, and "ai" is a part of many."""


@dataclass(frozen=True, slots=True)
class _OverrideWords:
    """The words of one language, as alternatives of a pattern over text in lower case."""

    verbs: str
    which: str
    """All, previous, your, system."""
    rules: str
    negations: str = ""
    """A negation before the verb or right after it."""


_WORDS: Final = {
    "de": _OverrideWords(
        r"ignorier\w*|vergiss|vergesst|vergessen sie|missachte\w*|verwirf|verwerfen sie|überschreib\w*|umgehe?\w*|befolge?n? (?:sie )?nicht|"
        r"lass\w* .{0,40}außer acht|setz\w* .{0,60}außer kraft|halte dich nicht|hör auf|missachten sie|beachte\w* .{0,50}nicht",
        r"alle|alles|sämtliche|vorherig\w*|bisherig\w*|vorangegangen\w*|vorangehend\w*|vorig\w*|früher\w*|obig\w*|deine[nr]?|ihre|eure|system\w*",
        r"anweisung\w*|instruktion\w*|regel\w*|richtlinie\w*|vorgabe\w*|befehl\w*|anordnung\w*|einschränkung\w*|beschränkung\w*|systemprompt|system-prompt|"
        r"prompts?|vorschrift\w*|sicherheitsregel\w*|vorherige gesagt\w*|anleitung\w*|weisung\w*",
        r"nicht|nie|niemals|bitte nicht",
    ),
    "fr": _OverrideWords(
        r"ignor(?:e|ez|er)|oubli(?:e|ez|er)|ne ten(?:ez|ir) (?:pas|plus|aucun)? ?compte|ne tiens (?:pas|plus|aucun)? ?compte|fais abstraction|faites abstraction|"
        r"outrepass\w+|contourn\w+|désactiv\w+|ne sui[st] (?:pas|plus)|ne suivez (?:pas|plus)|néglig\w+|annul\w+|passe outre|passez outre|n'obéi\w+ (?:pas|plus)",
        r"tou(?:t|te|s|tes)|précédente?s?|antérieure?s?|ci-dessus|préalables?|tes|vos|système|initiales?|données",
        r"instructions?|consignes?|règles?|directives?|ordres?|restrictions?|limites|limitations?|prompts?|invites?|contraintes?|politiques?|filtres?",
        r"n'|pas|ne pas|jamais",
    ),
    "es": _OverrideWords(
        r"ignor(?:a|e|en|ar|ad)|olvid(?:a|e|en|ar|ad)|olvídate de|olvídese de|haz caso omiso|haga caso omiso|descart(?:a|e|ar)|desestim(?:a|e|ar)|omit(?:e|a|ir)|"
        r"anul(?:a|e|ar)|no sigas|no siga|no obedezcas|desobedece|pasa por alto|desactiv(?:a|e|ar)|elud(?:e|a|ir)|deja de seguir",
        r"tod[oa]s?|anterior(?:es)?|previ[oa]s?|precedentes?|arriba|tus|sus|sistema|iniciales|originales",
        r"instruccion(?:es)?|instrucción|reglas?|órdenes|directrices|indicaciones|normas|restricciones|políticas|prompts?|mensaje del sistema|limitaciones|filtros?|comandos",
        r"no|nunca|jamás",
    ),
    "it": _OverrideWords(
        r"ignor(?:a|i|are|ate|ino)|dimentic(?:a|hi|are|ate)|trascur(?:a|i|are|ate)|non (?:seguire|considerare|tenere conto|rispettare|segua)|disattiv(?:a|i|are)|"
        r"annull(?:a|i|are)|scart(?:a|i|are)|aggira(?:re)?|sovrascriv(?:i|a|ere)|tralasci\w+|lascia perdere",
        r"tutt[eio]|precedent[ei]|anterior[ei]|sopra|tue|tuoi|sue|vostre|sistema|inizial[ei]",
        r"istruzion[ei]|regol[ae]|direttiv[ae]|indicazion[ei]|ordini|comand[io]|restrizion[ei]|limitazion[ei]|prompts?|linee guida|politiche|vincoli|filtri",
        r"non|mai",
    ),
    "pt": _OverrideWords(
        r"ignor(?:e|a|ar|em)|esque[çc](?:a|e|er|am)|desconsider(?:e|a|ar|em)|desobede[çc]a|não (?:siga|sigas|obedeça|cumpra)|descart(?:e|a|ar)|anul(?:e|a|ar)|desativ(?:e|a|ar)|"
        r"contorn(?:e|a|ar)|despreze|deixe de (?:lado|seguir)",
        r"tod[oa]s?|anterior(?:es)?|prévi[oa]s?|precedentes?|acima|suas?|teus|tuas|seus|sistema|iniciais",
        r"instruç(?:ões|ão)|regras?|diretrizes?|ordens|orientações|comandos?|restrições|políticas?|prompts?|normas|limitações|filtros?",
        r"não|nunca|jamais",
    ),
    "nl": _OverrideWords(
        r"negeer\w*|vergeet|vergeten|laat .{0,50}buiten beschouwing|sla .{0,50}over|volg .{0,40}niet|omzeil\w*|overschrijf|schakel .{0,50}uit|trek je niets aan|houd je niet",
        r"alle|alles|vorige|voorgaande|eerdere|bovenstaande|voorafgaande|jouw|je|uw|systeem\w*|oorspronkelijke",
        r"instructies?|regels?|richtlijn\w*|opdracht\w*|aanwijzing\w*|voorschrift\w*|bevelen|beperking\w*|prompts?|systeemprompt|beleid|filters?|restricties",
        r"niet|nooit",
    ),
    "pl": _OverrideWords(
        r"zignoruj\w*|ignoruj\w*|zapomnij\w*|pomiń\w*|zlekceważ\w*|lekceważ|odrzuć\w*|nie (?:stosuj|przestrzegaj|wykonuj|zważaj)\w*|obejdź|wyłącz\w*|unieważnij|nadpisz",
        r"wszystki\w+|poprzedni\w+|wcześniejsz\w+|powyższ\w+|dotychczasow\w+|swo(?:je|ich|im)|twoj\w+|systemow\w+",
        r"instrukcj\w+|zasad\w*|poleceni\w*|poleceń|wytyczn\w+|reguł\w*|rozkaz\w*|ogranicze\w+|prompt\w*|dyrektyw\w*|zaleceni\w+|filtr\w*",
        r"nie|nigdy",
    ),
    "ru": _OverrideWords(
        r"игнорируй\w*|проигнорируй\w*|забудь\w*|отбрось\w*|пренебреги\w*|не (?:следуй|соблюдай|выполняй|обращай внимания|учитывай|подчиняйся)\w*|отмени\w*|обойди\w*|отключи\w*|"
        r"перестань\w*|нарушь\w*|игнорировать|забыть|отменить|не следовать",
        r"все\w*|предыдущ\w+|прошл\w+|прежн\w+|ранее|вышеуказанн\w+|выше|сво(?:и|их|ими|им)|твои\w*|ваш\w+|системн\w+|предшествующ\w+",
        r"инструкци\w+|правил\w*|указани\w+|команд\w*|директив\w*|предписани\w+|ограничени\w+|промпт\w*|распоряжени\w+|приказ\w*|установк\w+|подсказк\w+|фильтр\w*|политик\w*",
        r"не|никогда",
    ),
    "uk": _OverrideWords(
        r"ігноруй\w*|проігноруй\w*|забудь\w*|відкинь\w*|не (?:дотримуйся|виконуй|зважай|слідуй)\w*|скасуй\w*|обійди\w*|вимкни\w*",
        r"усі|всі\w*|попередн\w+|раніше|вище\w*|свої\w*|твої\w*|ваші|системн\w+",
        r"інструкці\w+|правил\w*|вказівк\w+|команд\w*|обмежен\w+|промпт\w*|наказ\w*|директив\w*",
        r"не|ніколи",
    ),
    "cs": _OverrideWords(
        r"ignoruj\w*|zapomeň\w*|nevšímej si|nedbej|neřiď se|přeskoč|zruš\w*|obejdi|vypni", r"všechn\w+|veškeré|předchozí\w*|dřívější\w*|výše|své|tvé|systémov\w+",
        r"instrukc\w+|pokyn\w*|pravidl\w*|příkaz\w*|omezení|prompt\w*|směrnic\w*", r"nikdy",
    ),
    "sv": _OverrideWords(
        r"ignorera|glöm|strunta i|bortse från|åsidosätt|följ inte|kringgå|ignorer|glem|se bort fra|følg ikke", r"alla|alle|tidigare|föregående|ovanstående|tidligere|forrige|dina|dine|system\w*",
        r"instruktion\w*|instruks\w*|regl\w*|riktlinj\w*|retningslinj\w*|order|prompt\w*|begränsning\w*|anvisning\w*", r"inte|aldrig|ikke|aldri",
    ),
    "tr": _OverrideWords(
        r"yok say\w*|unut\w*|göz ardı et\w*|görmezden gel\w*|dikkate alma\w*|geçersiz say\w*|uyma\w*", r"önceki|tüm|bütün|yukarıdaki|daha önceki|sistem",
        r"talimat\w*|kural\w*|yönerge\w*|komut\w*|emir\w*|emr\w+|kısıtlama\w*|istem\w*",
    ),
    "ar": _OverrideWords(r"تجاهل\w*|انس|انسَ|إنس|انسى|تغاض\w*|لا تتبع", r"جميع|كل|السابقة|أعلاه|السابق\w*", r"التعليمات|تعليمات\w*|القواعد|قواعد\w*|الأوامر|التوجيهات|القيود"),
    "hi": _OverrideWords(r"अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल जा\w*|उपेक्षा", r"सभी|पिछल\S*|पूर्व|ऊपर", r"निर्देश\S*|नियम\S*|आदेश\S*"),
    "id": _OverrideWords(r"abaikan|lupakan|jangan (?:ikuti|patuhi)", r"semua|sebelumnya|di atas|sistem", r"instruksi|aturan|perintah|pedoman|arahan", r"jangan"),
    "vi": _OverrideWords(r"bỏ qua|phớt lờ|quên|đừng làm theo", r"tất cả|trước|trên|mọi", r"hướng dẫn|chỉ dẫn|quy tắc|lệnh|chỉ thị", r"đừng"),
}  # fmt: skip

# Without spaces between words, so without word boundaries.
_UNSPACED: Final = (
    (r"(?<!我)(?:忽略|忘记|忘掉|无视|無視|忽視|忽视|不要遵守|不要遵循|不理会|抛弃|绕过|覆盖|取消|停止遵守|忘記|略過|禁用|解除)",
     r"之前|以前|以上|上述|先前|此前|所有|全部|一切|你的|您的|系统|前面|原有|原来|系統|先前的",
     r"指令|指示|规则|規則|提示词|系统提示|命令|要求|限制|设定|設定|指引|准则|規定|约束|政策|说明|過濾|过滤"),
    (r"無視|忘れ|従わない|従うな|破棄|取り消|上書き|無効|守らない|解除|リセット",
     r"以前|これまで|上記|前の|すべて|全て|全ての|あなたの|システム|今まで|先ほど|従来|いままで|元の",
     r"指示|命令|ルール|規則|プロンプト|制限|ガイドライン|設定|制約|指令|ポリシー"),
    (r"무시|잊어|따르지 마|잊으|무효|우회|취소|해제",
     r"이전|앞의|위의|모든|지금까지|당신의|시스템|기존",
     r"지시|명령|규칙|지침|프롬프트|제한|설정|안내"),
)  # fmt: skip


@cache  # compiled on first use, as are those below: few texts need any of them
def _compile_override(words: _OverrideWords) -> re.Pattern[str]:
    negated = rf"(?<!\w)(?:{words.negations})[ ,]*" if words.negations else r"(?!)"
    gap = r"[^.!?\n]{0,70}?"
    order = [
        rf"(?<!\w)(?P<v>{words.verbs})(?!\w)(?! (?:{words.negations or '(?!)'})\b){gap}(?<!\w)(?:{words.which})(?!\w){gap}(?<!\w)(?:{words.rules})(?!\w)"
    ]
    order.append(
        rf"(?<!\w)(?:{words.verbs})(?!\w)(?! (?:{words.negations or '(?!)'})\b){gap}(?<!\w)(?:{words.rules})(?!\w){gap}(?<!\w)(?:{words.which})(?!\w)"
    )
    # In some languages the verb comes last.
    order.append(
        rf"(?<!\w)(?:{words.which})(?!\w){gap}(?<!\w)(?:{words.rules})(?!\w){gap}(?<!\w)(?:{words.verbs})(?!\w)"
    )
    return re.compile(rf"(?P<negated>{negated})?(?:{'|'.join(order)})")


@cache
def _compile_unspaced(verbs: str, which: str, rules: str) -> re.Pattern[str]:
    gap = r"[^。！？.!?\n]{0,24}?"
    orders = ((verbs, which, rules), (which, rules, verbs), (verbs, rules, which))
    return re.compile("|".join(gap.join(f"(?:{part})" for part in order) for order in orders))


def _stems(pattern: str) -> tuple[str, ...]:
    """Return the letters that each alternative of a pattern begins with."""
    return tuple({re.split(r"[\\\[(.?]", part)[0].rstrip("*") for part in re.split(r"\|(?![^(]*\))", pattern)} - {""})


LANGUAGES: Final = tuple(_WORDS.values())
_MINE: Final = re.compile(
    r"\b(?:meine\w?|unsere\w?|mes|nos|mis|nuestr[oa]s|miei|mie|nostr[eio]|meus|minhas|nossas|nossos|mijn|onze|moje|moich|nasze|мои\w?|наши\w?|mina|mine|våra|benim)\b"
)
"""The speaker's own orders, which somebody does not follow, are no rules of a model."""
_EAST_ASIAN: Final = re.compile("[\u3040-\u9fff\uac00-\ud7af]")


def override_needs(words: _OverrideWords) -> Needs:
    """Return the words that a text must have to order it in this language."""
    return (*words_in(_stems(words.verbs)), *words_in(_stems(words.rules)))


def find_override(folded: str, languages: Iterable[int]) -> re.Match[str] | None:
    """Return where a text in lower case orders to drop the rules, in one of the languages.

    Args:
        folded: The text.
        languages: Those of `LANGUAGES` whose words it has.
    """
    if not folded.isascii() and _EAST_ASIAN.search(folded):
        for unspaced in _UNSPACED:
            if (found := _compile_unspaced(*unspaced).search(folded)) is not None:
                return found
    for number in languages:
        for found in _compile_override(LANGUAGES[number]).finditer(folded):
            if not found["negated"] and not _MINE.search(found[0]):
                return found
    return None


OTHER_LANGUAGES: Final = (
    make_sign(
        "memory order", 0.45, 1.0,
        r"(?:\b(?:merke? dir|merken sie sich|speichere?|notiere?|behalte?|präge dir)\b~\b(?:nutzer|nutzerin|benutzer|anwender|kunde|kundin)\b|\b(?:retiens|retenez|souviens-toi|mémorise|mémorisez|enregistre|enregistrez|note|notez)\b~\b(?:l'utilisateur|l'utilisatrice|l'usager|le client)\b|"
        r"\b(?:recuerda|recuerde|guarda|guarde|memoriza|memorice|anota|registra|almacena)\b~\b(?:usuario|usuaria|cliente)\b|\b(?:ricorda|ricordati|memorizza|salva|annota|registra)\b~\b(?:utente|cliente)\b|"
        r"\b(?:lembre-se|lembra-te|guarde|memorize|salve|grave|registre|anote)\b~\b(?:usuário|utilizador|usuária|cliente)\b|\b(?:onthoud|bewaar|sla op|noteer)\b~\b(?:gebruiker|klant)\b|"
        r"\b(?:zapamiętaj|zapisz|zanotuj)\b~\b(?:użytkowni\w+|klient\w*)\b|\b(?:запомни|запомните|сохрани|сохраните|запиши)\b~\b(?:пользовател\w+|клиент\w*)\b|"
        r"(?:记住|記住|记下|保存|存储|牢记)[^。！？\n]{0,24}?(?:用户|使用者|用戶|客户)|(?:ユーザー|利用者)[^。！？\n]{0,40}?(?:覚え|記憶|保存|記録)|(?:사용자|고객)[^.!?\n]{0,40}?(?:기억|저장))",
    ),
    make_sign(
        "concealment", 0.8, 1.0,
        r"(?:\b(?:sage?|sagt|sagen sie|verrate?|verraten sie|erzähle?|erzählen sie|zeige?)\b~\b(?:nutzer|nutzerin|benutzer|anwender)\b~\b(?:nichts|nicht|nie)\b|\bohne (?:den |die |dem )?(?:nutzer|benutzer|anwender)\b~\b(?:zu (?:fragen|informieren)|wissen|zustimmung)\b|"
        r"\bn(?:e |')(?:le |lui |en )*(?:dis|dites|dire|révèle|révélez|parle|parlez|mentionne|mentionnez|informe|informez|montre)\b~\b(?:utilisateur|utilisatrice|usager)\b|\bsans (?:en )?(?:informer|prévenir|demander à|avertir)\b~\b(?:utilisateur|utilisatrice)\b|"
        r"\bno (?:le |se lo |lo )*(?:digas|diga|informes|informe|reveles|revele|menciones|mencione|cuentes|avises|muestres)\b~\b(?:usuario|usuaria)\b|\bsin (?:informar|avisar|preguntar|decir)\w*\b~\b(?:usuario|usuaria)\b|"
        r"\bnon (?:dirlo|dire|rivelare|informare|avvisare|menzionare|mostrare)\b~\butente\b|\bsenza (?:informare|avvisare|chiedere|dire)\w*\b~\butente\b|\bnão (?:diga|conte|informe|revele|mencione|avise|mostre)\b~\b(?:usuário|utilizador|usuária)\b|"
        r"\b(?:vertel|zeg|verklap)\b~\bgebruiker\b~\b(?:niets|niet|nooit)\b|\bnie (?:mów|informuj|ujawniaj|wspominaj|pokazuj)\b~\bużytkowni\w+|\bне (?:говори|говорите|сообщай|сообщайте|рассказывай|показывай|упоминай)\b~\bпользовател\w+|"
        r"(?:不要|别|勿|切勿)(?:告诉|告知|通知|让|向)[^。！？\n]{0,6}?(?:用户|使用者|用戶)|(?:ユーザー|利用者)[^。！？\n]{0,20}?(?:知らせ|言わ|教え|伝え|見せ)(?:ない|ず|るな)|사용자[^.!?\n]{0,16}?(?:알리지|말하지|보여주지))",
    ),
    make_sign(
        "addresses the model", 0.4, 0.8,
        r"\b(?:an|für|liebe[rs]?|achtung|hinweis an|nachricht an)[ ,:]{1,2}(?:alle |jede[nrs]? |die |den |das )*(?:ki|ki-\w+|sprachmodelle?|chatbots?|ki assistent\w*)\b|\b(?:à|pour|cher|chers|attention|note aux?|aux)[ ,:]{1,2}(?:tous |toutes |les |l')*(?:ia|assistants? ia|agents? ia|modèles? de langage|chatbots?)\b|"
        r"\b(?:para|a|atención|aviso a|querid[oa]s?|nota para)[ ,:]{1,2}(?:tod[oa]s |los |las |el |la |cualquier )*(?:ia|asistentes? (?:de )?ia|agentes? de ia|modelos? de lenguaje|chatbots?)\b|\b(?:a|per|attenzione|nota per)[ ,:]{1,2}(?:tutti |tutte |gli |le |i |l')*(?:ia|assistenti ia|modelli linguistici|chatbot)\b|"
        r"(?:^|\n)[ \t]*(?:asistente|assistente|ki|ki-assistent|ассистент|助手|アシスタント)[ ]?[,:：，！!]",
        about_ai=True,
    ),
    make_sign(
        "speaks of the user", 0.5, 0.7,
        r"\b(?:empfiehl|empfehlt|empfehle|empfehlen sie|sage?|sagt|rate|ratet)\b (?:dem|den|der|jedem|allen) (?:nutzern?|benutzern?|anwendern?)\b|\b(?:recommande[zr]?|conseille[zr]?|dis|dites|suggère|suggérez)\b~\b(?:à l'utilisateur|aux utilisateurs)\b|"
        r"\b(?:recomienda|recomiende|dile|dígale|aconseja|sugiere)\b~\bal? (?:los )?usuarios?\b|\b(?:consiglia|raccomanda|di'|suggerisci)\b~\b(?:all'utente|agli utenti)\b|\b(?:recomende|diga|sugira|aconselhe)\b~\b(?:ao|aos) (?:usuários?|utilizador(?:es)?)\b",
    ),
    make_sign(
        "override", 1.0, 1.0,
        r"\b(?:folge|folgt|gehorche|gehorcht|befolge|befolgt)\b~\b(?:nur|ausschließlich|allein)\b~\b(?:diese[mnrs]?)\b~\b(?:text|dokument|seite|nachricht|anweisung\w*)\b|\b(?:obéis|obéissez|suis|suivez)\b~\b(?:seulement|uniquement|exclusivement|qu'à|que)\b~\b(?:ce|cette|ces) (?:texte|document|page|message|consignes?)\b|"
        r"\b(?:obedece\w*|sigue|siga)\b~\b(?:solo|sólo|únicamente|solamente)\b~\b(?:este|esta|estas) (?:documento|texto|página|mensaje|instrucciones)\b|\b(?:obbedisci|segui|obbedite)\b~\b(?:solo|soltanto|unicamente)\b~\b(?:questo|questa) (?:documento|testo|pagina|messaggio)\b",
    ),
    make_sign(
        "exfiltration", 0.5, 0.7,
        r"\b(?:leite|leiten sie|sende?|schicke?|übermittle|envoie|envoyez|transfère|transférez|envía|envíe|reenvía|manda|mande|inoltra|invia|spedisci|envie|encaminhe|stuur|verstuur|wyślij|prześlij|отправь|отправьте|перешли)\b~[\w.+-]+@[\w-]+\.\w|"
        r"(?:发送|发给|转发|送信|転送|전송)[^。！？\n]{0,16}?(?:https?://|[\w.+-]+@[\w-]+\.\w)|(?:聊天记录|密码|对话|联系人)[^。！？\n]{0,12}?(?:发送|发给|转发|上传)",
        own_wish=True,
    ),
)  # fmt: skip
