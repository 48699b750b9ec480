"""Orders to drop the rules, in languages other than English: a verb, what it is to be done to, and which one, as data.

A verb alone, or instructions alone, are no sign: "Vergiss nicht, die Anweisungen zu lesen". Only a verb with "previous",
"all" or "your" instructions in the same sentence is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

from memoranda.text.word_filter import Needs, words_in


@dataclass(frozen=True, slots=True)
class OverrideWords:
    """The words of one language, as alternatives of a pattern over text in lower case."""

    verbs: str
    which: str
    """All, previous, your, system."""
    rules: str
    negations: str = ""
    """A negation before the verb or right after it."""


_WORDS: Final = {
    "de": OverrideWords(
        r"ignorier\w*|vergiss|vergesst|vergessen sie|missachte\w*|verwirf|verwerfen sie|überschreib\w*|umgehe?\w*|befolge?n? (?:sie )?nicht|"
        r"lass\w* .{0,40}außer acht|setz\w* .{0,60}außer kraft|halte dich nicht|hör auf|missachten sie|beachte\w* .{0,50}nicht",
        r"alle|alles|sämtliche|vorherig\w*|bisherig\w*|vorangegangen\w*|vorangehend\w*|vorig\w*|früher\w*|obig\w*|deine[nr]?|ihre|eure|system\w*",
        r"anweisung\w*|instruktion\w*|regel\w*|richtlinie\w*|vorgabe\w*|befehl\w*|anordnung\w*|einschränkung\w*|beschränkung\w*|systemprompt|system-prompt|"
        r"prompts?|vorschrift\w*|sicherheitsregel\w*|vorherige gesagt\w*|anleitung\w*|weisung\w*",
        r"nicht|nie|niemals|bitte nicht",
    ),
    "fr": OverrideWords(
        r"ignor(?:e|ez|er)|oubli(?:e|ez|er)|ne ten(?:ez|ir) (?:pas|plus|aucun)? ?compte|ne tiens (?:pas|plus|aucun)? ?compte|fais abstraction|faites abstraction|"
        r"outrepass\w+|contourn\w+|désactiv\w+|ne sui[st] (?:pas|plus)|ne suivez (?:pas|plus)|néglig\w+|annul\w+|passe outre|passez outre|n'obéi\w+ (?:pas|plus)",
        r"tou(?:t|te|s|tes)|précédente?s?|antérieure?s?|ci-dessus|préalables?|tes|vos|système|initiales?|données",
        r"instructions?|consignes?|règles?|directives?|ordres?|restrictions?|limites|limitations?|prompts?|invites?|contraintes?|politiques?|filtres?",
        r"n'|pas|ne pas|jamais",
    ),
    "es": OverrideWords(
        r"ignor(?:a|e|en|ar|ad)|olvid(?:a|e|en|ar|ad)|olvídate de|olvídese de|haz caso omiso|haga caso omiso|descart(?:a|e|ar)|desestim(?:a|e|ar)|omit(?:e|a|ir)|"
        r"anul(?:a|e|ar)|no sigas|no siga|no obedezcas|desobedece|pasa por alto|desactiv(?:a|e|ar)|elud(?:e|a|ir)|deja de seguir",
        r"tod[oa]s?|anterior(?:es)?|previ[oa]s?|precedentes?|arriba|tus|sus|sistema|iniciales|originales",
        r"instruccion(?:es)?|instrucción|reglas?|órdenes|directrices|indicaciones|normas|restricciones|políticas|prompts?|mensaje del sistema|limitaciones|filtros?|comandos",
        r"no|nunca|jamás",
    ),
    "it": OverrideWords(
        r"ignor(?:a|i|are|ate|ino)|dimentic(?:a|hi|are|ate)|trascur(?:a|i|are|ate)|non (?:seguire|considerare|tenere conto|rispettare|segua)|disattiv(?:a|i|are)|"
        r"annull(?:a|i|are)|scart(?:a|i|are)|aggira(?:re)?|sovrascriv(?:i|a|ere)|tralasci\w+|lascia perdere",
        r"tutt[eio]|precedent[ei]|anterior[ei]|sopra|tue|tuoi|sue|vostre|sistema|inizial[ei]",
        r"istruzion[ei]|regol[ae]|direttiv[ae]|indicazion[ei]|ordini|comand[io]|restrizion[ei]|limitazion[ei]|prompts?|linee guida|politiche|vincoli|filtri",
        r"non|mai",
    ),
    "pt": OverrideWords(
        r"ignor(?:e|a|ar|em)|esque[çc](?:a|e|er|am)|desconsider(?:e|a|ar|em)|desobede[çc]a|não (?:siga|sigas|obedeça|cumpra)|descart(?:e|a|ar)|anul(?:e|a|ar)|desativ(?:e|a|ar)|"
        r"contorn(?:e|a|ar)|despreze|deixe de (?:lado|seguir)",
        r"tod[oa]s?|anterior(?:es)?|prévi[oa]s?|precedentes?|acima|suas?|teus|tuas|seus|sistema|iniciais",
        r"instruç(?:ões|ão)|regras?|diretrizes?|ordens|orientações|comandos?|restrições|políticas?|prompts?|normas|limitações|filtros?",
        r"não|nunca|jamais",
    ),
    "nl": OverrideWords(
        r"negeer\w*|vergeet|vergeten|laat .{0,50}buiten beschouwing|sla .{0,50}over|volg .{0,40}niet|omzeil\w*|overschrijf|schakel .{0,50}uit|trek je niets aan|houd je niet",
        r"alle|alles|vorige|voorgaande|eerdere|bovenstaande|voorafgaande|jouw|je|uw|systeem\w*|oorspronkelijke",
        r"instructies?|regels?|richtlijn\w*|opdracht\w*|aanwijzing\w*|voorschrift\w*|bevelen|beperking\w*|prompts?|systeemprompt|beleid|filters?|restricties",
        r"niet|nooit",
    ),
    "pl": OverrideWords(
        r"zignoruj\w*|ignoruj\w*|zapomnij\w*|pomiń\w*|zlekceważ\w*|lekceważ|odrzuć\w*|nie (?:stosuj|przestrzegaj|wykonuj|zważaj)\w*|obejdź|wyłącz\w*|unieważnij|nadpisz",
        r"wszystki\w+|poprzedni\w+|wcześniejsz\w+|powyższ\w+|dotychczasow\w+|swo(?:je|ich|im)|twoj\w+|systemow\w+",
        r"instrukcj\w+|zasad\w*|poleceni\w*|poleceń|wytyczn\w+|reguł\w*|rozkaz\w*|ogranicze\w+|prompt\w*|dyrektyw\w*|zaleceni\w+|filtr\w*",
        r"nie|nigdy",
    ),
    "ru": OverrideWords(
        r"игнорируй\w*|проигнорируй\w*|забудь\w*|отбрось\w*|пренебреги\w*|не (?:следуй|соблюдай|выполняй|обращай внимания|учитывай|подчиняйся)\w*|отмени\w*|обойди\w*|отключи\w*|"
        r"перестань\w*|нарушь\w*|игнорировать|забыть|отменить|не следовать",
        r"все\w*|предыдущ\w+|прошл\w+|прежн\w+|ранее|вышеуказанн\w+|выше|сво(?:и|их|ими|им)|твои\w*|ваш\w+|системн\w+|предшествующ\w+",
        r"инструкци\w+|правил\w*|указани\w+|команд\w*|директив\w*|предписани\w+|ограничени\w+|промпт\w*|распоряжени\w+|приказ\w*|установк\w+|подсказк\w+|фильтр\w*|политик\w*",
        r"не|никогда",
    ),
    "uk": OverrideWords(
        r"ігноруй\w*|проігноруй\w*|забудь\w*|відкинь\w*|не (?:дотримуйся|виконуй|зважай|слідуй)\w*|скасуй\w*|обійди\w*|вимкни\w*",
        r"усі|всі\w*|попередн\w+|раніше|вище\w*|свої\w*|твої\w*|ваші|системн\w+",
        r"інструкці\w+|правил\w*|вказівк\w+|команд\w*|обмежен\w+|промпт\w*|наказ\w*|директив\w*",
        r"не|ніколи",
    ),
    "cs": OverrideWords(
        r"ignoruj\w*|zapomeň\w*|nevšímej si|nedbej|neřiď se|přeskoč|zruš\w*|obejdi|vypni", r"všechn\w+|veškeré|předchozí\w*|dřívější\w*|výše|své|tvé|systémov\w+",
        r"instrukc\w+|pokyn\w*|pravidl\w*|příkaz\w*|omezení|prompt\w*|směrnic\w*", r"nikdy",
    ),
    "sv": OverrideWords(
        r"ignorera|glöm|strunta i|bortse från|åsidosätt|följ inte|kringgå|ignorer|glem|se bort fra|følg ikke", r"alla|alle|tidigare|föregående|ovanstående|tidligere|forrige|dina|dine|system\w*",
        r"instruktion\w*|instruks\w*|regl\w*|riktlinj\w*|retningslinj\w*|order|prompt\w*|begränsning\w*|anvisning\w*", r"inte|aldrig|ikke|aldri",
    ),
    "tr": OverrideWords(
        r"yok say\w*|unut\w*|göz ardı et\w*|görmezden gel\w*|dikkate alma\w*|geçersiz say\w*|uyma\w*", r"önceki|tüm|bütün|yukarıdaki|daha önceki|sistem",
        r"talimat\w*|kural\w*|yönerge\w*|komut\w*|emir\w*|emr\w+|kısıtlama\w*|istem\w*",
    ),
    "ar": OverrideWords(r"تجاهل\w*|انس|انسَ|إنس|انسى|تغاض\w*|لا تتبع", r"جميع|كل|السابقة|أعلاه|السابق\w*", r"التعليمات|تعليمات\w*|القواعد|قواعد\w*|الأوامر|التوجيهات|القيود"),
    "hi": OverrideWords(r"अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल जा\w*|उपेक्षा", r"सभी|पिछल\S*|पूर्व|ऊपर", r"निर्देश\S*|नियम\S*|आदेश\S*"),
    "id": OverrideWords(r"abaikan|lupakan|jangan (?:ikuti|patuhi)", r"semua|sebelumnya|di atas|sistem", r"instruksi|aturan|perintah|pedoman|arahan", r"jangan"),
    "vi": OverrideWords(r"bỏ qua|phớt lờ|quên|đừng làm theo", r"tất cả|trước|trên|mọi", r"hướng dẫn|chỉ dẫn|quy tắc|lệnh|chỉ thị", r"đừng"),
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
def _compile(words: OverrideWords) -> re.Pattern[str]:
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


def override_needs(words: OverrideWords) -> Needs:
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
        for found in _compile(LANGUAGES[number]).finditer(folded):
            if not found["negated"] and not _MINE.search(found[0]):
                return found
    return None
