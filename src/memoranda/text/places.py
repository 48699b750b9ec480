"""Tells places from other names, so that "I moved to Ghent" is about a home and "I moved to Signal" is not. Pure.

The list holds countries, large regions and well-known cities. A name that is not on it is not known to be a place: what
depends on it is then only linked, never hidden.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

Level: TypeAlias = Literal["region", "city", "address", "unknown"]

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
    aalst abuja accra adana agadir akron albacete albany alesund alexandria almere almeria amarillo amiens
    anaheim ancona angers annecy antalya apeldoorn arequipa arezzo arlington atlantic-city aurora aveiro avignon
    badajoz bakersfield bandung banja-luka beaumont bendigo berkeley besancon biel bielefeld billings bismarck
    blackburn blackpool bodo boise bolton bolzano bottrop bournemouth bozeman brasov braunschweig breda bregenz
    brescia brooklyn burgas burnley bursa busan bydgoszcz cadiz caen cagliari cairns cali campinas cancun cannes
    canterbury carlisle cartagena castellon catania cebu cedar-rapids celle chandler charleroi chattanooga
    chelmsford cheltenham chengdu chester cheyenne chiang-mai chongqing chur clearwater cluj coburg colchester
    colmar como constanta corvallis cottbus cremona crewe croydon curitiba cusco cuxhaven czestochowa da-nang
    daegu dalian darlington davao dayton decatur denton dessau deventer dijon dodoma doncaster dordrecht
    dornbirn drammen drogheda dudley dundalk dunedin durham eastbourne elche emden enschede esbjerg eskisehir
    espoo esslingen eugene evanston evora fargo fayetteville fez flagstaff flensburg florianopolis fortaleza
    fresno fribourg fukuoka fulda funchal gainesville gatineau gavle geelong gelsenkirchen gera giessen girona
    giza glendale gloucester goa gold-coast goslar gouda greensboro greenville greifswald grimsby guangzhou
    guayaquil guildford gyor göttingen gütersloh hagen hamm hanau hangzhou harrogate hartford hasselt hastings
    heilbronn heraklion hereford herne hildesheim hilversum hiroshima hoboken horsens huddersfield hue huelva
    huntsville iasi ibadan incheon indore ingolstadt inverness ipswich irvine ithaca jacksonville jaen jaipur
    jerez jonkoping juneau jyvaskyla kampala kano kanpur karlstad kawasaki kelowna kempten kettering kielce
    kilkenny kitchener klagenfurt knoxville kochi kolding konya kortrijk kosice krefeld kristiansand kumasi
    kuopio lahti lancaster landshut lansing laredo larissa laval lecce leeuwarden leiria leon leverkusen liberec
    limoges lincoln linkoping livorno lleida locarno logrono lorient lubbock lucca lucknow lugo lulea lusaka
    luton lübeck lüneburg macon maidstone malacca manaus manhattan mantua marbella marburg margate maribor
    mechelen medellin mendoza merida messina middelburg middlesbrough milton-keynes mississauga missoula modesto
    moers mombasa moncton mons monterrey mulhouse mysore mönchengladbach nagasaki nagpur namur nancy nanjing
    naperville napier nara nelson neuss newark niigata nimes norfolk norrkoping northampton novara novi-sad
    oaxaca okinawa oldham olomouc olympia orebro osijek ostend oulu ourense oviedo paderborn paisley pasadena
    passau patras pau pavia pecs penang peoria perpignan pescara peterborough pforzheim phuket piacenza plano
    plauen plzen pocatello poole porto-alegre prato preston provo puebla pune qingdao queens queretaro rabat
    radom randers ratingen recife regina reims remscheid reno reutlingen rijeka rimini roanoke rochdale
    rochester rockford roosendaal rosario rosenheim rotherham rouen rzeszow saitama salerno salford salisbury
    salvador san-juan sandnes santander santo-domingo saskatoon sassari scarborough schweinfurt schwerin
    scottsdale scranton setubal shreveport siegen sligo slough solihull solingen southend speyer spokane
    springfield stamford stevenage steyr stirling stockport stockton stoke stralsund sunderland surabaya surat
    surrey suzhou swindon syracuse szeged tacoma tallahassee tangier taranto tarragona tauranga telford tempe
    thun tianjin tijuana tilburg topeka torquay torun toulon townsville tralee trenton treviso truro tuscaloosa
    tübingen udine umea vantaa varese varna vasteras vaxjo vejle venlo vicenza victoria villach viseu vitoria
    volos waco wakefield walsall warrington waterford watford weimar wels wexford wichita wigan wilmington
    winchester windsor winterthur wismar witten woking wollongong wolverhampton wrexham wuhan xian yokohama
    yonkers zaandam zabrze zadar zwickau zwolle
"""
_LONG_CITIES = """
    new york, los angeles, san francisco, san diego, san jose, san antonio, las vegas, salt lake city, new orleans,
    kansas city, st. louis, fort worth, el paso, long beach, hong kong, kuala lumpur, ho chi minh city, cape town,
    buenos aires, rio de janeiro, sao paulo, são paulo, mexico city, tel aviv, abu dhabi, the hague, new delhi, addis
    ababa, santa fe, santa cruz, santa barbara, palo alto, ann arbor, st petersburg, saint petersburg, san sebastian,
    las palmas, le havre, la paz
"""
_LONG_REGIONS = """
    costa rica, el salvador, dominican republic, puerto rico, new zealand, south africa, south korea, north korea,
    saudi arabia, sri lanka, united states, united kingdom, uk, us, czech republic, ivory coast, sierra leone, burkina
    faso, papua new guinea, north macedonia, new jersey, new mexico, new hampshire, north carolina, south carolina,
    north dakota, south dakota, west virginia, rhode island, british columbia, nova scotia, new south wales, northern
    ireland
"""
# Known places that lie in a city.
_DISTRICTS: Final = frozenset(("brooklyn", "manhattan", "queens", "bronx", "croydon", "harlem", "hollywood"))
_PLACES: Final = frozenset(
    (
        *_COUNTRIES.split(),
        *_CITIES.split(),
        *(name.replace("-", " ") for name in _MORE_CITIES.split()),
        *(" ".join(name.split()) for name in (*_LONG_CITIES.split(","), *_LONG_REGIONS.split(","))),
    )
)
_ADDRESS: Final = re.compile(
    r"^\d+\w?\s+\w+|\b(?:street|st|avenue|ave|road|rd|lane|ln|drive|square|platz|straße|strasse|way|court|boulevard)\b\.?$",
    re.I,
)


