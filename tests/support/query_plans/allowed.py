"""Plans of statements that read more than the answer needs, each with the reason."""

_ORDERS = r"(intents\.list_intents|pages_console_orders\.list_orders)"
_TICKETS = (
    r"(admissions\.list_admissions|pages_console_attendees\.list_attendees"
    r"|pages_console_search\.search)"
)
_PAYOUTS = (
    r"(payouts\.(create|preview)_payout"
    r"|pages_console_money_moving\.(propose_payouts|preview_payouts|show_list|download_payouts))"
)
_FIGURES = r"(money\.read_money|pages_console_(money(_moving)?|overview)\.show_\w+)"
_COLLECTIONS = r"(collections\.list|pages_console_money_moving\.(propose|download))_collections"
_HOMES = r"(sqlite_autoindex_order_accounts_1|order_accounts_intent_id\w+_key)"
_KEYS = r"(api_keys\.list_api_keys|pages_console_keys\.\w+)"
_LOG = r"(audit_log\.list_audit_log|pages_console_audit_log\.list_changes)"
"""What the API and the console read in the same way."""

ALLOWED = {
    "Who waits for tickets of one event, in one state.": (
        r"(pages_console_)?waiting_list\.list_\w+ searches entries_of_event, then looks at status"
    ),
    "Of all events, who waits, has an offer, or has not confirmed it for two days: few.": (
        r"worker walks (entries_(unconfirmed|offered)|open_offers|types_waited_for)"
    ),
    "The orders of one address, those that were paid first: few, unless a stranger made them.": (
        r"(worker|pages_orders_of_address\.show_orders)"
        r" (searches intents_of_buyer, then looks at books_version status"
        r"|sorts (tenants|events|payment_intents))"
    ),
    "Every ten minutes, the ticket types with a deposit.": r"worker walks types_with_deposits",
    "What comes next, of all organizers, of whom this database has few, until a page is full.": (
        r"mcp\.answer_message walks (events_coming|tenants_pkey)"
    ),
    "Signed transfers without an outcome: few, and those of open orders come first.": (
        r"worker (sorts x402_settlements|walks x402_(settling|due))"
    ),
    "The deposits of one event. Postgres merges all items: this database has few.": (
        r"(pages_console_)?deposits\.\w+ walks (intent_items_pkey|items_of_ticket_type)"
    ),
    "Statements about refunds that wait: each for a day. Tenants that owe, one by one. This"
    " database has few payees: Postgres merges all of them.": (
        r"worker walks (refund_addresses_\w+|accounts_owing\w*)"
    ),
    "Events whose deposits are being released: few.": r"worker walks events_releasing",
    "Few events of one tenant are unlisted.": (
        r"(public\.list_public_events|pages_home\.show_\w+|mcp\.answer_message)"
        r" searches events_by_status_and_start, then looks at (end_at start_at )?visibility"
    ),
    "The events of one series, of which few are unlisted, and the past ones are the oldest.": (
        r"(public|pages_events|mcp)\.\w+"
        r" searches events_(of_series|by_status_and_start), then looks at"
        r" (end_at )?(series )?(start_at )?visibility"
    ),
    "What organizers wrote about one event: at most three a day, and previews for some days.": (
        r"(pages_console_)?messages\.\w+ searches messages_of_event, then looks at status tenant_id"
    ),
    "A message goes to everybody of its event, up to three times a day.": (
        r"(worker|pages_console_event_forms\.change_event|(pages_console_)?messages\.\w+)"
        r" searches (intents|admissions)_of_event, then looks at .*"
    ),
    "Messages that wait, events that remind soon, tenants who want a mail a day: few.": (
        r"worker walks (messages_(open|previewed)|events_to_remind|tenants_told_daily)"
    ),
    "Once a day, all pictures: the unused ones are deleted.": (
        r"worker (scans images|walks (images|events_by_image|tenants_by_logo)_\w+"
        r"|searches images_\w+, then looks at .*)"
    ),
    "The x402 payments of one chain that are settling: at most one for each order, for minutes.": (
        r"(x402\.order_\w+|gasless\.\w+|checkout\.cancel|pages_orders\.cancel|mcp\.answer_message"
        r"|pages_console_client_networks\.cancel_network)"
        r" walks x402_due"
    ),
    "The scans of one admission: these are few.": (
        r"door\.scan (searches scans_of_admission, then looks at .*|sorts scans)"
    ),
    "The conflicts of one event, of which some are settled.": (
        r"(door\.read_stats|pages_console_door\.\w+) searches scans_in_conflict, then looks at .*"
    ),
    "Changes of wallets that are due, and wallets that a chain was not asked about: few.": (
        r"worker walks (pending_wallets_due|wallets_unchecked)"
    ),
    "Old events whose people are not erased yet: few, and the oldest ones first.": (
        r"worker walks (events_(to_erase|due|erased)|intents_ended_unpaid)"
    ),
    "The events of one tenant that are over: they come before the others in the page's order.": (
        r"pages_home\.show_tenant searches events_by_status_and_start,"
        r" then looks at end_at start_at"
    ),
    "The orders and admissions of one event that has ended or was canceled.": (
        r"(worker|events\.set_event_status|pages_console_event_forms\.\w+)"
        r" searches (intents|admissions)_of_event\w*,"
        r" then looks at .*"
    ),
    "Postgres chooses by the sizes of both tables. Here there are few offers.": (
        r"(events\.set_event_status|pages_console_event_forms\.cancel_event)"
        r" walks transfers_of_admission"
    ),
    "The same: here there are few orders of x402 clients.": (
        r"x402\.order_\w+ walks intents_x402_unpaid"
    ),
    "The same: here there are few lists of refunds.": (
        r"(pages_console_)?refunds\.\w+ walks listed_payouts_(of_account|pkey)"
        rf"|({_PAYOUTS}|worker) walks listed_payouts_pkey"
    ),
    "The same: here there are few ticket types, and few orders with items or vouchers.": (
        r"(sales\.read_sales|pages_console_events\.\w+|mcp\.answer_message)"
        r" walks (intents_of_voucher|items_of_ticket_type|ticket_types_(handed_out|pkey))"
    ),
    "The same: here there are few notifications of one tenant.": (
        r"notifications\.list_notifications searches notifications_of_tenant, then looks at type"
    ),
    "What was stated for one order, and the offers of one ticket: few a day.": (
        r"(checkout|pages_orders)\.state_refund_address"
        r" (searches refund_addresses_of_intent, then looks at source stated_at"
        r"|sorts refund_addresses)"
        r"|(holders|pages_tickets)\.offer_\w+"
        r" (searches transfers_of_admission, then looks at created_at|sorts transfers)"
    ),
    "Who waits for one event, by network: here few do. The networks of one waiting room.": (
        r".* walks entries_of_(client|site)"
        r"|pages_console_client_networks\.list_networks"
        r" (sorts waiting_room_networks|walks intents_held_by\w*)"
    ),
    "The same: here few orders have answers, because the others ended unpaid.": (
        r"questions\.count_answers walks answers_of_intent"
    ),
    "The same: here there are few scans that were undone.": r"door\.read_stats walks scans_undone",
    "The same: here there are few members.": (
        r"(sessions|pages_console_\w+\.\w+) walks members_of_tenant"
    ),
    "The endpoints of all tenants, at most 20 a tenant: which are enabled, failing, behind.": (
        r"(metrics\.read_metrics|worker) (scans webhook_endpoints|walks webhook_endpoints_\w+)"
    ),
    "The deliveries that somebody asked for and that wait: few.": (
        r"worker (walks webhook_deliveries_waiting|sorts webhook_deliveries)"
    ),
    "A member has 50 apps at most.": (
        r"pages_console_connect(ed_apps)?\.\w+ searches connected_apps_of_\w+, then looks at .*"
    ),
    "Apps that have ended: a day's.": r"worker walks connected_apps_by_end",
    "What clients had in days that are over.": r"worker walks daily_amounts_by_time",
    "Readings of the URLs of apps: those of a minute, and those that are old.": (
        r"\S+ walks app_descriptions_(by_time|kept)"
    ),
    "Of an endpoint, at most 100 deliveries that passed and 1,000 others are kept.": (
        r"(worker|webhooks\.\w+|pages_console_webhooks\.\w+)"
        r" searches webhook_deliveries_of_endpoint, then looks at .*"
    ),
    "The deliveries of one endpoint, of which nearly all were attempted.": (
        r"worker searches webhook_deliveries_of_endpoint, then looks at attempted_at"
    ),
    "The few notifications without a number, the few mails that wait, or were dropped today.": (
        r"metrics\.read_metrics walks (notifications_unnumbered|mails_(waiting|by_end))"
    ),
    "A reconciliation reads the stock of events with a capacity. There are few.": (
        r"reconciliation\.get_reconciliation walks event_stock_pkey"
    ),
    "A reconciliation reads all events of one tenant that have a capacity.": (
        r"reconciliation\.get_reconciliation searches events_of_tenant, then looks at .*capacity.*"
    ),
    "The titles of one tenant's events, in the list's order: a part of a word has no index.": (
        r"((pages_console_)?events\.list_events|pages_console_search\.search)"
        r" searches events_\w+, then looks at (status )?title"
    ),
    "The events of one tenant and of one type; two of three filters that may come together.": (
        r"(pages_console_)?events\.list_events searches events_by_type\w*, then looks at status"
    ),
    "The keys that the people of one tenant have made.": (
        rf"{_KEYS} searches api_keys_of_tenant, then looks at .*revoked_at"
    ),
    "Two tenants: it reads no third one.": (
        r"pages_(home\.show_home|sign_in\.show_sign_in|passwords\.show_forgotten)"
        r" (scans tenants|walks tenants_pkey)"
    ),
    "The ticket types of one event.": (
        r"(public\.list_public_ticket_types|pages_events\.show_event|mcp\.answer_message)"
        r" searches ticket_types_of_event, then looks at status"
    ),
    "The orders of one event. One more index would have to be written with each order.": (
        rf"{_ORDERS} searches intents_of_event, then looks at status"
    ),
    "The few intents of one tenant, or of one event, that are unusual at all.": (
        rf"{_ORDERS} searches intents_(of_event_)?flagged, then looks at .*"
    ),
    "Few of those that owe money wait for the depth of its payment.": (
        r"((pages_console_)?refunds\.list_refunds|mcp\.answer_message)"
        r" searches accounts_owing(_by_amount)?, then looks at .*pending"
    ),
    "Few of the small refunds are pending, or of another chain.": (
        r"(pages_console_)?refunds\.(waive_refunds|(show|waive)_small_refunds)"
        r" searches accounts_owing_by_amount,"
        r" then looks at (chain_id )?(pending )?token_address"
    ),
    "The accounts of one tenant that owe money, of which nearly all are on one chain.": (
        rf"({_PAYOUTS}|refunds\.settle_refunds|pages_console_money(_moving)?\.show_\w+)"
        r" searches accounts_owing(_by_amount)?, then looks at .*pending.*"
    ),
    "Those of them without a payee, and what was stated for them: each waits for a day.": (
        rf"{_PAYOUTS} searches accounts_owing, then looks at (id )?refund_address"
        rf"|{_PAYOUTS} walks refund_addresses_waiting"
    ),
    "The few payments of lists that count as no refund; a tenant's chain has one token.": (
        rf"{_PAYOUTS} searches payout_events_unbooked,"
        r" then looks at (payer payment_id )?token_address"
    ),
    "The lists of one chain that can still be paid, or could until three days ago.": (
        rf"({_PAYOUTS}|worker) (walks|searches) listed_payouts_valid.*"
    ),
    "Few accounts have a refund that was waived or paid: searched by amount.": (
        r"((pages_console_)?refunds\.list_refunds|mcp\.answer_message)"
        r" searches accounts_(waived|refunded)(_by_amount)?, then looks at .*"
    ),
    "What one credential did to one subject, of all that it did or of all that was done to it.": (
        rf"{_LOG} searches trail_(actor|subject)_id,"
        r" then looks at (actor|subject)"
    ),
    "Nearly all admissions are valid; the others have an index of their own.": (
        rf"{_TICKETS} searches admissions_\w+, then looks at (redeemed_at )?status"
    ),
    "Seats that are given back or were sold on: few, as are those of each other status.": (
        rf"{_TICKETS} searches (seats_offered_by_(tenant|event), then looks at .*"
        r"|admissions_\w+, then looks at .*(returned_at|ticket_type_id|void_reason))"
        r"|(worker|reconciliation\.get_reconciliation) walks seats_offered_by_tenant"
    ),
    "Postgres chooses by the sizes of both tables. One row of passkeys names its member.": (
        r"pages_sign_in\.(start_session_by|prove_second)_passkey walks members_of_tenant"
    ),
    "Types with seats that are given back, and orders of such seats that wait for the swap: few.": (
        r"((pages_console_)?\w+\.\w+|worker) (walks|searches) (types_with_offers|pooled_orders)"
        r"(, then looks at .*)?"
    ),
    "The seats that are offered when returns end are sorted, the newest first: few.": (
        r"worker sorts admissions"
    ),
    "Apps of members whose secret a previous key has encrypted: all apps are few.": (
        r"worker scans totps"
    ),
    "The published events of one tenant that have not ended, for the scanner in the console.": (
        r"pages_console_scanner\.show_events searches events_by_status_and_start,"
        r" then looks at end_at start_at"
    ),
    "The admissions of one tenant, or of one event: a part of a name has no index.": (
        rf"({_TICKETS}|mcp\.answer_message) searches admissions_\w+,"
        r" then looks at holder_email holder_name( redeemed_at)?( status)?"
    ),
    "Some of a tenant's admissions, or of an event's, were never used: the others have an index.": (
        rf"{_TICKETS} searches admissions_\w+, then looks at redeemed_at"
    ),
    "An audit walks over all that one tenant has; its addresses are sorted to be compared.": (
        r"reconciliation\.get_reconciliation"
        r" (sorts (payment_intents|collections)|searches intents_of_tenant, .*(address|chain_id).*"
        r"|searches collections_of_intent, then looks at chain_id recipient token_address)"
    ),
    "The wallets of ordinary addresses, a few of each tenant: the worker reads for all of them.": (
        r"worker (walks wallets_owner|scans wallets|sorts wallets)"
    ),
    "What is old is deleted some at a time, the oldest first.": (
        r"worker walks (challenges_by_end|idempotency_keys_by_age|rate_counts_by_minute"
        r"|mails_by_end|sessions_by_\w+"
        r"|invitations_by_end"
        r"|notifications_pkey|webhook_deliveries_pkey|sqlite_autoindex_webhook_deliveries_1)"
    ),
    "Events that begin soon and ask attendees, who are reminded once: few.": (
        r"worker walks events_with_questions"
    ),
    "Orders of which a part was paid, while their buyers pay the rest: few.": (
        r"worker walks intents_paid_in_part"
    ),
    "The vouchers of one event: their status is computed, and a part of a text has no index.": (
        r"(vouchers\.list_vouchers|pages_console_vouchers\.list_vouchers)"
        r" searches vouchers_(of_event|by_tag), then looks at .*"
    ),
    "The vouchers of one event that were used, and their orders: few of an event's.": (
        r"(sales\.read_sales|pages_console_events\.\w+|mcp\.answer_message)"
        r" (sorts vouchers|searches intents_of_voucher, then looks at .*)"
    ),
    "An audit walks over all vouchers of one tenant.": (
        r"reconciliation\.get_reconciliation"
        r" (sorts vouchers|searches vouchers_of_tenant, then looks at .*)"
    ),
    "The ticket types of one event: few are hidden.": (
        r".* searches ticket_types_shown, then looks at hide_without_voucher"
    ),
    "The questions of one event: at most 100.": (
        r"(questions\.list_questions|pages_console_questions\.\w+)"
        r" (sorts questions|searches questions_by_identifier, then looks at .*)"
    ),
    "The same in the order of SQLite's row ids.": r"worker scans notifications",
    "A thousand rows at most are numbered in one transaction.": (
        r"(worker|(\w+_)?(notifications|webhooks)\.\w+) sorts notifications"
        r"|door\.read_manifest sorts admissions"
    ),
    "The few notifications of all tenants that have no number yet.": (
        r"worker walks notifications_unnumbered"
    ),
    "Mails that wait: few, except after an event of many was canceled or moved.": (
        r"(worker|\w*erasure\.erase_\w+|\w+\.(send|cancel)_\w+)"
        r" (walks mails_waiting|sorts mails|searches mails_\w+, then .*)"
    ),
    "The mails that one client asked for, and those about one order: a few a day, for a month.": (
        r"(pages_(lost_links\.ask_for_links|passwords\.ask_for_reset|waiting_list\.join)"
        r"|waiting\.\w+|(pages_orders|checkout)\.send_to_email)"
        r" (sorts mails|searches \w*mails\w*, then looks at created_at( kind)?)"
    ),
    "The mails of one tenant in a day: nearly all that ended were tried.": (
        r"(worker|pages_console_overview\.\w+) searches mails_ended, then looks at attempts"
    ),
    "The orders of one tenant, from the index, for the sum of its seats.": (
        r"(worker|pages_console_overview\.\w+) searches sales_of_event, then looks at status"
    ),
    "The orders of one tenant, of which most hold money on a chain until they are collected.": (
        rf"{_COLLECTIONS} searches ({_HOMES}|intents_of_tenant), then looks at .*"
    ),
    "Postgres chooses by the sizes of both tables. Here one tenant has many of the orders.": (
        rf"reconciliation\.get_reconciliation walks {_HOMES}"
    ),
    "The orders that are watched. For any parameters, Postgres expects a third of all orders.": (
        rf"(worker|{_COLLECTIONS}|{_PAYOUTS}) walks payment_intents_pkey"
    ),
    "Accounts whose logs are searched: few.": r"worker walks accounts_searched",
    "Postgres chooses by the sizes of both tables. Here there are no collections.": (
        rf"({_COLLECTIONS}|{_FIGURES}) walks collections_block"
    ),
    "Postgres chooses by the sizes of both tables. Here there are few ticket types.": (
        r"(worker|intents\.list_intents|pages_console_orders\.list_orders"
        r"|(pages_console_)?exports\.(download|export)_(orders|items)) walks ticket_types_pkey"
    ),
    "The figures of one tenant are sums over its orders, and over what was collected of them.": (
        rf"{_FIGURES} (searches (collections_of_account|money_of_tenant), then looks at .*"
        r"|sorts (order_accounts|collections))"
    ),
    "Few tickets are void: where these are fewer than an event's, Postgres reads all of them.": (
        r"(sales\.read_sales|mcp\.answer_message|pages_console_\w+\.show_\w+)"
        r" walks admissions_void"
    ),
    "The few receivers without an order that hold something: the worker reads them all.": (
        r"worker (scans unassigned_money|walks unassigned_money_pkey)"
    ),
    "Tenants with notifications for which no mails are planned yet.": (
        r"worker walks notification_feeds_to_mail"
    ),
    "Orders that hold stock and refunds that are owed, of everybody: these are counted.": (
        r"metrics\.read_metrics (walks (intents_(awaiting|deep)|accounts_owing(_by_amount)?)"
        r"|sorts payment_intents)"
    ),
    "Once for a chain that was never read, and over the orders on that chain alone.": (
        r"worker (sorts (payment_intents|order_accounts)|searches .* then looks at .*)"
    ),
    "Once when a chain is refused, or is there again: every public page may change.": (
        r"worker scans tenants"
    ),
}
"""What a plan may do, with the reason: a pattern of `where` and the fault."""
