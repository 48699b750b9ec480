"""Reads what an order to a model is made of: the features of each sentence of a text. Pure.

Features are ideas, ideas that follow each other closely, words, and pairs of words. What each weighs was learned from
examples; see `training/poison.py`.

An idea is a list of words, in many languages: `ignor*` stands for all words that begin so, `from_now_on` for words that
follow each other. Accents are left out. Scripts that do not write spaces between words, or join words, are listed in
`PARTS`: a part counts wherever it stands. No idea is suspicious by itself; `poison_model.json` says what each pair of
them weighs.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import insort
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final

WORDS: Final[dict[str, str]] = {
    "ai": """
        ai ais a.i assistant assistants llm llms chatbot* bot bots copilot* gpt* chatgpt claude gemini llama mistral siri alexa agent agents model
        models crawler* scraper* summari?er* language_model* neural_network* machine machines robot robots automated_system*
        automated_agent* automated_screening digital_helper virtual_helper answer_engine* grader* llm_judge autopilot ki sprachmodell* assistent* kis ia ias
        asistente* assistente* assistant_ia modele_de_langage modeles_de_langage modelo_de_lenguaje modelos_de_lenguaje modelo_de_linguagem
        modello_linguistico modelli_linguistici taalmodel* asystent* model_jezykowy asistan* yapay_zeka* ассистент* ии нейросет* бот бота помощник* модель
        openai anthropic deepmind""",
    "rules": """
        instruction* rule rules guideline* guidance directive* prompt prompts policy policies restriction* constraint* safeguard* guardrail* filter filters
        programming protocol* limitation* limits limit alignment safety ethics ethic* moderation moral morals censorship compliance system_message
        configuration config directions caution boundaries orders training principles specification
        anweisung* regel regeln richtlinie* vorgabe* vorschrift* einschrankung* beschrankung* befehle* weisung* systemprompt systemtext
        consigne* regle regles directive restriction* invite_systeme limites filtre* reglas instruccion* directriz directrices restriccion* normas limite
        limites filtros mensaje_del_sistema istruzion* regola regole restrizion* direttiv* limiti filtri instruco* instrucao regras restrico* diretriz* mensagem_do_sistema
        instructie* regels richtlijn* beperking* systeemprompt polecen* instrukcj* zasad* ogranicze* wytyczn* promptu talimat* kural* kisitlama*
        указани* инструкци* правил* ограничени* промпт* директив*""",
    "drop": """
        ignor* disregard* forget forgets forgetting overrid* overrul* overwrit* bypass* discard* neglect* abandon* drop drops dropped cancel* nullif* revok* rescind*
        annul* suspend* supersed* obsolete void invalid* circumvent* violat* unlearn* dismiss* quit cease* set_aside throw_out throw_away pay_no_attention
        put_aside leave_behind no_longer expire* lifted lift withdraw* withdrawn waive* relieved exempt* reset outdated decoy let_go stop scrap outrank*
        takes_precedence take_precedence precedence opposite break_out replaced replace replaces instead_of rather_than not_apply don't_apply does_not_apply
        do_not_follow don't_follow not_obey not_follow get_rid tear_up start_over erase_your clear_your no_matter_what regardless_of whatever_you
        ignorier* vergiss missacht* verwirf* ubergeh* umgeh* aufgehoben ausser_kraft setze_dich_hinweg
        oubli* ignore* ignorez neglige* contourn* desactiv* annul* fais_abstraction olvid* ignora* omit* descart* anul* desactiv* dimentic* ignora* trascura* disattiv*
        esquec* ignor* desconsider* descart* anul* desativ* vergeet negeer* negeren zapomn* zignoruj* ignoruj* pomin* unut* yok_say* gormezden dikkate_alma*
        забудь* забыть игнорир* проигнорир* отмен* пренебре* отброс*""",
    "earlier": """
        previous* prior earlier preceding above before original initial former foregoing existing old usual first everything all any every prompt_above so_far
        until_now what_you_were whatever vorherig* bisherig* fruher* vorig* alle alles obig* obenstehend* precedent* anterieur* ancien* toutes tous toute tes tout
        anterior* previ* todas todos tus precedent* tutte tutti tue anterior* suas tuas eerdere vorige alle je wczesniejsz* poprzedni* wszystk* onceki* tum butun
        прежн* предыдущ* все всё ранее""",
    "tell": """
        tell tells telling told inform* mention* reveal* disclos* admit* notify* notified alert alerts alerted warn warned let_know say show shown report reported bring_up quote
        allude know knows aware unaware notice* learn learns find_out realise* realize* suspect* see sees hear
        sag sage sagen verrate* verraten erwahn* informier* melde zeig* mitteil* dis dire dites previen* prevenir montre* affiche* mentionn* cuent* contar digas diga avis* informe* muestra*
        mostrar dire dica avvis* mostra* rivela* conte contar avis* mostr* zeg zeggen meld* toon* vertel* mow powiedz* pokaz* inform* soyle* goster* bildir* говори* скажи* сообща* покаж* показ*""",
    "secretly": """
        secretly silently quietly covertly discreetly hidden hide hides unnoticed secret in_secret in_the_background without_a_trace off_the_record between_us confidential
        confidentially silent unseen invisible invisibly stealth* traces deny pretend act_normally act_as_if as_if_nothing as_though change_the_subject no_trace leave_out leave_this_out skip_over
        keep_quiet in_the_dark behind heimlich verdeckt stillschweigend geheim* unbemerkt silence silencieu* cachette discretement secreto silencio ocult* segreto silenzio nascost* segredo
        silencio escond* stiekem stil geheim* potajemnie cicho tajn* gizlice sessizce тайно скрыт* тихо незаметно секретн*""",
    "user": """
        user users user's users' human humans customer* client clients visitor* owner owner's principal operator operators person person's reader reader's recipient caller* account_holder nutzer*
        benutzer* anwender* kunde* utilisateur* usager* client usuario* cliente* utente utenti usuari* utilizador* gebruiker* klant* uzytkownik* klient* kullanici*
        пользовател* клиент* человек*""",
    "send": """
        send sends sent forward forwards upload uploads post posts email e-mail mail mails transmit* leak leaks exfiltrat* submit* copy copies bcc cc share shares append* encode encodes deliver* relay* paste
        publish* mirror mirrors attach* include includes hand_over pass supply provide give gives push sync export exports report_to dump dumps collect collects gather gathers harvest* extract* put place fill_in
        redirect* disclose* disclosing release releases
        sende* senden schick* leite weiterleit* ubermittl* hochlad* teile weitergeb* herausgeb* envoi* envoy* transfer* transmet* partage* communiqu* envia envias enviar envie envies envio reenvi* comparte* manda mande mandare inolt* invia invii inviare inviate condivid*
        encaminh* envie* mande* compartilh* stuur* sturen doorstur* verzend* deel wyslij* przeslij* przekaz* udostepn* gonder* ilet* paylas* отправ* перешл* пересл* передай* вышл*""",
    "data": """
        password* passcode* credential* login logins api_key* keys token tokens secrets secret_key private_key cookie cookies session_cookie chat_history transcript* conversation* chat_log* history inbox mailbox contacts
        contact_list address_book calendar files documents notes memories memory personal_data personal_details personal_information private_data user_data profile profiles location whereabouts system_prompt system_message hidden_prompt
        hidden_instructions initial_prompt card_number credit_card card pin ssn recovery_phrase seed_phrase one-time_code code_they verification_code environment_variables env .env ssh id_rsa customer_records customer_table customer_list
        records data database drive folder salary salaries home_address phone_number health configuration tool_list messages mails emails attachments
        passwort* passworter zugangsdaten chatverlauf kundendaten daten nachrichten mail mails mot_de_passe mots_de_passe donnees messages mails historique contrasena* datos correos historial mensajes dati password mail cronologia
        messaggi senha* dados e-mails historico mensagens wachtwoord* gegevens mails berichten hasl* dane wiadomosc* sifre* veriler* verisi* e-posta* gecmis* парол* данны* письм* переписк* истори* сообщени*""",
    "pay": """
        transfer transfers wire pay pays paid payment* purchase* buy buys order_three order orders refund* invoice* bank iban account accounts wallet fund funds money payroll salary subscribe* deposit
        donate* fee fees price budget loan zahl* uberweis* rechnung* konto paiement* paye* compte virement facture* pago* paga* cuenta transferencia factura* pagament* conto bonifico fattura* pagament* conta
        betal* rekening factuur platnos* przelew* zaplac* konto odeme* fatura* hesap* платеж* оплат* перевод* счет* счёт*""",
    "run": """
        run runs execute executes executing call calls invoke invokes launch* install* download* open opens click clicks visit visits curl wget sudo rm shell terminal powershell bash import eval perform carry_out carried_out
        fetch fetches load loads request requests access grant grants approve approves accept accepts merge unlock unlocks enable enables disable disables turn_off switch_off turn_on create creates edit edits update updates set
        change changes add adds insert inserts replace modify register grant_access force-push use_your use_the fuhre ausfuhr* starte installier* offne aktivier* freigeb* genehmig* bestatig* execut* lance* ouvre* install* approuv* autoris*
        ejecut* abre* instal* aprueb* aprob* autoriz* esegu* apri* approv* install* execut* abra aprov* autoriz* voer uitvoer* open goedkeur* installeer* wykon* uruchom* otworz* zatwierdz* calistir* ac onay* kabul выполн* запуст* откро* одобр* установ*""",
    "destroy": """
        delete deletes deleting wipe wipes erase erases remove removes purge* destroy* truncate drop_table format_the losch* entfern* effac* supprim* borra* elimin* cancella* apag* exclu* delet* verwijder* wis usun* skasuj* sil sili* удал* сотри* стер*""",
    "keep": """
        remember remembers memori?e* store stores save saves persist persists persistent retain retains record records note_to note_that take_a_note make_a_note keep_in_mind keep_a keep_this memory long-term learn note note_down
        write_down put_down add_to_your commit_the log_as carry_over standing_note profile knowledge your_notes your_records your_memory consolidate memory_bank merke merk* speicher* behalte notier* memoris* retien* enregistr* souvien* guarda guarde guardar
        recuerd* memoriza* memorizz* ricord* salva salvare guarde lembr* memoriz* salv* onthoud* bewaar* sla zapamiet* zapisz* kaydet* hatirla* sakla* запомн* сохран* запиш*""",
    "lasting": """
        always never ever every each whenever from_now_on forever permanent* henceforth until_further_notice future futures later by_default going_forward from_today from_here_on in_future next_time each_time every_time
        any_time for_good lasting hereafter all_coming coming_conversations subsequent next_session next_sessions all_later standing from_this_point as_of_now habit
        immer nie niemals stets dauerhaft kunftig ab_sofort ab_jetzt ewig jedes jede toujours jamais desormais definitiv* chaque dorenavant siempre nunca permanent* a_partir_de_ahora cada sempre mai per_sempre ogni sempre nunca para_sempre cada
        altijd nooit voortaan voorgoed elke zawsze nigdy na_stale odtad kazd* her_zaman asla bundan_sonra kalici* всегда никогда навсегда отныне каждый""",
    "when": """
        when if whenever once upon as_soon_as in_case should_a after_the on_hearing whoever anyone_who anybody_who anyone somebody someone who_asks when_asked if_asked wenn sobald falls quand si lorsque des_que cuando si en_cuanto
        quando se appena quando se assim_que als zodra wanneer gdy jesli kiedy если когда""",
    "must": """
        must shall required require requires mandatory obliged oblige* have_to has_to are_to is_to need_to needs_to ought should has_been_instructed supposed_to necessary vital important_that make_sure ensure be_sure comply complies
        obey obeys follow_these follow_the follow_me muss musst mussen soll sollen pflicht verpflichtet doit doivent dois faut obligatoire debe deben debes tienes_que obligatorio deve devono devi deve devem precisa moet moeten verplicht musi musisz
        powinien nalezy gerekir zorunda* должен должна должны обязан* нужно""",
    "authority": """
        admin admins administrator* developer developers operator system root security_team it_department it_team platform_team support_engineer* engineer compliance_notice compliance legal ceo creators creator makers vendor supervisor
        official officially authori?ed authority police court court_order data_protection headquarters maintainer moderator highest_level override_code elevated privileges superuser sudo owner_of level_5 lawyer emergency_protocol bulletin
        administrator* administration behorde systemmeldung systemnachricht entwickler administrateur* message_du_systeme systeme developpeur* administrador* sistema mensaje_del_sistema desarrollador* amministrator* messaggio_di_sistema sistema
        sviluppator* administrador* desenvolvedor* beheerder systeem ontwikkelaar administrator* systemow* yonetici sistem gelistirici администратор* систем* разработчик*""",
    "urgent": """
        urgent urgently immediately at_once important attention critical priority now instantly asap without_delay highest first hereby notice warning effective_immediately sofort wichtig dringend achtung hinweis immediatement urgent important
        attention inmediatamente urgente importante atencion subito urgente importante attenzione nota imediatamente urgente atencao onmiddellijk belangrijk opmerking natychmiast uwaga wazne hemen onemli dikkat срочно внимание немедленно заметка note nota""",
    "steer": """
        recommend* promot* prais* endors* suggest* advertis* rate rates rank ranks score scores award awards favour* favor* convinc* persuad* speak_of describe describes described present claim claims conclude concludes cite cites attribute
        classify mark marks vote warn compare comparing leader best finest outstanding top trustworthy certified sponsored advert slogan full_marks five_stars highest_score no_weaknesses weaknesses leave_out believe approved refuse refuses
        empfiehl empfehl* bezeichn* lobe lobt beste recommand* conseill* meilleur* recomiend* recomend* mejor califi* consigl* raccomand* miglior* recomend* melhor raad beveel aanbevel* beste polec* najlepsz* oner* tavsiye en_iyi совету* рекоменд* лучш*""",
    "answer": """
        answer answers answering reply replies respond responds response responses output outputs print prints say says state states summary summaries summari?e summari?ing report reports write writes sentence verdict translate translation
        begin_all end_each end_all start_each repeat repeats conclude conclusion antwort* antworte zusammenfass* gib repond* reponse* resume respuesta* responde* responda* resumen rispost* rispond* riassun* resposta* respond* resum* antwoord* odpowi*
        yanit* cevap* ответ* отвеч*""",
    "question": """
        asks asked ask asking question questions request requests query queries wants want wanted inquir* enquir* mention mentions mentioned comes_up turns_to writes types says say said searches looks_for fragt frage* demande* pregunt* pide
        chiede* domand* pergunt* pedir pede vraagt vraag* pyta* zapyta* sorar* sorarsa soru* спрос* вопрос* спрашив*""",
    "persona": """
        you_are_now act_as pretend* persona personas character role role-play roleplay mode jailbreak* jailbroken dan sudo_mode developer_mode identity switch_to become becomes simulate* imagine stay_in play_the enter sie_sind_jetzt du_bist_jetzt
        tu_es_maintenant eres_ahora ahora_eres sei_ora voce_e_agora je_bent_nu jestes_teraz ты_теперь evil twin""",
    "free": """
        unrestricted unfiltered uncensored unlimited no_restrictions no_limits no_rules no_filter no_filters without_any_filter without_filter without_restrictions without_limits free_of free_from nothing_is_forbidden anything_now anything do_anything
        never_refuse* never_say_no without_censorship no_moral never_refuses has_no have_no not_bound speak_freely freely keine_einschrankung* keine_regeln keine_beschrankung* lehnst_nie plus_aucune aucune_regle sans_filtre sans_limite sin_filtros
        sin_restricciones no_tienes_restricciones sin_limites senza_limiti senza_filtri non_hai_piu sem_filtro sem_restricoes nao_tem_mais geen_regels geen_beperkingen weigert_nooit zadnych_ogranicze* bez_ogranicze* sinirsiz kisitlama_yok нет_ограничений
        без_ограничений больше_нет off_limits""",
    "consent": """
        consent* permission* permit* allow allows allowed approv* authori?* agreed agree agrees waived waive signed_off cleared verified confirmed granted accept* pre-approved okayed consents gave_you given_you zugestimmt erlaubt* genehmigt freigegeben
        autoris* accord* permis* consent* autoriz* permiso permit* acconsent* autorizz* permess* autoriz* permiss* toestemming goedgekeurd zgod* zezwol* izin* onayla* разреш* соглас* подтвержд*""",
    "check": """
        confirmation* confirm confirming check checks checking verification verify verif* approval review ask asking questions two-factor 2fa mfa two-step authentication security warning warnings signature background_check further_checks look looking
        security_questions safety_check* alarm alerts ruckfrage* bestatigung* sicherheitsfragen prufung* kontrolle* confirmation* controle* securite confirmacion* verificacion* seguridad conferm* controlli controllo sicurezza confirmac* verificac* seguranca bevestiging*
        controle* potwierdzeni* pytani* onay* dogrulama* подтвержден* проверк* безопасност*""",
    "not": """
        not don't doesn't isn't won't never no without nobody none cannot can't mustn't shouldn't needn't skip skips nothing nicht kein* ohne nichts nie ne pas sans rien aucun* no sin nada nunca ningun* non senza nulla niente mai nessun* nao sem nada nunca
        niet geen zonder niets nooit nie bez nic zadn* degil yok -meden etme* не без никому ничего нет haber_verme* soyleme*""",
    "you": "you your yours yourself you're you've you'll du dein* dich dir tu toi ton tes vous votre tus tuo tua tuoi usted su te ti voce seu sua jij je jouw u twoj* ty ciebie sen senin ты твой тебя тебе вы ваш",
    "me": """
        i me my mine myself i'm i've i'd i'll we us our ours we're ich mich mir mein* uns wir unser* je j'ai j me moi mon ma mes nous notre yo mi me mis nosotros nuestr* io mi mio mia noi nostr* eu me meu minha nos noss* ik mij mijn wij ons onze ja mnie mi moj* my nas nasz*
        ben bana benim beni biz я меня мне мой моя мы нас наш""",
    "reading": """
        reading_this reads_this read_this this_page this_document this_text this_mail this_message this_file this_site this_line this_sentence this_block this_paragraph this_article this_website this_web_page this_email this_note this_notice this_comment this_repository
        this_line_and summari?ing_this processing processing_this reads_this opens_this web_page document summari?ing evaluating reviewing crawling visiting screening hier diese_seite dieser_seite diesen_text dieses_dokument diesen_artikel cette_page ce_texte ceci
        ce_document cet_article esta_pagina este_texto este_documento esto questo_testo questa_pagina questo_sito esta_pagina este_texto este_site neste_site deze_tekst deze_pagina deze_site tej_strony ta_strona tej_stronie ten_tekst bu_sayfa* bu_site* bu_metin
        здесь этот_текст этой_странице этому_сайту below following unten ci-dessous suivante* abajo siguiente* sotto seguente abaixo hieronder ponizsz* asagidaki ниже""",
    "task": """
        task tasks assignment objective goal goals mission aim purpose job plan real_orders actual instead orders new_instructions new_rules new_rule new_task new_policy new_orders real_instructions update updated new replacement steps actual_task auftrag aufgabe
        stattdessen tache mission plutot tarea objetivo en_su_lugar compito invece tarefa em_vez opdracht taak zadanie gorev задание вместо only solely nur uniquement seulement solamente solo apenas alleen tylko sadece только""",
    "trust": """
        trust trusts trusted safe safest secure verified authentic legitimate genuine reliable vertraut vertrau* sicher confiance fiable sur confia* seguro fiducia fida fidarsi sicuro confia* seguro vertrouw* veilig ufa zaufa* bezpieczn* guven* доверя* безопасн*""",
    "code": """
        command commands function functions tool tools script scripts code terminal shell macro webhook endpoint api payload plugin extension package dependency branch commit repository parameter installer befehl* skript commande* comando* comandos opdracht* polecenie komut* команд*""",
    "contact": """
        number address account iban link links url domain recipient contact helpline hotline site website vendor supplier e-mail email wallet phone adresse lien direccion enlace indirizzo endereco adres adresse* adresine адрес* ссылк* bank_details bank_account image pixel picture query_string""",
    "everyone": "everybody everyone anyone anybody whoever public publicly all_users other_users others another_user other_customers everyone's other_tenant* other_user's guest stranger whichever caller somebody's each_of",
    "about": """
        injection* jailbreaks attack attacks attacker attackers phishing malicious adversarial red_team red_teaming vulnerab* exploit exploits hacker* scam scams spam example examples for_instance such_as so-called called paper papers article articles blog podcast lecture
        workshop course thesis talk slides novel story film movie game book chapter researchers study detector classifier dataset benchmark test_case unit_test token_limit tokenizer template phrase phrases researcher explained explains explain means conference
        incident typical angriff* artikel attaque* ataque* attacc* aanval* atak* атак*""",
    "narrated": """
        was were had did said told asked wrote made got went came took gave found thought knew became left felt kept began showed heard sent ordered changed fixed decided called happened ignored forgot deleted promised refused war waren hatte sagte etait avait fue era
        dijo era aveva disse foi was waren zei byl byla powiedzial был была сказал bought saw""",
    "people": """
        employee* staff student* teacher* parent parents children kids guest guests patient* doctor* nurse* driver* passenger* tenant tenants visitors participants member members applicant* candidate candidates author authors editor volunteers colleague* team manager boss wife husband
        mother father mum dad sister brother friend friends neighbour* landlord plumber dentist personal personals mitarbeiter* personnel employe* empleado* personal personale equipe personeel personel*""",
    "polite": "please kindly dear hello hi thanks thank would_you could_you appreciate favour bitte s'il_vous veuillez por_favor per_favore alstublieft prosze lutfen пожалуйста siehe",
}  # fmt: skip

PARTS: Final[dict[str, str]] = {
    "ai": "助手 人工智能 模型 机器人 智能体 アシスタント エーアイ モデル 人工知能 어시스턴트 인공지능 모델 비서 المساعد الذكاء_الاصطناعي النموذج सहायक एआई मॉडल",
    "rules": "规则 規則 指令 指示 限制 提示词 系统提示 约束 命令 ルール 制限 システムプロンプト 制約 プロンプト 규칙 지시 제한 프롬프트 명령 القواعد التعليمات قيود الأوامر تعليمات قواعد नियम निर्देश आदेश प्रतिबंध प्रॉम्प्ट",
    "drop": "忽略 忘记 無視 无视 不要遵守 忘れて 無視し 従わない 무시 잊고 잊어 تجاهل انس لا_تتبع अनदेखा भूल_जा नज़रअंदाज़ नजरअंदाज",
    "earlier": "之前 先前 以前 所有 全部 前面 これまで 以前の すべて 全て 이전 지금까지 모든 모두 السابقة السابقه كل جميع पिछले सभी पहले",
    "tell": "告诉 通知 显示 透露 知らせ 教え 言わ 表示 알리 보여 말하 تخبر أخبر اعرض أظهر बता दिखा सूचित",
    "secretly": "偷偷 秘密 暗中 悄悄 隐藏 こっそり 秘密 密か 몰래 비밀리 سرا بالسر चुपचाप गुप्त",
    "user": "用户 用戶 使用者 客户 ユーザー 利用者 顧客 사용자 고객 المستخدم العميل उपयोगकर्ता ग्राहक यूज़र",
    "send": "发送 傳送 转发 转给 上传 提交 分享 送信 転送 送っ アップロード 共有 보내 전달 전송 공유 أرسل إرسال وأرسل شارك भेज साझा",
    "data": "密码 密碼 邮件 对话记录 對話 聊天记录 个人信息 数据 系统提示 消息 パスワード メール 会話 個人情報 データ システムメッセージ システムプロンプト 비밀번호 이메일 대화 개인정보 데이터 프롬프트 كلمة_المرور رسائل البيانات المحادثة رسالة_النظام पासवर्ड ईमेल डेटा बातचीत संदेश",
    "pay": "付款 转账 支付 汇款 账户 支払い 送金 振込 口座 결제 송금 계좌 الدفعات الدفع تحويل الحساب भुगतान पैसे खाते",
    "run": "执行 运行 批准 同意 打开 实行 実行 承認 開い 실행 승인 열어 نفذ الموافقة تنفيذ افتح चलाओ चलाएं स्वीकार मानो निष्पादित",
    "destroy": "删除 刪除 清除 削除 消去 삭제 지워 احذف امسح हटा मिटा",
    "keep": "记住 記住 保存 记录 储存 记忆 記憶 覚え 保存 기억 저장 احفظ تذكر सहेज याद_रख",
    "lasting": "永久 始终 总是 从现在起 一直 永远 以后 今後 常に いつも 永久 必ず 항상 앞으로 영구 영원 دائما من_الآن हमेशा अब_से",
    "when": "当 如果 一旦 每当 場合 とき 경우 عندما إذا जब यदि अगर",
    "must": "必须 應該 应当 必須 一定 なければ べき すること せよ 해야 하세요 يجب होगा चाहिए करना",
    "authority": "系统 管理员 开发者 システム 管理者 開発者 시스템 관리자 النظام المسؤول المطور सिस्टम प्रशासक",
    "urgent": "立即 马上 重要 注意 直ちに 重要 注意 즉시 중요 주의 فورا مهم ملاحظة तुरंत महत्वपूर्ण नोट",
    "steer": "推荐 推薦 最好 おすすめ 勧め 最高 추천 최고 أوصِ أوص الأفضل सिफारिश सबसे_अच्छा",
    "answer": "回答 输出 回复 逐字 一字一句 そのまま 答え 出力 대답 출력 그대로 أجب اطبع حرفيا जवाब उत्तर शब्दशः",
    "question": "询问 问到 提问 尋ね 聞か 質問 물어 질문 سأل يسأل पूछ",
    "free": "没有任何限制 没有限制 什么都可以 制限がありません 何でも 제한이_없 모든_것에 بلا_قيود कोई_सीमा_नहीं",
    "check": "确认 驗證 验证 確認 検証 확인 검증 تأكيد التحقق पुष्टि जाँच",
    "not": "不要 无需 沒有 没有 勿 不得 ずに なしで ないこと しない 없이 마세요 말고 لا_ دون بدون मत बिना नहीं",
    "you": "你 您 あなた 너는 당신 أنت तुम आप अपने",
    "me": "我 私 僕 나는 내가 저는 أنا أنني मैं मुझे मेर",
    "reading": "本页 这个网站 下面 以下 此文 このページ このサイト 下の 次の 이_페이지 이_사이트 아래 هنا هذا_الموقع التالي यह_पेज इस_पेज इस_साइट नीचे",
    "task": "只执行 任务 だけに 仕事 만_따르 فقط केवल",
    "trust": "信任 安全 信頼 신뢰 يثق भरोसा",
    "contact": "地址 链接 网址 アドレス リンク 주소 링크 العنوان الرابط पता पते लिंक",
    "people": "工作人员 小李 係員 직원 الموظفين कर्मचारियों",
    "polite": "请 ください 주세요 يرجى कृपया",
}  # fmt: skip


_TOKEN: Final = re.compile(r"[^\W_]+(?:['.-][^\W_]+)*|[:>\])}\"“]")
_END: Final = re.compile(r"[.!?](?!\w)|\n")
_CLAUSE: Final = frozenset(':>])}"“')
_ADDRESS: Final = re.compile(
    r"https?://\S+|www\.\S+|[\w.+-]{1,80}@[\w-]{1,80}(?:\.[\w-]{1,80})+|"
    r"\b[\w-]{1,60}\.(?:example|com|net|org|io|ru|cn|xyz|info|biz|app|site|top|test)\b\S{0,80}|"
    r"~/[.\w/]+|/etc/\w+|\+?\d[\d -]{6,}\d|\b[A-Z]{2}\d\d [A-Z0-9]{2,}"
)
"""Where something can be sent, called or paid to. Its words say nothing about what a text is about."""
_MAY_HOLD_ADDRESS: Final = re.compile(r"[@/.\d](?:(?<=[@/])|(?<=\w\.)\S|(?<=\d)[\d -]{6}|(?<=[A-Z]{2}\d)\d )")
"""Every address contains this. Much faster than the pattern of addresses, as it begins with one set of characters."""
_OTHER_SCRIPT: Final = re.compile("[\u0590-\u0dff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_OTHER_END: Final = re.compile("[。！？।؟\n]")
_NAME: Final = re.compile(r"(?<=[a-z,] )[A-Z]\w+")
_QUOTE: Final = re.compile("[\"“”„«»`]|(?<!\\w)'|'(?!\\w)")
_ORDERS: Final = frozenset(
    ("@drop", "@tell", "@send", "@pay", "@run", "@destroy", "@keep", "@steer", "@answer", "@persona")
)
_BEFORE_ORDER: Final = frozenset(("@polite", "@urgent", "@not", "@lasting", "@must", "@task"))
_COMBINED: Final = (
    ("@override", {"@drop>@rules", "@not>@rules", "@rules>@drop"}, {"@earlier>@rules", "@you>@rules", "@ai>@rules", "@rules>@you", "@authority>@rules"}),
    ("@conceal", {"@not>@tell", "@secretly>@tell", "@tell>@secretly"}, {"@tell>@user", "@user>@tell", "@tell>@reading"}),
    ("@exfiltrate", {"@send>@data", "@data>@send", "@tell>@data"}, {"@target", "@contact", "@reading", "@everyone"}),
    ("@unchecked", {"@not>@check", "@drop>@check", "@check>@drop"}, {"@run", "@pay", "@must", "@consent", "@destroy"}),
    ("@plant", {"@order>@user", "@keep>@user", "@keep>@ai", "@order>@lasting"}, {"@keep"}, {"@user", "@ai"}),
    ("@command", {"@ai>@must", "@ai>@order", "@must>@ai"}, {"@send", "@run", "@steer", "@answer", "@destroy", "@pay", "@drop", "@tell", "@keep"}),
    ("@leak", {"@order>@rules", "@answer>@rules", "@tell>@rules", "@order>@data"}, {"@you", "@authority", "@secretly"}, {"@tell", "@answer", "@send"}),
    ("@when asked", {"@when>@user", "@when>@question", "@lasting>@user", "@user>@question"}, {"@answer", "@steer", "@send", "@run", "@tell"}, {"@order", "@must", "@lasting"}),
)  # fmt: skip
"""What some ideas mean together: one feature of each set must be there."""
_COMBINES: Final = frozenset[str]().union(*(each[1] for each in _COMBINED))
_MAX_KNOWN: Final = 50_000
_NEAR: Final = 6
"""How many words apart two ideas may be to count as a pair."""
_STEM: Final = 6
"""Letters of a word that count as a feature, so that most of its forms are one."""
_LONGEST_PREFIX: Final = 14
_LETTERS: Final = str.maketrans("łøıđ’", "loid'")


def read_features(text: str) -> list[set[str]]:
    """Return the features of each sentence of a text: words as they are, ideas with an `@` in front."""
    bare, addresses = _take_addresses(text)
    folded = bare.casefold()
    if folded.isascii():
        sentences = _read_sentences(folded)
    else:
        folded = _without_accents(folded)
        sentences = [*_read_parts(folded), *_read_sentences(folded)]
    shared = {"@target"} if addresses else set[str]()
    if _NAME.search(bare):
        shared.add("@names")
    if _QUOTE.search(bare):
        shared.add("@quoted")
    for features in sentences:
        features |= shared
        _combine(features)
    return sentences


def may_hold_address(text: str) -> bool:
    """Return whether a text can hold an address: too often at most."""
    return _MAY_HOLD_ADDRESS.search(text) is not None


def hints_at_idea(word: str, ideas: frozenset[str]) -> bool:
    """Return whether what stands between white space has one of these ideas by itself."""
    ideas_of = _ideas()
    return not all(ideas.isdisjoint(ideas_of[token]) for token in _TOKEN.findall(word))


def begins_phrase(word: str, ideas: frozenset[str]) -> bool:
    """Return whether a phrase for one of these ideas can begin in what stands between white space."""
    phrases = _phrases()
    return any(idea in ideas for token in _TOKEN.findall(word) for _, idea in phrases.get(token, ()))


def holds_phrase(lowered: str, ideas: frozenset[str]) -> bool:
    """Return whether a text has words that follow each other and are one of these ideas together."""
    return any(idea in ideas for _, idea in _find_phrases(_TOKEN.findall(lowered)))


def _take_addresses(text: str) -> tuple[str, int]:
    return _ADDRESS.subn(" target ", text) if _MAY_HOLD_ADDRESS.search(text) else (text, 0)


def _read_sentences(folded: str) -> list[set[str]]:
    found: list[set[str]] = []
    for sentence in _END.split(folded):
        if tokens := _TOKEN.findall(sentence):
            found.append(_read_sentence(tokens))
    return found


def _read_sentence(tokens: list[str]) -> set[str]:
    stems = [token[:_STEM] for token in tokens]
    features = {*stems, *map(" ".join, pairwise(stems))}
    ideas_of = _ideas()
    placed = [(position, ideas) for position, token in enumerate(tokens) if (ideas := ideas_of[token])]
    for position, idea in _find_phrases(tokens):
        insort(placed, (position, (idea,)))
    for position in _find_orders(tokens):
        insort(placed, (position, ("@order",)))
    _add_ideas(features, placed)
    return features


def _find_phrases(tokens: list[str]) -> Iterator[tuple[int, str]]:
    phrases = _phrases()
    if phrases.keys().isdisjoint(tokens):
        return
    for position, token in enumerate(tokens):
        for phrase, idea in phrases.get(token, ()):
            if tokens[position + 1 : position + 1 + len(phrase)] == phrase:
                yield position, idea


def _find_orders(tokens: list[str]) -> Iterator[int]:
    """Yield where a clause starts with a verb: "please always send", but not "I send"."""
    ideas_of, starts = _ideas(), True
    for position, token in enumerate(tokens):
        if token in _CLAUSE:
            starts = True
        elif starts:
            ideas = ideas_of[token]
            if not _ORDERS.isdisjoint(ideas):
                yield position
            starts = not _BEFORE_ORDER.isdisjoint(ideas) and _ORDERS.isdisjoint(ideas)


def _add_ideas(features: set[str], placed: list[tuple[int, tuple[str, ...]]]) -> None:
    """Add ideas, and the pairs of those that follow each other closely."""
    for number, (position, ideas) in enumerate(placed):
        features.update(ideas)
        for later, others in placed[number + 1 :]:
            if later > position + _NEAR:
                break
            features.update([f"{one}>{other}" for one in ideas for other in others])


def _combine(features: set[str]) -> None:
    """Add what several pairs together mean."""
    if _COMBINES.isdisjoint(features):
        return
    for name, *needs in _COMBINED:
        if all(not need.isdisjoint(features) for need in needs):
            features.add(name)


class _IdeaTable(dict[str, tuple[str, ...]]):
    """The ideas of words, looked up once for each word."""

    def __missing__(self, token: str) -> tuple[str, ...]:
        exact, prefixes = _words()
        found = set(exact.get(token, ()))
        for end in range(2, min(len(token), _LONGEST_PREFIX) + 1):
            found.update(prefixes.get(token[:end], ()))
        ideas = tuple(sorted(found))
        if len(self) < _MAX_KNOWN:
            self[token] = ideas
        return ideas


@cache
def _ideas() -> _IdeaTable:
    return _IdeaTable()


def _without_accents(text: str) -> str:
    if _OTHER_SCRIPT.search(text):
        return text
    plain = "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))
    return plain.translate(_LETTERS)


@cache
def _words() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the ideas of whole words and of beginnings of words."""
    exact: dict[str, list[str]] = {}
    prefixes: dict[str, list[str]] = {}
    for idea, words in WORDS.items():
        for word in _spellings(words):
            if "_" not in word:
                table, key = (prefixes, word[:-1]) if word.endswith("*") else (exact, word)
                table.setdefault(key, []).append(f"@{idea}")
    return exact, prefixes


