from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoranda.dates.find import find_mentions
from memoranda.dates.language_words import WORDS
from memoranda.dates.other_languages import language_rules
from memoranda.recall.query import parse_windows

NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)  # a Wednesday
SAME = [
    ("vor drei Wochen war ich in Rom", "three weeks ago"),
    ("Letztes Jahr sind wir umgezogen.", "last year"),
    ("Gestern habe ich Anna getroffen.", "yesterday"),
    ("Ich war am 3. Mai 2023 in Wien.", "3 May 2023"),
    ("Wir waren letzten Freitag im Kino", "last Friday"),
    ("Ich arbeite seit 2019 bei Bosch.", "since 2019"),
    ("Nächste Woche fliege ich nach Oslo", "next week"),
    ("Was habe ich im März gemacht?", "I was there in March"),
    ("Morgen Abend treffe ich Tom", "tomorrow evening"),
    ("Am 03.04.2023 war es kalt, sagte er", "3 April 2023"),
    ("El año pasado fuimos a Perú", "last year"),
    ("Hace dos meses compré un coche", "two months ago"),
    ("Ayer fui al médico", "yesterday"),
    ("El 5 de junio de 2022 me casé", "5 June 2022"),
    ("El viernes pasado fui al cine", "last Friday"),
    ("Vivo aquí desde 2018", "since 2018"),
    ("La semana que viene viajo a Lima", "next week"),
    ("La semaine dernière j'ai vu Paul", "last week"),
    ("Il y a trois jours j'étais malade", "three days ago"),
    ("Hier soir nous avons dîné", "yesterday evening"),
    ("Le 14 juillet 2021 on s'est marié", "14 July 2021"),
    ("L'été dernier nous étions en Corse", "last summer"),
    ("Na semana passada fui ao Porto", "last week"),
    ("Há duas semanas comprei uma bicicleta", "two weeks ago"),
    ("Ontem choveu muito no Rio", "yesterday"),
    ("Em 10 de março de 2020 eu nasci", "10 March 2020"),
    ("La settimana scorsa sono andato a Roma", "last week"),
    ("Due mesi fa ho comprato casa", "two months ago"),
    ("Ieri sera ho visto un film", "yesterday evening"),
    ("Il 2 giugno 2021 mi sono laureato", "2 June 2021"),
    ("Vorige week was ik in Gent", "last week"),
    ("Twee jaar geleden ben ik verhuisd", "two years ago"),
    ("Gisteren heb ik gefietst", "yesterday"),
    ("Op 5 mei 2022 was het feest", "5 May 2022"),
    ("我上周去了北京", "last week"),
    ("三天前我买了一辆车", "three days ago"),
    ("2023年5月3日我们结婚了", "3 May 2023"),
    ("去年夏天我们去了海边", "summer 2023"),
    ("昨天下雨了", "yesterday"),
    ("我上个月换了工作", "last month"),
    ("上周五我看了电影", "Friday last week"),
    ("去年三月我搬家了", "March 2023"),
    ("昨日、映画を見ました", "yesterday"),
    ("先週東京に行きました", "last week"),
    ("二年前に引っ越しました", "two years ago"),
    ("2022年7月4日に生まれました", "4 July 2022"),
    ("来月旅行に行く予定です", "next month"),
    ("先週の金曜日に会いました", "Friday last week"),
    ("去年の夏は暑かった", "summer 2023"),
    ("Heute", "today"),
]


@pytest.mark.parametrize(("text", "english"), SAME)
def test_expression_is_the_same_interval_as_in_english(text: str, english: str) -> None:
    (found,), (expected,) = find_mentions(text, NOW), find_mentions(english, NOW, prefer="past")
    assert (found.start, found.end, found.kind) == (expected.start, expected.end, expected.kind)
    assert text[slice(*found.span)] == found.text


@pytest.mark.parametrize(
    "text",
    ["Guten Morgen!", "Das ist ja mal was ganz anderes.", "Mi hija se llama Eva", "我住在北京", "Mars is a planet"],
)
def test_text_without_a_time_has_no_mention(text: str) -> None:
    assert find_mentions(text, NOW) == ()


@pytest.mark.parametrize("text", ["Vor dem 3. Mai 2023 war ich krank.", "Antes del 5 de junio de 2022 era feliz."])
def test_time_before_or_after_a_date_is_left_out(text: str) -> None:
    assert find_mentions(text, NOW) == ()


@pytest.mark.parametrize("text", ["Am 31. Februar 2023 war nichts.", "El 40 de mayo de 2023 no fue nada."])
def test_date_that_does_not_exist_is_left_out(text: str) -> None:
    assert all(mention.precision != "day" for mention in find_mentions(text, NOW))


@pytest.mark.parametrize(
    ("question", "english"),
    [
        ("Was habe ich letzte Woche gegessen?", "What did I eat last week?"),
        ("¿Qué hice hace dos meses?", "What did I do two months ago?"),
        ("Où étais-je en mars 2023 ?", "Where was I in March 2023?"),
        ("我上周做了什么？", "What did I do last week?"),
        ("昨日何をしましたか？", "What did I do yesterday?"),
    ],
)
def test_window_of_a_question_is_the_same_as_in_english(question: str, english: str) -> None:
    (found,), (expected,) = parse_windows(question, NOW), parse_windows(english, NOW)
    assert (found.start, found.end) == (expected.start, expected.end)


@pytest.mark.parametrize("language", WORDS)
def test_every_month_and_weekday_of_a_language_is_known(language: str) -> None:
    rules, words = language_rules(language), WORDS[language]
    assert rules is not None
    for word in f"{words.months} {words.weekdays}".replace("?", "").split():
        year = f"{word.split('/')[0]} 2023" if words.spaced else f"2023年{word.split('/')[0]}"
        found = [*rules.find(year), *rules.find(f"el {word.split('/')[0]}"), *rules.find(f"na {word.split('/')[0]}")]
        assert found, word
