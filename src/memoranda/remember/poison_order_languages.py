"""Signs of poisoned text in languages other than English, as data: what is to be kept, hidden from or said to the user."""

from __future__ import annotations

from typing import Final

from memoranda.remember.poison_signs import make_sign

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
