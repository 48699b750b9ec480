from __future__ import annotations

import pytest

from memoranda.text.sentences import has_content
from memoranda.text.terms import languages_of, lexical_keys, query_terms, terms, widen_terms

TEXTS = {
    "de": "Wir haben gestern mit dem Nachbarn über den Garten gesprochen.",
    "es": "Ayer hablamos con el vecino sobre el jardín.",
    "fr": "Nous avons parlé du jardin avec le voisin.",
    "pt": "Falámos com o vizinho sobre o nosso jardim.",
    "it": "Abbiamo parlato con il vicino del giardino.",
    "nl": "We hebben met de buurman over de tuin gesproken.",
    "sv": "Vi har pratat med grannen om trädgården och jag är trött.",
    "ru": "Мы говорили с соседом о саде.",
    "ar": "تحدثنا مع الجار عن الحديقة.",
    "zh": "我们和邻居谈了花园。",
    "ja": "庭について隣の人と話しました。",
    "ko": "우리는 이웃과 정원에 대해 이야기했습니다.",
    "el": "Μιλήσαμε με τον γείτονα.",
}


@pytest.mark.parametrize("language", TEXTS)
def test_language_of_a_sentence_is_recognized(language: str) -> None:
    assert languages_of(TEXTS[language]) == (language,)


@pytest.mark.parametrize(
    "text", ["We talked to the neighbour about the garden.", "Piano lessons", "We met at Café Müller", "OK 42", ""]
)
def test_english_and_texts_that_show_no_language_have_none(text: str) -> None:
    assert languages_of(text) == ()


def test_english_text_keeps_its_terms() -> None:
    assert terms("She was running to the houses") == ["she", "was", "run", "to", "the", "hous"]
    assert "=" not in lexical_keys("She was running to the houses")


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("Ich habe zwei alte Häuser in der Stadt.", "Wo ist mein Haus?"),
        ("Ich arbeite in einer Kinderklinik.", "In welcher Klinik bin ich?"),
        ("Ich bin allergisch gegen Nüsse.", "Welche Allergien habe ich?"),
        ("Trabajamos en los hospitales de Madrid.", "¿En qué hospital trabajo?"),
        ("Ik werk in een kinderziekenhuis.", "In welk ziekenhuis werk ik?"),
        ("أعمل في المستشفى الكبير.", "ما هو عملي في مستشفى المدينة؟"),
        ("مُحَمَّد يسكن في القاهرة.", "أين محمد؟"),
        ("我们上个月结婚了。", "婚礼怎么样？"),
        ("우리는 강아지를 좋아합니다.", "강아지가 있어요?"),
        ("मैं दिल्ली में रहता हूँ।", "दिल्ली कहाँ है?"),
    ],
)
def test_terms_of_a_question_find_another_form_of_a_word(stored: str, asked: str) -> None:
    keys = set(lexical_keys(stored).split())
    languages = [key[1:] for key in keys if key.startswith("=")]
    wanted = widen_terms(asked, query_terms(asked), languages)
    assert any(keys.intersection(term.split("|")) for term in wanted)


def test_question_of_unclear_language_is_looked_up_in_the_languages_of_the_store() -> None:
    keys = set(lexical_keys("Ich habe mit den Zahnärzten gesprochen.").split())
    wanted = widen_terms("Zahnarzt Termin", query_terms("Zahnarzt Termin"), ["de", "es"])
    assert any(keys.intersection(term.split("|")) for term in wanted)


def test_english_question_in_an_english_store_is_looked_up_as_it_is() -> None:
    question = "Which houses did James like?"
    assert widen_terms(question, query_terms(question), ()) == query_terms(question)


def test_stop_words_of_the_language_are_left_out() -> None:
    assert query_terms("Wo wohnt meine Schwester jetzt?") == ["wohnt", "schwest"]
    assert query_terms("我的钥匙在哪里？")[:2] == ["的钥", "钥匙"]


@pytest.mark.parametrize(
    "text",
    [
        "Guten Morgen!",
        "Vielen Dank!",
        "¡Buenos días!",
        "Merci beaucoup !",
        "Bom dia",
        "Grazie mille",
        "Dank je wel",
        "你好！",
        "谢谢你！",
        "おはようございます",
        "はい、わかりました。",
        "Hallo Anna, wie geht es dir?",
    ],
)
def test_small_talk_in_other_languages_says_nothing(text: str) -> None:
    assert not has_content(text, {"anna"})


@pytest.mark.parametrize(
    "text",
    ["Ich arbeite bei Bosch", "Bis morgen, ich fliege nach Rom", "Mi hija se llama Eva", "我住在北京", "犬がいます"],
)
def test_statements_in_other_languages_say_something(text: str) -> None:
    assert has_content(text, set())
