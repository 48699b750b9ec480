"""The time words of other languages, and how they are combined: one table for each language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class DateWords:
    """The time expressions of one language. All words are in lower case and without accents."""

    months: str
    """Twelve words; alternatives are separated by a slash."""
    weekdays: str
    """Seven words, from Monday."""
    words: str
    """Units, numbers, days, parts of the day, seasons and holidays: "english=word,word", an underscore is a space."""
    rules: tuple[tuple[str, str], ...]
    """Patterns with slots such as `{n}`, and their translations."""
    since: str
    until: str
    beside: str
    """Words for "before" and "after", behind which a time is only an edge."""
    past: str
    """Words that show the past tense."""
    future: str
    spaced: bool = True


_NUMBERS_DE = "1=ein,eine,einem,einen,einer 2=zwei 3=drei 4=vier 5=funf 6=sechs 7=sieben 8=acht 9=neun 10=zehn 11=elf 12=zwolf 20=zwanzig"
_DAY_MONTH: Final = (
    (
        r"{d}(?:\.|er|e|o|a)?\s*(?:-|–|bis|a|al|au|ao|tot|t/m)\s*{d2}\.?\s+(?:de\s+|di\s+)?{month}\s*(?:de\s+|del\s+)?{year}",
        "{d}-{d2} {month} {year}",
    ),
    (r"{d}(?:\.|er|°|º)?\s+(?:de\s+|di\s+)?{month},?\s*(?:de\s+|del\s+)?{year}", "{d} {month} {year}"),
    (r"{d}[./-]{m}[./-]{year}", "{year}-{m}-{d}"),
    (r"{month}\s+(?:de\s+|del\s+)?{year}", "{month} {year}"),
    (r"{d}(?:\.|er|°|º)?\s+(?:de\s+|di\s+)?{month}", "{d} {month}"),
)

WORDS: Final[dict[str, DateWords]] = {
    "de": DateWords(
        months="januar/janner februar marz april mai juni juli august september oktober november dezember",
        weekdays="montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag",
        words="minute=minute,minuten hour=stunde,stunden day=tag,tage,tagen,tages week=woche,wochen weekend=wochenende,wochenenden"
        " month=monat,monate,monaten,monats year=jahr,jahre,jahren,jahres decade=jahrzehnt,jahrzehnte,jahrzehnten"
        f" {_NUMBERS_DE} today=heute yesterday=gestern tomorrow=morgen the_day_before_yesterday=vorgestern"
        " the_day_after_tomorrow=ubermorgen morning=morgen,vormittag,fruh afternoon=nachmittag evening=abend night=nacht"
        " spring=fruhling,fruhjahr summer=sommer autumn=herbst winter=winter christmas=weihnachten easter=ostern"
        " christmas_eve=heiligabend new_year's_eve=silvester new_year's_day=neujahr",
        rules=(
            (r"gestern\s+nacht", "last night"),
            (r"(?P<day>gestern|heute|ubermorgen|vorgestern|morgen)\s+{part}", "{day} {part}"),
            (r"vor\s+(?:etwa\s+|ungefahr\s+|rund\s+|ca\.?\s+)?{n}\s+{unit}", "{n} {unit}s ago"),
            (r"vor\s+einem\s+halben\s+jahr", "half a year ago"),
            (r"heute\s+in\s+{n}\s+{unit}", "{n} {unit}s from now"),
            (r"in\s+(?:den\s+)?(?:letzten|vergangenen)\s+{n}\s+{unit}", "the last {n} {unit}s"),
            (r"(?:die\s+|den\s+)?(?:letzten|vergangenen)\s+{n}\s+{unit}", "the last {n} {unit}s"),
            (r"(?:in\s+den\s+|die\s+)?(?:nachsten|kommenden)\s+{n}\s+{unit}", "the next {n} {unit}s"),
            (r"in\s+{n}\s+{unit}", "in {n} {unit}s"),
            (r"(?:am\s+|in\s+der\s+|im\s+|an\s+dem\s+)?(?:letzte[nrsm]?|vorige[nrsm]?|vergangene[nrsm]?)\s+{unit}", "last {unit}"),
            (r"(?:am\s+|in\s+der\s+|im\s+)?(?:nachste[nrsm]?|kommende[nrsm]?)\s+{unit}", "next {unit}"),
            (r"(?:in\s+|an\s+)?diese[nrsm]?\s+{unit}", "this {unit}"),
            (r"(?:am\s+)?(?:letzte[nrsm]?|vorige[nrsm]?|vergangene[nrsm]?)\s+{weekday}", "last {weekday}"),
            (r"(?:am\s+)?kommende[nrsm]?\s+{weekday}", "this coming {weekday}"),
            (r"(?:am\s+)?nachste[nrsm]?\s+{weekday}", "next {weekday}"),
            (r"(?:am\s+)?diese[nrsm]?\s+{weekday}", "this {weekday}"),
            (r"(?:im\s+)?(?:letzte[nrsm]?|vergangene[nrsm]?)\s+{season}", "last {season}"),
            (r"(?:im\s+)?(?:nachste[nrsm]?|kommende[nrsm]?)\s+{season}", "next {season}"),
            (r"diese[nrsm]?\s+{season}", "this {season}"),
            (r"(?:im\s+)?{season}\s+{year}", "{season} {year}"),
            (r"im\s+{season}", "in the {season}"),
            *((rf"(?:am\s+|vom\s+|den\s+|im\s+)?{pattern}", english) for pattern, english in _DAY_MONTH),
            (r"(?:im\s+)?(?:letzte[nrsm]?|vergangene[nrsm]?)\s+{month}", "last {month}"),
            (r"(?:im\s+)?(?:nachste[nrsm]?|kommende[nrsm]?)\s+{month}", "next {month}"),
            (r"im\s+{month}", "in {month}"),
            (r"(?:an\s+|zu\s+)?{holiday}\s+{year}", "{holiday} {year}"),
            (r"(?:letztes|letzte)\s+{holiday}", "last {holiday}"),
            (r"(?:an\s+|zu\s+){holiday}", "{holiday}"),
            (r"(?:im\s+jahre?|in)\s+{year}", "in {year}"),
            (r"am\s+wochenende", "at the weekend"),
            (r"heute|vorgestern|gestern|ubermorgen|(?<!guten )(?<!am )(?<!jeden )morgen(?!\s+(?:wir|ist\s+gut))", "{day}"),
            (r"(?:am\s+)?{weekday}", "on {weekday}"),
        ),
        since="seit,seit_dem,seit_der,ab,ab_dem", until="bis,bis_zum", beside="vor,vor_dem,vor_der,nach,nach_dem,nach_der",
        past="war waren hatte hatten habe haben hat ging wurde wurden kam kamen gab fand machte gewesen gefahren gegangen gekommen wohnte arbeitete",
        future="werde werden wird will wollen mochte plane planen soll muss gehe fahre fliege fliegen fahren treffe komme",
    ),
    "es": DateWords(
        months="enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre noviembre diciembre",
        weekdays="lunes martes miercoles jueves viernes sabado domingo",
        words="minute=minuto,minutos hour=hora,horas day=dia,dias week=semana,semanas weekend=fin_de_semana,fines_de_semana"
        " month=mes,meses year=ano,anos decade=decada,decadas 1=un,una,uno 2=dos 3=tres 4=cuatro 5=cinco 6=seis 7=siete 8=ocho"
        " 9=nueve 10=diez 11=once 12=doce 15=quince 20=veinte today=hoy yesterday=ayer tomorrow=manana"
        " the_day_before_yesterday=anteayer,antier,antes_de_ayer the_day_after_tomorrow=pasado_manana morning=manana"
        " afternoon=tarde evening=noche night=noche last_night=anoche spring=primavera summer=verano autumn=otono winter=invierno"
        " christmas=navidad christmas_eve=nochebuena new_year's_eve=nochevieja easter=pascua",
        rules=(
            (r"(?P<day>ayer|hoy|anteayer|pasado\s+manana|manana)\s+(?:por|en)\s+la\s+{part}", "{day} {part}"),
            (r"ayer\s+noche|anoche", "last night"),
            (r"hace\s+(?:unos\s+|unas\s+|como\s+)?{n}\s+{unit}|{n2}\s+{unit2}\s+atras", "{n} {unit}s ago"),
            (r"hace\s+medio\s+ano", "half a year ago"),
            (r"dentro\s+de\s+{n}\s+{unit}", "{n} {unit}s from now"),
            (r"(?:en\s+)?l[oa]s\s+ultim[oa]s\s+{n}\s+{unit}", "the last {n} {unit}s"),
            (r"(?:en\s+)?l[oa]s\s+proxim[oa]s\s+{n}\s+{unit}", "the next {n} {unit}s"),
            (r"en\s+{n}\s+{unit}", "in {n} {unit}s"),
            (r"(?:en\s+)?(?:el\s+|la\s+)?(?:{unit}\s+(?:pasad[oa]|anterior)|(?:ultim[oa]|pasad[oa])\s+{unit2})", "last {unit}"),
            (r"(?:en\s+)?(?:el\s+|la\s+)?(?:{unit}\s+(?:proxim[oa]|que\s+viene|siguiente)|proxim[oa]\s+{unit2})", "next {unit}"),
            (r"(?:en\s+)?est[ea]\s+{unit}", "this {unit}"),
            (r"(?:el\s+)?(?:{weekday}\s+pasado|pasado\s+{weekday2})", "last {weekday}"),
            (r"(?:el\s+)?(?:{weekday}\s+que\s+viene|proximo\s+{weekday2})", "next {weekday}"),
            (r"este\s+{weekday}", "this {weekday}"),
            (r"(?:el\s+|la\s+)?(?:{season}\s+pasad[oa]|pasad[oa]\s+{season2})", "last {season}"),
            (r"(?:el\s+|la\s+)?(?:{season}\s+que\s+viene|proxim[oa]\s+{season2})", "next {season}"),
            (r"est[ea]\s+{season}", "this {season}"),
            (r"(?:en\s+)?(?:el\s+|la\s+)?{season}\s+(?:de\s+|del\s+)?{year}", "{season} {year}"),
            (r"en\s+(?:el\s+|la\s+)?{season}", "in the {season}"),
            *((rf"(?:el\s+|en\s+)?{pattern}", english) for pattern, english in _DAY_MONTH),
            (r"(?:en\s+)?(?:el\s+)?(?:{month}\s+pasado|pasado\s+{month2})", "last {month}"),
            (r"(?:en\s+)?(?:el\s+)?(?:{month}\s+que\s+viene|proximo\s+{month2})", "next {month}"),
            (r"en\s+{month}", "in {month}"),
            (r"(?:en\s+)?{holiday}\s+(?:de\s+|del\s+)?{year}", "{holiday} {year}"),
            (r"en\s+{holiday}", "{holiday}"),
            (r"(?:en|durante)\s+(?:el\s+ano\s+)?{year}", "in {year}"),
            (r"(?:el|durante\s+el)\s+fin\s+de\s+semana", "at the weekend"),
            (r"anteayer|antier|antes\s+de\s+ayer|ayer|hoy|pasado\s+manana|(?<!la )(?<!esta )(?<!cada )manana", "{day}"),
            (r"(?:el\s+){weekday}", "on {weekday}"),
        ),
        since="desde,desde_el,desde_la", until="hasta,hasta_el,hasta_la", beside="antes_de,antes_del,despues_de,despues_del",
        past="fue fui fueron era estaba estuve hice hizo tuve tuvo vi compre llego he ha hemos han habia paso paso fuimos",
        future="voy va vamos sera ire iremos tengo quiero viajare viajaremos tendre iran",
    ),
    "fr": DateWords(
        months="janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
        weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
        words="minute=minute,minutes hour=heure,heures day=jour,jours week=semaine,semaines weekend=week-end,week-ends,weekend"
        " month=mois year=an,ans,annee,annees decade=decennie,decennies 1=un,une 2=deux 3=trois 4=quatre 5=cinq 6=six 7=sept"
        " 8=huit 9=neuf 10=dix 11=onze 12=douze 15=quinze 20=vingt today=aujourd'hui,aujourd’hui yesterday=hier tomorrow=demain"
        " the_day_before_yesterday=avant-hier the_day_after_tomorrow=apres-demain morning=matin afternoon=apres-midi"
        " evening=soir night=nuit spring=printemps summer=ete autumn=automne winter=hiver christmas=noel easter=paques",
        rules=(
            (r"(?P<day>hier|demain|avant-hier|apres-demain)\s+{part}", "{day} {part}"),
            (r"cette\s+nuit|la\s+nuit\s+derniere", "last night"),
            (r"il\s+y\s+a\s+(?:environ\s+|a\s+peu\s+pres\s+)?{n}\s+{unit}", "{n} {unit}s ago"),
            (r"dans\s+{n}\s+{unit}", "{n} {unit}s from now"),
            (r"(?:ces|les|au\s+cours\s+des|pendant\s+les)\s+{n}\s+(?:dernier|derniere)s\s+{unit}", "the last {n} {unit}s"),
            (r"(?:ces|les|au\s+cours\s+des)\s+{n}\s+(?:prochain|prochaine)s\s+{unit}", "the next {n} {unit}s"),
            (r"(?:le\s+|la\s+|l['’])?{unit}\s+(?:derniere?|passee?|precedente?)", "last {unit}"),
            (r"(?:le\s+|la\s+|l['’])?{unit}\s+(?:prochaine?|suivante?)", "next {unit}"),
            (r"(?:cette|cet|ce)\s+{unit}", "this {unit}"),
            (r"{weekday}\s+dernier", "last {weekday}"),
            (r"{weekday}\s+prochain", "next {weekday}"),
            (r"ce\s+{weekday}", "this {weekday}"),
            (r"(?:le\s+|l['’])?{season}\s+(?:dernier|passe)", "last {season}"),
            (r"(?:le\s+|l['’])?{season}\s+prochain", "next {season}"),
            (r"(?:cet|ce)\s+{season}", "this {season}"),
            (r"(?:en\s+|au\s+|a\s+l['’])?{season}\s+(?:de\s+)?{year}", "{season} {year}"),
            (r"(?:en|au)\s+{season}", "in the {season}"),
            *((rf"(?:le\s+|en\s+)?{pattern}", english) for pattern, english in _DAY_MONTH),
            (r"(?:en\s+)?{month}\s+dernier", "last {month}"),
            (r"(?:en\s+)?{month}\s+prochain", "next {month}"),
            (r"(?:en|au\s+mois\s+de|au\s+mois\s+d['’])\s*{month}", "in {month}"),
            (r"(?:a\s+)?{holiday}\s+{year}", "{holiday} {year}"),
            (r"a\s+{holiday}", "{holiday}"),
            (r"(?:en|pendant)\s+(?:l['’]annee\s+)?{year}", "in {year}"),
            (r"(?:ce|le)\s+week-?end", "at the weekend"),
            (r"aujourd['’]hui|avant-hier|apres-demain|hier|demain", "{day}"),
            (r"{weekday}", "on {weekday}"),
        ),
        since="depuis,depuis_le,depuis_la", until="jusqu'a,jusqu'au,jusqu’a,jusqu’au,jusqu'en", beside="avant,apres,avant_le,apres_le",
        past="etait etais ai avons suis fut sommes avait est allee alle alles vu fait pris achete avais avez",
        future="vais va allons sera serai irai irons dois veux voudrais partirai aura aurons",
    ),
    "pt": DateWords(
        months="janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
        weekdays="segunda-feira/segunda terca-feira/terca quarta-feira/quarta quinta-feira/quinta sexta-feira/sexta sabado domingo",
        words="minute=minuto,minutos hour=hora,horas day=dia,dias week=semana,semanas weekend=fim_de_semana,fins_de_semana"
        " month=mes,meses year=ano,anos decade=decada,decadas 1=um,uma 2=dois,duas 3=tres 4=quatro 5=cinco 6=seis 7=sete 8=oito"
        " 9=nove 10=dez 11=onze 12=doze 15=quinze 20=vinte today=hoje yesterday=ontem tomorrow=amanha"
        " the_day_before_yesterday=anteontem the_day_after_tomorrow=depois_de_amanha morning=manha afternoon=tarde"
        " evening=noite night=noite spring=primavera summer=verao autumn=outono winter=inverno christmas=natal easter=pascoa",
        rules=(
            (r"ontem\s+a\s+noite", "last night"),
            (r"(?P<day>ontem|hoje|anteontem|amanha)\s+(?:de|a|pela|a)\s+{part}", "{day} {part}"),
            (r"ha\s+(?:cerca\s+de\s+|uns\s+|umas\s+)?{n}\s+{unit}(?:\s+atras)?|{n2}\s+{unit2}\s+atras", "{n} {unit}s ago"),
            (r"(?:daqui\s+a|dentro\s+de)\s+{n}\s+{unit}", "{n} {unit}s from now"),
            (r"(?:n[oa]s|[oa]s)\s+ultim[oa]s\s+{n}\s+{unit}", "the last {n} {unit}s"),
            (r"(?:n[oa]s|[oa]s)\s+proxim[oa]s\s+{n}\s+{unit}", "the next {n} {unit}s"),
            (r"em\s+{n}\s+{unit}", "in {n} {unit}s"),
            (r"(?:n?[oa]\s+)?(?:{unit}\s+passad[oa]|(?:ultim[oa]|passad[oa])\s+{unit2})", "last {unit}"),
            (r"(?:n?[oa]\s+)?(?:{unit}\s+que\s+vem|proxim[oa]\s+{unit2}|{unit3}\s+seguinte)", "next {unit}"),
            (r"(?:n?est[ea])\s+{unit}", "this {unit}"),
            (r"(?:n?[oa]\s+)?(?:{weekday}\s+passad[oa]|(?:ultim[oa]|passad[oa])\s+{weekday2})", "last {weekday}"),
            (r"(?:n?[oa]\s+)?(?:{weekday}\s+que\s+vem|proxim[oa]\s+{weekday2})", "next {weekday}"),
            (r"n?est[ea]\s+{weekday}", "this {weekday}"),
            (r"(?:n?[oa]\s+)?(?:{season}\s+passad[oa]|(?:ultim[oa]|passad[oa])\s+{season2})", "last {season}"),
            (r"(?:n?[oa]\s+)?(?:{season}\s+que\s+vem|proxim[oa]\s+{season2})", "next {season}"),
            (r"n?est[ea]\s+{season}", "this {season}"),
            (r"(?:n[oa]\s+)?{season}\s+de\s+{year}", "{season} {year}"),
            (r"n[oa]\s+{season}", "in the {season}"),
            *((rf"(?:no\s+dia\s+|a\s+|em\s+|dia\s+|de\s+)?{pattern}", english) for pattern, english in _DAY_MONTH),
            (r"(?:em\s+)?{month}\s+passado", "last {month}"),
            (r"(?:em\s+)?(?:{month}\s+que\s+vem|proximo\s+{month2})", "next {month}"),
            (r"em\s+{month}", "in {month}"),
            (r"(?:n[oa]\s+)?{holiday}\s+de\s+{year}", "{holiday} {year}"),
            (r"n[oa]\s+{holiday}", "{holiday}"),
            (r"(?:em|durante)\s+(?:o\s+ano\s+de\s+)?{year}", "in {year}"),
            (r"(?:n?o)\s+fim\s+de\s+semana", "at the weekend"),
            (r"anteontem|ontem|hoje|depois\s+de\s+amanha|amanha", "{day}"),
            (r"(?:na|no)\s+{weekday}", "on {weekday}"),
        ),
        since="desde,desde_o,desde_a", until="ate,ate_o,ate_a,ate_ao", beside="antes_de,antes_do,antes_da,depois_de,depois_do,depois_da",
        past="foi fui foram era estava estive fez fiz teve tive vi comprei chegou fomos tinha ficou",
        future="vou vai vamos sera irei tenho quero terei viajo iremos",
    ),
    "it": DateWords(
        months="gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        weekdays="lunedi martedi mercoledi giovedi venerdi sabato domenica",
        words="minute=minuto,minuti hour=ora,ore day=giorno,giorni week=settimana,settimane weekend=fine_settimana,weekend,week-end"
        " month=mese,mesi year=anno,anni decade=decennio,decenni 1=un,uno,una,un' 2=due 3=tre 4=quattro 5=cinque 6=sei 7=sette"
        " 8=otto 9=nove 10=dieci 11=undici 12=dodici 15=quindici 20=venti today=oggi yesterday=ieri tomorrow=domani"
        " the_day_before_yesterday=l'altro_ieri,l’altro_ieri,altroieri the_day_after_tomorrow=dopodomani morning=mattina,mattino"
        " afternoon=pomeriggio evening=sera night=notte spring=primavera summer=estate autumn=autunno winter=inverno"
        " christmas=natale easter=pasqua new_year's_eve=capodanno",
        rules=(
            (r"ieri\s+notte|la\s+notte\s+scorsa|la\s+scorsa\s+notte", "last night"),
            (r"(?P<day>ieri|oggi|domani|dopodomani)\s+{part}", "{day} {part}"),
            (r"(?:circa\s+)?{n}\s+{unit}\s+fa", "{n} {unit}s ago"),
            (r"sei\s+mesi\s+or\s+sono", "6 months ago"),
            (r"(?:tra|fra)\s+{n}\s+{unit}", "{n} {unit}s from now"),
            (r"(?:negli|nei|nelle|gli|le|i)\s+ultim[ie]\s+{n}\s+{unit}", "the last {n} {unit}s"),
            (r"(?:nei|nelle|i|le)\s+prossim[ie]\s+{n}\s+{unit}", "the next {n} {unit}s"),
            (r"in\s+{n}\s+{unit}", "in {n} {unit}s"),
            (r"(?:il\s+|la\s+|lo\s+|l['’]|nel\s+|nella\s+|nello\s+|nell['’])?(?:{unit}\s+(?:scors|passat)[oa]|(?:scors|passat|ultim)[oa]\s+{unit2})", "last {unit}"),
            (r"(?:il\s+|la\s+|l['’])?(?:{unit}\s+prossim[oa]|prossim[oa]\s+{unit2})", "next {unit}"),
            (r"(?:quest[oa]\s+|quest['’]){unit}", "this {unit}"),
            (r"(?:{weekday}\s+(?:scors|passat)[oa]|(?:lo\s+|la\s+)?scors[oa]\s+{weekday2})", "last {weekday}"),
            (r"(?:{weekday}\s+prossim[oa]|prossim[oa]\s+{weekday2})", "next {weekday}"),
            (r"quest[oa]\s+{weekday}", "this {weekday}"),
            (r"(?:il\s+|la\s+|l['’])?(?:{season}\s+(?:scors|passat)[oa]|(?:la\s+|lo\s+)?scors[oa]\s+{season2})", "last {season}"),
            (r"(?:il\s+|la\s+|l['’])?(?:{season}\s+prossim[oa]|prossim[oa]\s+{season2})", "next {season}"),
            (r"quest[oa]\s+{season}|quest['’]{season2}", "this {season}"),
            (r"(?:nell['’]|nella\s+|in\s+|d['’])?{season}\s+(?:del\s+)?{year}", "{season} {year}"),
            (r"(?:in|d['’])\s*{season}", "in the {season}"),
            *((rf"(?:il\s+|l['’]|nel\s+|a\s+|in\s+)?{pattern}", english) for pattern, english in _DAY_MONTH),
            (r"(?:a\s+|lo\s+)?(?:{month}\s+scorso|scorso\s+{month2})", "last {month}"),
            (r"(?:a\s+)?{month}\s+prossimo", "next {month}"),
            (r"(?:a|in|nel\s+mese\s+di)\s+{month}", "in {month}"),
            (r"(?:a\s+)?{holiday}\s+(?:del\s+)?{year}", "{holiday} {year}"),
            (r"a\s+{holiday}", "{holiday}"),
            (r"(?:nel|durante\s+il)\s+{year}", "in {year}"),
            (r"(?:il|nel|questo)\s+(?:fine\s+settimana|week-?end)", "at the weekend"),
            (r"l['’]altro\s+ieri|altroieri|dopodomani|ieri|oggi|domani", "{day}"),
            (r"(?:di\s+)?{weekday}", "on {weekday}"),
        ),
        since="da,dal,dalla", until="fino_a,fino_al,fino_alla,entro", beside="prima_di,prima_del,dopo,dopo_il",
        past="era ero erano stato stata ho abbiamo ha hanno fui fu andato andata fatto comprato visto siamo sono",
        future="sara andro andremo devo voglio vorrei partiro partiremo faro avro",
    ),
    "nl": DateWords(
        months="januari februari maart april mei juni juli augustus september oktober november december",
        weekdays="maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
        words="minute=minuut,minuten hour=uur,uren day=dag,dagen week=week,weken weekend=weekend,weekeinde,weekenden"
        " month=maand,maanden year=jaar,jaren decade=decennium,decennia 1=een 2=twee 3=drie 4=vier 5=vijf 6=zes 7=zeven 8=acht"
        " 9=negen 10=tien 11=elf 12=twaalf 20=twintig today=vandaag yesterday=gisteren tomorrow=morgen"
        " the_day_before_yesterday=eergisteren the_day_after_tomorrow=overmorgen morning=ochtend,morgen afternoon=middag"
        " evening=avond night=nacht spring=lente,voorjaar summer=zomer autumn=herfst,najaar winter=winter christmas=kerst,kerstmis"
        " easter=pasen new_year's_eve=oudejaarsavond",
        rules=(
            (r"afgelopen\s+nacht|vannacht", "last night"),
            (r"vanavond", "this evening"),
            (r"vanmorgen|vanochtend", "this morning"),
            (r"vanmiddag", "this afternoon"),
            (r"(?P<day>gisteren|morgen|eergisteren|overmorgen)\s*{part}", "{day} {part}"),
            (r"(?:ongeveer\s+|zo'n\s+)?{n}\s+{unit}\s+(?:geleden|terug)", "{n} {unit}s ago"),
            (r"een\s+half\s+jaar\s+geleden", "half a year ago"),
            (r"over\s+{n}\s+{unit}", "{n} {unit}s from now"),
            (r"(?:in\s+)?(?:de\s+)?(?:afgelopen|laatste|voorbije)\s+{n}\s+{unit}", "the last {n} {unit}s"),
            (r"(?:in\s+)?(?:de\s+)?(?:komende|volgende)\s+{n}\s+{unit}", "the next {n} {unit}s"),
            (r"(?:in\s+)?(?:de\s+|het\s+)?(?:vorige?|afgelopen|laatste)\s+{unit}", "last {unit}"),
            (r"(?:in\s+)?(?:de\s+|het\s+)?(?:volgende?|komende?)\s+{unit}", "next {unit}"),
            (r"(?:deze|dit)\s+{unit}", "this {unit}"),
            (r"(?:vorige|afgelopen)\s+{weekday}", "last {weekday}"),
            (r"komende\s+{weekday}", "this coming {weekday}"),
            (r"volgende\s+{weekday}", "next {weekday}"),
            (r"deze\s+{weekday}", "this {weekday}"),
            (r"(?:vorige|afgelopen)\s+{season}", "last {season}"),
            (r"(?:volgende|komende)\s+{season}", "next {season}"),
            (r"(?:deze|dit)\s+{season}", "this {season}"),
            (r"(?:in\s+de\s+|in\s+het\s+)?{season}\s+(?:van\s+)?{year}", "{season} {year}"),
            (r"in\s+de\s+{season}|in\s+het\s+{season2}", "in the {season}"),
            *((rf"(?:op\s+|in\s+)?{pattern}", english) for pattern, english in _DAY_MONTH),
            (r"(?:vorig\s+jaar\s+|afgelopen\s+){month}", "last {month}"),
            (r"(?:volgende|komende)\s+{month}", "next {month}"),
            (r"in\s+{month}", "in {month}"),
            (r"(?:met\s+)?{holiday}\s+{year}", "{holiday} {year}"),
            (r"met\s+{holiday}", "{holiday}"),
            (r"(?:in|tijdens)\s+(?:het\s+jaar\s+)?{year}", "in {year}"),
            (r"in\s+het\s+weekend", "at the weekend"),
            (r"eergisteren|gisteren|vandaag|overmorgen|(?<!goede)(?<!goeie )(?<!guten )morgen", "{day}"),
            (r"(?:op\s+)?{weekday}", "on {weekday}"),
        ),
        since="sinds,vanaf", until="tot,tot_en_met", beside="voor,na",
        past="was waren had hadden heb hebben heeft ging gingen werd kwam kwamen geweest gegaan gekocht gezien deed",
        future="zal zullen ga gaan gaat wil moet komt vlieg vliegen vertrek",
    ),
    "zh": DateWords(
        months="1月份?/一月份? 2月份?/二月份? 3月份?/三月份? 4月份?/四月份? 5月份?/五月份? 6月份?/六月份? 7月份?/七月份? 8月份?/八月份? 9月份?/九月份? 10月份?/十月份? 11月份?/十一月份? 12月份?/十二月份?",
        weekdays="星期一/周一/礼拜一/週一 星期二/周二/礼拜二/週二 星期三/周三/礼拜三/週三 星期四/周四/礼拜四/週四 星期五/周五/礼拜五/週五 星期六/周六/礼拜六/週六 星期日/星期天/周日/周天/礼拜天/週日",
        words="minute=分钟,分鐘 hour=小时,个小时,小時,個小時 day=天,日 week=周,星期,个星期,礼拜,个礼拜,週,個星期 weekend=周末,週末 month=个月,月,個月"
        " year=年 today=今天,今日 yesterday=昨天,昨日 tomorrow=明天,明日 the_day_before_yesterday=前天 the_day_after_tomorrow=后天,後天"
        " morning=早上,上午,早晨 afternoon=下午 evening=晚上 night=夜里,夜晚 spring=春天,春季 summer=夏天,夏季 autumn=秋天,秋季 winter=冬天,冬季"
        " christmas=圣诞节,圣诞,聖誕節 christmas_eve=平安夜 new_year's_day=元旦",
        rules=(
            (r"昨晚|昨夜", "last night"),
            (r"今晚", "tonight"),
            (r"今早", "this morning"),
            (r"(?P<day>昨天|今天|明天|前天|后天|後天){part}", "{day} {part}"),
            (r"{year}年{month}{d}[日号號]?", "{d} {month} {year}"),
            (r"{year}年{month}", "{month} {year}"),
            (r"(?P<rel>去年|今年|明年|前年){month}", "{month} {rel}"),
            (r"{month}{d}[日号號]", "{d} {month}"),
            (r"{n}{unit}(?:之前|以前|前)", "{n} {unit}s ago"),
            (r"半年前", "half a year ago"),
            (r"{n}{unit}(?:之后|以后|后|後)", "{n} {unit}s from now"),
            (r"(?:最近|过去|過去)(?:的)?{n}{unit}", "the last {n} {unit}s"),
            (r"(?:未来|接下来|未來)(?:的)?{n}{unit}", "the next {n} {unit}s"),
            (r"(?:上个?|上個){weekday}", "{weekday} last week"),
            (r"(?:下个?|下個){weekday}", "{weekday} next week"),
            (r"(?:这个?|這個|本){weekday}", "{weekday} this week"),
            (r"(?:上个?|上個)(?:周末|週末)", "last weekend"),
            (r"(?:下个?|下個)(?:周末|週末)", "next weekend"),
            (r"(?:这个?|這個|本)(?:周末|週末)", "this weekend"),
            (r"(?:上个?|上個)(?:周|星期|礼拜|週)", "last week"),
            (r"(?:下个?|下個)(?:周|星期|礼拜|週)", "next week"),
            (r"(?:这个?|這個|本)(?:周|星期|礼拜|週)", "this week"),
            (r"(?:上个?|上個)月", "last month"),
            (r"(?:下个?|下個)月", "next month"),
            (r"(?:这个?|這個|本)月", "this month"),
            (r"(?P<rel>去年|今年|明年)(?:的)?{season}", "{season} {rel}"),
            (r"{year}年(?:的)?{season}", "{season} {year}"),
            (r"{year}年(?!前|后|後)", "in {year}"),
            (r"去年", "last year"),
            (r"前年", "2 years ago"),
            (r"今年", "this year"),
            (r"明年", "next year"),
            (r"{month}", "in {month}"),
            (r"{holiday}", "{holiday}"),
            (r"前天|昨天|昨日|今天|今日|明天|明日|后天|後天", "{day}"),
            (r"{weekday}", "on {weekday}"),
        ),
        since="从,自从,自,從,自從", until="到,直到", beside="",
        past="了 过 過", future="要 将 將 会 會 打算 准备 計劃", spaced=False,
    ),
    "ja": DateWords(
        months="1月/一月 2月/二月 3月/三月 4月/四月 5月/五月 6月/六月 7月/七月 8月/八月 9月/九月 10月/十月 11月/十一月 12月/十二月",
        weekdays="月曜日?/月曜 火曜日?/火曜 水曜日?/水曜 木曜日?/木曜 金曜日?/金曜 土曜日?/土曜 日曜日?/日曜",
        words="minute=分 hour=時間 day=日,日間 week=週間,週 weekend=週末 month=か月,ヶ月,カ月,ヵ月,箇月,ケ月 year=年,年間 today=今日,本日 yesterday=昨日,きのう"
        " tomorrow=明日,あした the_day_before_yesterday=一昨日,おととい the_day_after_tomorrow=明後日,あさって morning=朝,午前 afternoon=午後,昼"
        " evening=夕方,晩 night=夜 spring=春 summer=夏 autumn=秋 winter=冬 christmas=クリスマス christmas_eve=クリスマスイブ new_year's_eve=大晦日"
        " new_year's_day=元日",
        rules=(
            (r"昨夜|昨晩|ゆうべ", "last night"),
            (r"今夜|今晩", "tonight"),
            (r"今朝|けさ", "this morning"),
            (r"(?P<day>昨日|今日|明日|一昨日|明後日)の?{part}", "{day} {part}"),
            (r"{year}年{month}{d}日", "{d} {month} {year}"),
            (r"{year}年の?{month}", "{month} {year}"),
            (r"(?P<rel>去年|昨年|今年|来年)の?{month}", "{month} {rel}"),
            (r"{month}{d}日", "{d} {month}"),
            (r"{n}{unit}(?:ほど|くらい|ぐらい)?前", "{n} {unit}s ago"),
            (r"半年前", "half a year ago"),
            (r"{n}{unit}後", "{n} {unit}s from now"),
            (r"(?:ここ|この|過去)の?{n}{unit}", "the last {n} {unit}s"),
            (r"今後{n}{unit}", "the next {n} {unit}s"),
            (r"先週の?{weekday}", "{weekday} last week"),
            (r"来週の?{weekday}", "{weekday} next week"),
            (r"今週の?{weekday}", "{weekday} this week"),
            (r"先週の?週末|先週末", "last weekend"),
            (r"来週の?週末|来週末", "next weekend"),
            (r"今週末|この週末", "this weekend"),
            (r"先週", "last week"),
            (r"来週", "next week"),
            (r"今週", "this week"),
            (r"先月", "last month"),
            (r"来月", "next month"),
            (r"今月", "this month"),
            (r"(?P<rel>去年|昨年|今年|来年)の{season}", "{season} {rel}"),
            (r"{year}年の?{season}", "{season} {year}"),
            (r"{year}年(?!前|後|間)", "in {year}"),
            (r"去年|昨年", "last year"),
            (r"一昨年|おととし", "2 years ago"),
            (r"今年", "this year"),
            (r"来年", "next year"),
            (r"{month}", "in {month}"),
            (r"{holiday}", "{holiday}"),
            (r"一昨日|おととい|明後日|あさって|昨日|きのう|今日|本日|明日|あした", "{day}"),
            (r"{weekday}", "on {weekday}"),
        ),
        since="", until="", beside="",
        past="た でした だった", future="予定 つもり でしょう だろう たい", spaced=False,
    ),
}  # fmt: skip
