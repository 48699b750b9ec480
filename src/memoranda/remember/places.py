"""Tells places from other names, so that "I moved to Ghent" is about a home and "I moved to Signal" is not. Pure.

The list holds countries, large regions and well-known cities. A name that is not on it is not known to be a place: what
depends on it is then only linked, never hidden.
"""

from __future__ import annotations

import re
from typing import Final

_COUNTRIES = """
    afghanistan albania algeria andorra angola argentina armenia australia austria azerbaijan bahamas bahrain
    bangladesh barbados belarus belgium belize benin bhutan bolivia bosnia botswana brazil britain bulgaria burundi
    cambodia cameroon canada chad chile china colombia congo croatia cuba cyprus czechia denmark djibouti ecuador
    egypt england eritrea estonia eswatini ethiopia fiji finland france gabon gambia georgia germany ghana greece
    greenland grenada guatemala guinea guyana haiti holland honduras hungary iceland india indonesia iran iraq
    ireland israel italy jamaica japan jordan kazakhstan kenya kosovo kuwait kyrgyzstan laos latvia lebanon lesotho
    liberia libya liechtenstein lithuania luxembourg madagascar malawi malaysia maldives mali malta mauritania
    mauritius mexico moldova monaco mongolia montenegro morocco mozambique myanmar namibia nepal netherlands
    nicaragua niger nigeria norway oman pakistan palestine panama paraguay peru philippines poland portugal qatar
    romania russia rwanda samoa scotland senegal serbia seychelles singapore slovakia slovenia somalia spain sudan
    suriname sweden switzerland syria taiwan tajikistan tanzania thailand togo tonga tunisia turkey turkmenistan
    uganda ukraine uruguay usa uzbekistan vanuatu venezuela vietnam wales yemen zambia zimbabwe alabama alaska
    arizona arkansas california colorado connecticut delaware florida hawaii idaho illinois indiana iowa kansas
    kentucky louisiana maine maryland massachusetts michigan minnesota mississippi missouri montana nebraska nevada
    ohio oklahoma oregon pennsylvania tennessee texas utah vermont virginia washington wisconsin wyoming ontario
    quebec alberta manitoba bavaria saxony hesse tuscany sicily provence brittany normandy andalusia catalonia
    flanders wallonia queensland tasmania victoria
"""
_CITIES = """
    aachen aalborg aarhus aberdeen adelaide albuquerque algiers alicante almaty amersfoort amman amsterdam anchorage
    ankara antwerp arnhem asheville athens atlanta auckland augsburg austin baku baltimore bangalore bangkok
    barcelona bari basel bath beijing beirut belfast belgrade bergamo bergen berlin bern bilbao birmingham bochum
    bogota bologna bonn bordeaux boston boulder bradford braga brasilia bratislava bremen breslau brest bremerhaven
    brighton brisbane bristol brno bruges brussels bucharest budapest buffalo burgos cairo calgary cambridge
    canberra cardiff casablanca chandigarh charleston charlotte chemnitz chennai chicago cincinnati cleveland
    coimbra cologne colombo columbus copenhagen cordoba cork coventry cracow dakar dallas damascus darmstadt darwin
    debrecen delft delhi denver derby detroit dhaka dortmund dresden dubai dublin dubrovnik duisburg dundee durban
    dusseldorf düsseldorf edinburgh edmonton eindhoven erfurt erlangen essen exeter faro ferrara florence frankfurt
    freiburg fremantle galway gdansk gdynia geneva genoa ghent gijon glasgow gothenburg granada graz grenoble
    groningen guadalajara haarlem haifa halifax halle hamburg hamilton hannover hanover hanoi haifa harare havana
    heidelberg helsinki hobart honolulu houston hull hyderabad ibiza innsbruck istanbul izmir jakarta jena jerusalem
    johannesburg kabul kaiserslautern karachi karlsruhe kassel kathmandu katowice kharkiv kiel kigali kingston kobe
    koblenz kolkata konstanz krakow kyiv kyoto lagos lahore lausanne leeds leicester leiden leipzig leuven lexington
    liege lille lima limerick linz lisbon liverpool ljubljana lodz london louisville luanda lublin lucerne lugano
    lund luxembourg lviv lyon maastricht macau madison madrid magdeburg mainz malaga malmo malmö manchester manila
    mannheim maputo marrakesh marseille melbourne memphis metz miami milan milwaukee minneapolis minsk modena
    montevideo montpellier montreal moscow mumbai munich münster munster murcia nagoya nairobi nantes naples
    nashville newcastle nice nicosia nijmegen norwich nottingham nuremberg oakland odense odessa oldenburg omaha
    oporto orlando osaka oslo osnabrück ostrava ottawa oxford padua palermo palma pamplona paris parma perth perugia
    philadelphia phoenix pisa pittsburgh plovdiv plymouth porto portland portsmouth potsdam poznan prague pretoria
    providence quito raleigh ravenna reading regensburg reykjavik richmond riga rome rostock rotterdam saarbrücken
    sacramento saigon salamanca salzburg santiago sapporo sarajevo savannah seattle segovia sendai seoul sevilla
    seville shanghai sheffield shenzhen siena skopje sofia southampton split stavanger stockholm strasbourg
    stuttgart suva swansea sydney szczecin tallinn tampa tampere tartu tashkent tbilisi tehran thessaloniki
    timisoara tirana toledo tokyo toronto toulouse tours trento trier trieste tripoli tromso trondheim tucson tulsa
    tunis turin turku ulm uppsala utrecht vaduz valencia valladolid valletta vancouver venice verona vienna vigo
    vilnius warsaw wellington wiesbaden winnipeg wolfsburg worcester wroclaw wuppertal würzburg york zagreb zaragoza
    zurich zürich
"""
_LONG_NAMES = """
    new york, los angeles, san francisco, san diego, san jose, san antonio, las vegas, salt lake city, new orleans,
    kansas city, st. louis, fort worth, el paso, long beach, hong kong, kuala lumpur, ho chi minh city, cape town,
    buenos aires, rio de janeiro, sao paulo, são paulo, mexico city, tel aviv, abu dhabi, the hague, costa rica, el
    salvador, dominican republic, puerto rico, new zealand, south africa, south korea, north korea, saudi arabia,
    sri lanka, united states, united kingdom, the uk, the us, the usa, the netherlands, czech republic, ivory coast,
    sierra leone, burkina faso, papua new guinea, north macedonia, new jersey, new mexico, new hampshire, north
    carolina, south carolina, north dakota, south dakota, west virginia, rhode island, british columbia, nova
    scotia, new south wales, northern ireland, new delhi, addis ababa, santa fe, santa cruz, santa barbara, palo
    alto, ann arbor, st petersburg, saint petersburg, san sebastian, las palmas, le havre, la paz
"""
_PLACES: Final = frozenset(
    (*_COUNTRIES.split(), *_CITIES.split(), *(" ".join(name.split()) for name in _LONG_NAMES.split(",")))
)
_ADDRESS: Final = re.compile(
    r"^\d+\w?\s+\w+|\b(?:street|st|avenue|ave|road|rd|lane|ln|drive|square|platz|straße|strasse|way|court|boulevard)\b\.?$",
    re.I,
)


_REGIONS: Final = frozenset(_COUNTRIES.split())


def is_region(name: str) -> bool:
    """Return whether a name is known to be a country or a large region, in which a city may be."""
    return " ".join(name.casefold().split()).strip(" .") in _REGIONS


def is_place(name: str) -> bool:
    """Return whether a name is known to be a place: a country, a region, a city, or a street address."""
    folded = " ".join(name.casefold().split()).strip(" .")
    first = folded.split(",")[0].strip()
    return first in _PLACES or folded in _PLACES or _ADDRESS.search(folded) is not None


def known_places() -> frozenset[str]:
    """Return the names of countries, regions and cities that are known, in lower case."""
    return _PLACES
