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
_MORE_CITIES = """
    akron albany amarillo anaheim arlington atlantic-city aurora bakersfield beaumont bend berkeley billings bismarck boise bozeman
    brooklyn cedar-rapids chattanooga cheyenne clearwater corvallis dayton decatur denton durham eugene evanston fargo fayetteville
    flagstaff fresno gainesville glendale greensboro greenville hartford hoboken huntsville irvine ithaca jacksonville juneau
    knoxville lansing laredo lincoln lubbock macon manhattan mesa missoula mobile modesto naperville newark norfolk olympia pasadena
    peoria plano pocatello provo queens reno roanoke rochester rockford savannah scottsdale scranton shreveport spokane springfield
    stamford stockton syracuse tacoma tallahassee tempe topeka trenton tuscaloosa waco wichita wilmington yonkers toulon reims dijon
    angers nancy rouen amiens avignon cannes nimes limoges annecy besancon caen brest lorient perpignan orleans mulhouse colmar pau
    apeldoorn breda deventer dordrecht enschede gouda hilversum leeuwarden middelburg roosendaal tilburg venlo zwolle zaandam almere
    bruges hasselt kortrijk mechelen namur charleroi mons ostend aalst bielefeld bottrop braunschweig celle coburg cottbus cuxhaven
    dessau emden esslingen flensburg fulda gelsenkirchen gera giessen goslar göttingen greifswald gütersloh hagen hamm hanau heilbronn
    herne hildesheim ingolstadt kempten krefeld landshut leverkusen lübeck lüneburg marburg moers mönchengladbach neuss paderborn
    passau pforzheim plauen ratingen remscheid reutlingen rosenheim schweinfurt schwerin siegen solingen speyer stralsund tübingen
    weimar wismar witten worms zwickau klagenfurt villach wels steyr bregenz dornbirn winterthur biel thun chur fribourg locarno
    ancona arezzo bergamo bolzano brescia cagliari catania como cremona lecce livorno lucca mantua messina novara pavia pescara
    piacenza prato rimini salerno sassari taranto treviso udine varese vicenza aveiro braga evora funchal leiria setubal viseu
    albacete almeria badajoz cadiz cartagena castellon elche girona huelva jaen jerez leon lleida logrono lugo marbella merida
    ourense oviedo salamanca santander tarragona vitoria drammen kristiansand sandnes alesund bodo linkoping norrkoping orebro
    vasteras umea lulea jonkoping vaxjo karlstad gavle esbjerg kolding vejle horsens randers espoo vantaa oulu jyvaskyla kuopio lahti
    bydgoszcz czestochowa kielce radom rzeszow torun zabrze olomouc plzen liberec kosice szeged pecs gyor cluj brasov iasi constanta
    varna burgas rijeka osijek zadar maribor novi-sad banja-luka patras heraklion volos larissa bursa adana konya antalya eskisehir
    blackburn blackpool bolton bournemouth brighton burnley canterbury carlisle chelmsford cheltenham chester colchester crewe
    croydon darlington doncaster dudley durham eastbourne gloucester grimsby guildford harrogate hastings hereford huddersfield
    inverness ipswich kettering lancaster lincoln luton maidstone margate middlesbrough milton-keynes northampton oldham paisley
    peterborough poole preston reading rochdale rotherham salford salisbury scarborough slough solihull southend stevenage stirling
    stockport stoke sunderland swindon telford torquay truro wakefield walsall warrington watford wigan winchester woking
    wolverhampton wrexham drogheda dundalk kilkenny sligo tralee waterford wexford bendigo cairns geelong gold-coast hobart newcastle
    townsville wollongong dunedin hamilton napier nelson tauranga kelowna kingston kitchener london mississauga regina saskatoon
    surrey victoria windsor halifax moncton gatineau laval chandler pune jaipur lucknow kanpur nagpur indore surat kochi mysore goa
    cebu davao penang malacca bandung surabaya chiang-mai phuket hue da-nang busan incheon daegu fukuoka hiroshima kawasaki nagasaki
    niigata nara okinawa saitama yokohama chengdu chongqing guangzhou hangzhou nanjing suzhou tianjin wuhan xian qingdao dalian
    accra abuja ibadan kano kumasi kampala lusaka mombasa dodoma rabat fez tangier agadir alexandria giza medellin cali cartagena
    cusco arequipa guayaquil rosario mendoza cordoba curitiba salvador recife fortaleza brasilia porto-alegre florianopolis campinas
    manaus monterrey puebla tijuana cancun merida oaxaca queretaro santo-domingo san-juan havana
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
    (
        *_COUNTRIES.split(),
        *_CITIES.split(),
        *(name.replace("-", " ") for name in _MORE_CITIES.split()),
        *(" ".join(name.split()) for name in _LONG_NAMES.split(",")),
    )
)
_ADDRESS: Final = re.compile(
    r"^\d+\w?\s+\w+|\b(?:street|st|avenue|ave|road|rd|lane|ln|drive|square|platz|straße|strasse|way|court|boulevard)\b\.?$",
    re.I,
)


# How names of places often begin or end.
_LIKE_A_PLACE: Final = re.compile(
    r"^(?:san|santa|saint|st\.?|new|fort|bad|los|las|mount|cape|upper|lower|north|south|east|west) [^\W\d_]{3,}$"
    r"|^[^\W\d_]{2,}(?:burg|burgh|berg|stadt|dorf|heim|hausen|hafen|furt|kirchen|ville|bury|borough|mouth|shire|wick|wich|stan|grad"
    r"|polis|abad|nagar|brück|brugge|wijk|hoven|drecht|sund|köping|holm|ington|ingham|hampton|chester|minster|cester|vik|ovo)$"
    r"|^[^\W\d_]{3,} (?:city|springs|falls|beach|heights|valley|creek|hills?|bay|island|park|gardens|upon \w+|am \w+|an der \w+)$"
)


_REGIONS: Final = frozenset(_COUNTRIES.split())


def is_region(name: str) -> bool:
    """Return whether a name is known to be a country or a large region, in which a city may be."""
    return " ".join(name.casefold().split()).strip(" .") in _REGIONS


def is_place(name: str) -> bool:
    """Return whether a name is known to be a place: a country, a region, a city, or a street address."""
    folded = " ".join(name.casefold().split()).strip(" .")
    first = folded.split(",")[0].strip()
    known = first in _PLACES or folded in _PLACES or folded.removeprefix("the ") in _PLACES
    return known or _ADDRESS.search(folded) is not None


def looks_like_place(name: str) -> bool:
    """Return whether a name is known to be a place, or is built like the names of places."""
    first = " ".join(name.casefold().split()).split(",")[0].strip(" .")
    return is_place(name) or _LIKE_A_PLACE.match(first) is not None


def known_places() -> frozenset[str]:
    """Return the names of countries, regions and cities that are known, in lower case."""
    return _PLACES