@cache
def _phrases() -> dict[str, list[tuple[list[str], str]]]:
    """Return the ideas of words that follow each other, by the first of them."""
    found: dict[str, list[tuple[list[str], str]]] = {}
    for idea, words in WORDS.items():
        for phrase in _spellings(words):
            first, *rest = phrase.rstrip("*").split("_")
            if rest:
                found.setdefault(first, []).append((rest, f"@{idea}"))
    return found


def _spellings(words: str) -> Iterator[str]:
    for raw in words.split():
        word = _without_accents(raw)
        yield from {word.replace("?", "s"), word.replace("?", "z")}


def _read_parts(folded: str) -> Iterator[set[str]]:
    """Yield the features of each sentence in a script whose words cannot be told apart."""
    if not _OTHER_SCRIPT.search(folded):
        return
    for sentence in _OTHER_END.split(folded):
        features: set[str] = set()
        placed: list[tuple[int, tuple[str, ...]]] = []
        for match in _parts().finditer(sentence):
            placed.append((match.start() // 3, _ideas_of_part(match[0])))
        _add_ideas(features, placed)
        if features:
            yield features


@lru_cache(maxsize=2_000)
def _ideas_of_part(part: str) -> tuple[str, ...]:
    return tuple(f"@{idea}" for idea, parts in PARTS.items() if part.replace(" ", "_") in parts.split())


@cache
def _parts() -> re.Pattern[str]:
    parts = sorted({part for each in PARTS.values() for part in each.split()}, key=lambda part: (-len(part), part))
    return re.compile("|".join(re.escape(part.replace("_", " ")) for part in parts))
