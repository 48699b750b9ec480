"""Languages: which one a text is in, its stop words, and the stems of its words.

Written by hand for short texts: by script where a script has one language, else by the function words of each
language. A text whose language cannot be told is treated like English.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final

import Stemmer

ENGLISH: Final = "en"
ALGORITHMS: Final = {
    "en": "english", "de": "german", "es": "spanish", "fr": "french", "pt": "portuguese", "it": "italian",
    "nl": "dutch", "sv": "swedish", "da": "danish", "no": "norwegian", "fi": "finnish", "tr": "turkish",
    "pl": "polish", "ru": "russian", "el": "greek", "ar": "arabic", "fa": "persian", "hi": "hindi", "ta": "tamil",
    "hy": "armenian",
}  # fmt: skip
"""The Snowball stemmer of each language that has one."""
UNSPACED: Final = ("zh", "ja", "ko")
"""Languages that are indexed by pairs of characters, not by stems."""
COMPOUNDING: Final = frozenset(("de", "nl", "sv", "da", "no", "fi"))
"""Languages that write compounds as one word: the last part is what it is, a `Kinderklinik` is a `Klinik`."""

_STOP_WORDS: Final = {
    "en": """
        a about after again all also am an and any are as at be because been before being but by can could did do does
        doing don down during each few for from further had has have having he her here hers him his how i if in into is
        it its just me more most my no nor not now of off on once only or other our ours out over own s same she should
        so some such t than that the their theirs them then there these they this those through to too under until up
        very was we were what when where which while who whom why will with would you your yours
    """,
    "de": """
        aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis bist da damit
        dann das dass dein deine deinem deinen deiner dem den denn der des dich die dies diese diesem diesen dieser
        dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer eure fuer fur gegen gerade
        gerne gibt ging hab habe haben hast hat hatte hatten heute hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren
        ihrer im immer in ins ist ja jede jedem jeden jeder jedes jetzt kann kannst kein keine keinem keinen keiner konnen
        konnte mal man mehr mein meine meinem meinen meiner meines mich mir mit moechte mochte muss mussen nach nicht
        nichts noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seit sich sie sind so soll sollte
        sondern um und uns unser unsere unserem unseren unserer unter viel viele vom von vor wann war waren warum was
        weil welche welchem welchen welcher welches wem wen wenn wer werde werden wessen wie wieder will wir wird wirst wo
        woher wohin wollen wurde wurden zu zum zur zwischen bereits sowie heisst heissen
    """,
    "es": """
        a al algo algun alguna algunas algunos ante antes aqui asi aun aunque cada como con contra cual cuales cuando
        cuanta cuantas cuanto cuantos de del desde donde dos durante e el ella ellas ellos en entre era eran eres es esa
        esas ese eso esos esta estaba estaban estado estamos estan estar estas este esto estos estoy fue fueron fui ha
        habia han has hasta hay he hemos hizo la las le les lo los mas me mi mia mio mis mucho muchos muy nada ni no nos
        nosotros nuestra nuestras nuestro nuestros o os otra otro para pero poco por porque pues que quien quienes se sea
        segun ser si sido siempre sin sobre solo somos son soy su sus suyo tal tambien tan tanto te tenemos tener tengo
        ti tiene tienen tienes toda todas todo todos tu tus un una unas uno unos usted ustedes va voy y ya yo
    """,
    "fr": """
        a ai ainsi alors apres as au aucun aussi autre autres aux avais avait avant avec avez avoir avons beaucoup bien car
        ce ceci cela celle celles celui ces cet cette ceux chez comme comment d dans de depuis des donc dont du elle elles
        en encore entre es est et etaient etais etait ete etes etre eu eux fait fois font ici il ils j je jusque l la le
        les leur leurs lors lui m ma mais me meme mes moi moins mon n ne ni non nos notre nous on ont ou par parce pas
        pendant peu peut plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si
        son sont sous suis sur t ta tandis te tes toi ton toujours tous tout toute toutes tres trop tu un une va vers voici
        voila vos votre vous y c'est d'un d'une j'ai qu'est n'est est-ce
    """,
    "pt": """
        a ainda alem algum alguma algumas alguns ao aos apos aquela aquele aquilo as ate cada com como da dar das de dela
        dele deles depois desde do dos duas e ela elas ele eles em entre era eram essa esse esta estao estar estas estava
        estavam este estes estou eu faz foi foram fui ha isso isto ja la lhe lhes mais mas me mesmo meu meus mim minha
        minhas muito muitos na nao nas nem nenhum nesta neste no nos nossa nossas nosso nossos num numa o onde os ou para
        pela pelas pelo pelos perto pode por porque pouco qual quais quando quanta quantas quanto quantos que quem se seja
        sem sempre ser seu seus so sob sobre somos sou sua suas tal tambem tao tem temos tenho ter teu teus teve tinha
        toda todas todo todos tu tua tudo um uma umas uns vai vamos voce voces vou
    """,
    "it": """
        a abbiamo ad agli ai al alla alle allo anche ancora avere aveva avevo c che chi ci cio cioe col come con contro cosa
        cui da dagli dai dal dalla dalle dei del dell della delle dello dentro di dopo dove e ed era erano eri ero essere
        fa fino fra gia gli ha hai hanno ho i il in io l la le lei li lo loro lui ma me mentre mi mia mie miei mio molto
        ne negli nei nel nella nelle nello no noi non nostra nostre nostri nostro o ogni per perche piu poi prima qual
        quale quali quando quanta quante quanti quanto quella quelle quelli quello questa queste questi questo qui se sei
        sempre senza si sia siamo siete solo sono sopra sta stai stanno stata state stati stato sto su sua sue sugli sui
        sul sulla suo suoi te ti tra tu tua tue tuo tuoi tutta tutte tutti tutto un una uno va vi voi vostra vostro
        c'e dell'anno quand'e qual'e
    """,
    "nl": """
        aan al alle alleen als altijd andere ben bent bij daar dan dat de deze die dit doen door dus een en er ergens
        geen geweest had hadden heb hebben hebt heeft heet hem hen het hier hij hoe hoeveel hun iets ik in is ja je jij
        jou jouw jullie kan kon kunnen maar me meer men met mij mijn moest moet moeten na naar niet niets nog nooit nu of
        om omdat onder ons onze ook op over reeds sinds te tegen toch toen tot tussen u uit uw van vanaf veel voor waar
        waarom wanneer waren was wat we wel welk welke werd wie wij wil worden wordt zal ze zei zelf zich zij zijn zo
        zonder zou
    """,
    "sv": """
        aldrig alla allt alltid att av bara blev blir da de dem den denna deras dess det detta dig din dina ditt du dar
        efter ej eller en er ett fran for fore ha hade han hans har henne hennes hon honom hur har i icke ingen inget inte
        jag ju kan kunde man med mellan men mig min mina mitt mot mycket nagon nagot nar ni nu och om oss pa sa samma
        sedan sig sin sina sitt ska skulle som till under upp ut utan vad var vara vart varfor vem vi vid vilka vilken
        vilket ar
    """,
    "da": """
        af alle alt anden at bare blev blive bliver da de dem den denne deres det dette dig din dine dog du efter eller en
        end er et for fra ham han hans har havde have hende hendes her hos hun hvad hvem hver hvilken hvis hvor hvordan
        hvornar i ikke ind ingen jeg jer kan kunne man mange med meget men mig min mine mit mod ned noget nogle nu nar og
        ogsa om op os over pa sa selv sig sin skal skulle som til ud uden under var vi vil ville vaere vaeret
    """,
    "no": """
        alle at av bare begge ble bli blir da de deg dem den denne der dere deres det dette din disse du eller en er et ett
        etter for fordi fra fra ham han hans har hadde henne hennes her hun hva hvem hver hvilken hvis hvor hvordan hvorfor
        i ikke ingen inn jeg kan kom kunne man mange med meg meget men mer min mitt mot mye na noe noen nar og ogsa om opp
        oss over pa sa selv seg sin sitt skal skulle som til ut uten vaere var vart ved vi vil ville vore
    """,
    "fi": """
        ei eika emme en et ette ettei han han he hanen ja jo joka jos jotta kanssa kenen kuin kuka kun me mika mikä milloin
        mina minka minulla minulle minun minut missa mista mita mutta myos ne niin nyt olemme olen olet oli olin olivat olla
        on ovat sen se sina sinun sinulla siella sitten tai tama te tuo vai vain voi
    """,
    "tr": """
        ama ancak bana ben beni benim bir biz bize bu bunu cok da daha de degil diye en gibi hangi hem icin ile ise kac
        kadar ki kim kime mi mu ne neden nedir nerede nereye nicin o olan olarak oldu onu onun sana sen senin siz var ve
        veya ya yok
    """,
    "pl": """
        a albo ale bardzo bez bo by byl byla bylo byly byc ci co czy dla do gdy gdzie go i ich ile im ja jak jaka jaki jakie
        jego jej jest jestem jestes juz kiedy kto ktora ktore ktory ma mam mi mnie moj moja moje moze my na nad nas nasz
        nasza nasze nie niz o od on ona one oni po pod przez przy sa sie ta tak tam te tego tej ten to tu twoj ty tylko u w
        we z za ze zeby
    """,
    "ru": """
        а без более больше бы был была были было быть в вам вас вот все всегда всего всех вы где да даже для до его ее если
        есть еще же за здесь и из или им их к как какая какие какои какое когда кого кто куда ли мне много мое моего моеи
        может можно мои мои моя мы на над надо нам нас наш наша наши не него нее нет ни но ну о об он она они оно от очень
        по под после почему при про с сам свои своих себя сегодня сеичас сколько со так также там тебя то того тоже только
        том ты у уже хотя чего чем что чтобы эта эти это этого этои этом этот я
    """,
    "ar": """
        في من على الى عن مع هذا هذه ذلك تلك التي الذي الذين ما ماذا متى اين كيف كم لماذا هل هو هي هم نحن انا انت كان كانت
        يكون لم لن لا قد كل اي او ثم حتى بعد قبل عند لدي لديه لديها لنا لي له لها بي به بها ان اذا فقط ايضا و ممن مما منذ
        بين كما لكن غير يا الان اكون فيه فيها عليه عليها منه منها
    """,
}
"""Function words in lower case and without accents."""
_MARKS: Final = (
    ("ß", ("de",)), ("äöü", ("de", "sv", "fi", "tr")), ("ñ¿¡", ("es",)), ("ãõ", ("pt",)), ("ç", ("fr", "pt", "tr")),
    ("êëœîï", ("fr", "nl")), ("èùà", ("fr", "it")), ("ìò", ("it",)), ("áíó", ("es", "pt")), ("å", ("sv", "da", "no")),
    ("øæ", ("da", "no")), ("ışğ", ("tr",)), ("łżźśćąę", ("pl",)), ("é", ("fr", "es", "pt")),
)  # fmt: skip
"""Letters, and the languages that write them: as good as one function word of each."""
_SCRIPTS: Final = (
    ("ko", re.compile("[\uac00-\ud7a3]")), ("ja", re.compile("[\u3041-\u30ff]")),
    ("zh", re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")),
    ("fa", re.compile("[\u067e\u0686\u0698\u06af\u06cc]")), ("ar", re.compile("[\u0620-\u064a]")),
    ("ru", re.compile("[\u0400-\u04ff]")), ("el", re.compile("[\u0370-\u03ff]")), ("hi", re.compile("[\u0900-\u097f]")),
    ("ta", re.compile("[\u0b80-\u0bff]")), ("hy", re.compile("[\u0530-\u058f]")),
)  # fmt: skip
_NON_LATIN: Final = re.compile("[\u0370-\u1fff\u3040-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]")
STOP_WORDS: Final = {language: frozenset(words.split()) for language, words in _STOP_WORDS.items()}
_LATIN: Final = tuple(language for language in STOP_WORDS if language not in ("en", "ru", "ar"))
_FOREIGN: Final = frozenset().union(*(STOP_WORDS[language] for language in _LATIN)) - STOP_WORDS[ENGLISH]
NUMBER_WORDS: Final = frozenset(
    [
        "zwei",
        "drei",
        "vier",
        "funf",
        "sechs",
        "sieben",
        "acht",
        "neun",
        "zehn",
        "zwolf",
        "zwanzig",
        "hundert",
        "tausend",
        "zweimal",
        "dreimal",
        "dutzend",
        "dos",
        "tres",
        "cuatro",
        "cinco",
        "seis",
        "siete",
        "ocho",
        "nueve",
        "diez",
        "doce",
        "veinte",
        "cien",
        "mil",
        "deux",
        "trois",
        "quatre",
        "cinq",
        "six",
        "sept",
        "huit",
        "neuf",
        "dix",
        "douze",
        "vingt",
        "cent",
        "mille",
        "dois",
        "duas",
        "quatro",
        "sete",
        "oito",
        "nove",
        "dez",
        "doze",
        "vinte",
        "cem",
        "due",
        "tre",
        "quattro",
        "cinque",
        "sei",
        "sette",
        "otto",
        "nove",
        "dieci",
        "dodici",
        "venti",
        "cento",
        "twee",
        "drie",
        "vijf",
        "zes",
        "zeven",
        "negen",
        "tien",
        "twaalf",
        "twintig",
        "honderd",
        "duizend",
        "ثلاث",
        "ثلاثة",
        "اربع",
        "اربعة",
        "خمس",
        "خمسة",
        "ست",
        "ستة",
        "سبع",
        "ثماني",
        "تسع",
        "عشر",
        "عشرة",
        "مرتين",
        "اثنان",
    ]
)
"""Numbers above one, in lower case and without accents."""
_MAX_WORDS: Final = 200
"""Words that are read for the language: more would not change it."""


def recognize(text: str, words: Sequence[str]) -> tuple[str, ...]:
    """Return the languages that a text is most likely in: one, several that fit alike, or none where nothing shows.

    Args:
        text: The text as it is written.
        words: Its words in lower case and without accents.
    """
    if not text.isascii():
        if _NON_LATIN.search(text) and (found := _by_script(text)):
            return found
    elif _FOREIGN.isdisjoint(words):
        return ()  # most texts, in one step
    return _by_function_words(text, words[:_MAX_WORDS])


def _by_script(text: str) -> tuple[str, ...]:
    """Return the language of the script that most letters are in; none when most of them are Latin."""
    counts = [(len(pattern.findall(text)), language) for language, pattern in _SCRIPTS]
    kana = {language: count for count, language in counts}
    if kana["ja"] and kana["zh"]:  # Japanese mixes both
        return ("ja",)
    if kana["fa"] and kana["ar"]:
        return ("fa",) if kana["fa"] > kana["ar"] / 40 and _PERSIAN.search(text) else ("ar",)
    count, language = max(counts)
    latin = sum(character.isascii() and character.isalpha() for character in text)
    # A sign of Chinese carries about as much as two letters.
    return (language,) if count * (2 if language in UNSPACED else 1) >= latin else ()


_PERSIAN: Final = re.compile("[\u067e\u0686\u0698\u06af\u06cc]")


def _by_function_words(text: str, words: Sequence[str]) -> tuple[str, ...]:
    counts = {language: sum(map(STOP_WORDS[language].__contains__, words)) for language in (ENGLISH, *_LATIN)}
    if not text.isascii():
        lowered = set(text.lower())
        for letters, languages in _MARKS:
            if not lowered.isdisjoint(letters):
                for language in languages:
                    counts[language] += 1
    best = max(counts.values())
    if not best or counts[ENGLISH] == best:
        return (ENGLISH,) if best else ()
    return tuple(language for language in _LATIN if counts[language] == best)


@lru_cache(maxsize=4096)
def is_stop_word(word: str, languages: tuple[str, ...]) -> bool:
    """Return whether a word is a function word in any of the languages."""
    return any(word in STOP_WORDS.get(language, ()) for language in languages)


_SMALL_TALK: Final = {
    "de": """
        hallo hi hey moin servus gruezi gruss gott tschuss tschuess ciao bye guten gute gutes morgen mittag tag abend nacht
        mahlzeit danke dank dankeschon vielen herzlichen besten schon sehr bitte bittesehr gern gerne geschehen kein problem
        ok okay ja nein jo nee doch genau stimmt klar alles prima super toll cool klasse wunderbar perfekt schon gut na
        wie geht es dir ihnen euch und mir auch bis bald spater dann auf wiedersehen wiederhoren schonen noch einen eine
        freut mich haha entschuldigung sorry verzeihung tut leid willkommen gluckwunsch herzlich viel spass erfolg gluck
    """,
    "es": """
        hola buenas buenos dia dias tardes noches adios chao hasta luego pronto manana gracias muchas mil de nada por favor
        si no claro vale ok okay bueno bien muy perfecto genial estupendo que tal como estas esta va todo igualmente
        encantado encantada un placer lo siento perdon disculpa bienvenido felicidades enhorabuena buena suerte jaja y tu
    """,
    "fr": """
        bonjour bonsoir salut coucou bonne bon nuit soiree journee matin au revoir a bientot plus tard demain merci beaucoup
        bien mille de rien je vous t te en prie pas quoi oui non ok okay d'accord accord super parfait genial cool tres
        ca va comment allez vas tu et toi enchante desole pardon excuse excusez moi bienvenue felicitations bravo chance haha
    """,
    "pt": """
        ola oi bom boa dia tarde noite tchau adeus ate logo amanha ja breve obrigado obrigada muito muita de nada por favor
        sim nao claro ok okay bem tudo beleza perfeito otimo legal fixe que como vai esta voce e contigo prazer desculpa
        desculpe perdao bem-vindo parabens boa sorte haha
    """,
    "it": """
        ciao salve buongiorno buonasera buonanotte buon buona giorno sera notte arrivederci a presto dopo domani grazie mille
        tante molte prego di niente per favore si no certo va bene ok okay perfetto ottimo bello bravo come stai sta tutto e tu
        piacere scusa scusi scusami mi dispiace benvenuto auguri congratulazioni fortuna haha
    """,
    "nl": """
        hallo hoi hey dag goede goedemorgen goedemiddag goedenavond goedenacht morgen middag avond nacht doei tot ziens straks
        later dank dankjewel dankuwel bedankt je u wel hartelijk heel erg alsjeblieft alstublieft graag gedaan geen probleem
        ja nee oke ok prima leuk mooi top super perfect hoe gaat het met goed en jou sorry pardon welkom gefeliciteerd succes haha
    """,
}
_SMALL_TALK_WORDS: Final = {language: frozenset(words.split()) for language, words in _SMALL_TALK.items()}
_SMALL_TALK_PHRASES: Final = re.compile(
    "(?:你好吗?|您好|大家好|早上好|早安|早|上午好|中午好|下午好|晚上好|晚安|再见|拜拜|明天见|回头见|谢谢(?:你|您|大家)?|多谢|非常感谢|感谢|不客气|不用谢|没关系|没事|"
    "对不起|不好意思|抱歉|好的?|好吧|行|可以|嗯+|哦+|哈+|是的?|对|不是|当然|没问题|太好了|真棒|恭喜(?:你)?|加油|你好吗|最近怎么样|"
    "おはよう(?:ございます)?|こんにちは|こんばんは|おやすみ(?:なさい)?|さようなら|じゃあね?|またね|また明日|ありがとう(?:ございま(?:す|した))?|どうも|どういたしまして|"
    "すみません|ごめん(?:なさい)?|はい|いいえ|うん|ええ|そうですね?|なるほど|了解(?:です|しました)?|わかりました|お願いします|よろしく(?:お願いします)?|お元気ですか|"
    "元気です|おめでとう(?:ございます)?|お疲れ様(?:です|でした)?|はじめまして|いいですね|すごい(?:ですね)?|"
    "مرحبا|اهلا|وسهلا|السلام|عليكم|صباح|مساء|الخير|النور|شكرا|جزيلا|عفوا|نعم|لا|حسنا|وداعا|"
    "привет|здравствуите|добрыи|доброе|день|утро|вечер|спасибо|большое|пожалуиста|пока|да|нет|хорошо|안녕하세요|안녕|감사합니다|고마워요?|네|아니요)+"
)

_NO: Final = frozenset(("no", "non", "nao", "pas", "nicht", "niet", "kein", "geen"))
_GOES: Final = frozenset(("esta", "estas", "va", "vas", "allez", "vai", "sta", "stai", "geht", "gaat", "siento"))
"""With a negation, what asks how somebody is says that they are not well: "no va bien"."""


def is_small_talk(words: Sequence[str]) -> bool:
    """Return whether a text says nothing but a greeting, thanks or agreement, in one language other than English.

    Args:
        words: Its words in lower case and without accents.
    """
    if not words or len(words) > _MAX_SMALL_TALK or (_NO.intersection(words) and _GOES.intersection(words)):
        return False
    return any(table.issuperset(words) for table in _SMALL_TALK_WORDS.values()) or all(
        map(_SMALL_TALK_PHRASES.fullmatch, words)
    )


_MAX_SMALL_TALK: Final = 12

# A stemmer object is not safe to share between threads.
_local = threading.local()
_MAX_CACHED_STEMS: Final = 65_536


class StemCache(dict[str, str]):
    """Word → stem in one language, computed on first use. Emptied when it is full."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._algorithm = ALGORITHMS[language]

    def __missing__(self, word: str) -> str:
        stemmer = getattr(_local, self._algorithm, None)
        if stemmer is None:
            stemmer = Stemmer.Stemmer(self._algorithm, 0)
            setattr(_local, self._algorithm, stemmer)
        if len(self) >= _MAX_CACHED_STEMS:
            self.clear()
        stem = self[word] = str(stemmer.stemWord(word))
        return stem


@cache
def stems_in(language: str) -> StemCache:
    """Return the stems of a language; those of English where it has no stemmer."""
    return StemCache(language if language in ALGORITHMS else ENGLISH)