# How names of places often begin or end.
_LIKE_A_PLACE: Final = re.compile(
    r"^(?:san|santa|saint|st\.?|new|fort|bad|los|las|mount|cape|upper|lower|north|south|east|west) [^\W\d_]{3,}$"
    r"|^[^\W\d_]{2,}(?:burg|burgh|berg|stadt|dorf|heim|hausen|hafen|furt|kirchen|ville|bury|borough|mouth|shire"
    r"|wick|wich|stan|grad|polis|abad|nagar|brück|brugge|wijk|hoven|drecht|sund|köping|holm|ington"
    r"|ingham|hampton|chester|minster|cester|vik|ovo)$"
    r"|^[^\W\d_]{3,} (?:city|springs|falls|beach|heights|valley|creek|hills?|bay|island|park|gardens"
    r"|upon \w+|am \w+|an der \w+)$"
)


_REGIONS: Final = frozenset((*_COUNTRIES.split(), *(" ".join(name.split()) for name in _LONG_REGIONS.split(","))))


def is_region(name: str) -> bool:
    """Return whether a name is known to be a country or a large region, in which a city may be."""
    return " ".join(name.casefold().split()).strip(" .").removeprefix("the ") in _REGIONS


def place_level(name: str) -> Level:
    """Return how large a place is. Of two places on different levels one may lie in the other."""
    folded = " ".join(name.casefold().split()).strip(" .")
    if is_region(name):
        return "region"
    if _ADDRESS.search(folded) is not None:
        return "address"
    return "city" if is_place(name) and folded not in _DISTRICTS else "unknown"


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
