-- The schema, in reading order: organizers, what they sell, orders, money, the door, who is told.
-- 0001_schema.py replaces IDENTITY and BYTES with what SQLite or Postgres calls them.
--
-- Ids are texts with a prefix. Money is in micro-units. Times are in UTC; SQLite stores them as text.
-- The models in ticketing/models say what each column means.

-- Organizers.
-- A tenant is an organizer's account. A wallet says where money goes: there is no private key.

CREATE TABLE tenants (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    revision BIGINT NOT NULL DEFAULT 0,
    listed BOOLEAN NOT NULL DEFAULT FALSE,
    locale TEXT NOT NULL DEFAULT 'en',
    accent_color TEXT,
    contact_email TEXT,
    website TEXT,
    terms_url TEXT,
    privacy_url TEXT,
    legal_address TEXT,
    tax_id TEXT,
    early_confirmation BOOLEAN NOT NULL DEFAULT FALSE,
    payment_tolerance_percent INTEGER NOT NULL DEFAULT 0,
    payment_tolerance_most BIGINT NOT NULL DEFAULT 1500000,
    second_factor_required BOOLEAN NOT NULL DEFAULT FALSE,
    sale_mails TEXT NOT NULL DEFAULT 'none',
    sales_told_at TIMESTAMPTZ
);
CREATE INDEX tenants_told_daily ON tenants (sales_told_at) WHERE sale_mails = 'daily';
CREATE INDEX tenants_by_name ON tenants (LOWER(name));

CREATE TABLE wallets (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    owner TEXT NOT NULL,
    gathering TEXT NOT NULL,
    secret TEXT NOT NULL,
    contract_version INTEGER NOT NULL,
    chain_ids TEXT NOT NULL,
    code_on TEXT NOT NULL,
    no_code_on TEXT NOT NULL,
    unchecked_chains TEXT NOT NULL,
    contract_is_mine BOOLEAN NOT NULL DEFAULT FALSE,
    all_chain_ids TEXT NOT NULL,
    continued_tokens TEXT NOT NULL,
    is_exchange BOOLEAN NOT NULL DEFAULT FALSE,
    least_collected BIGINT,
    credited_at TIMESTAMPTZ,
    recovery_index BIGINT,
    next_index BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX wallets_owner ON wallets (tenant_id, owner);
CREATE UNIQUE INDEX wallets_secret ON wallets (secret);
CREATE INDEX wallets_gathering ON wallets (gathering);
CREATE INDEX wallets_unchecked ON wallets (id) WHERE unchecked_chains <> '';
-- Each of the two tables refers to the other.
ALTER TABLE tenants ADD COLUMN wallet_id TEXT REFERENCES wallets (id);

CREATE TABLE pending_wallets (
    tenant_id TEXT PRIMARY KEY REFERENCES tenants (id),
    owner TEXT NOT NULL,
    chain_ids TEXT NOT NULL,
    code_on TEXT NOT NULL,
    no_code_on TEXT NOT NULL,
    contract_is_mine BOOLEAN NOT NULL DEFAULT FALSE,
    is_exchange BOOLEAN NOT NULL DEFAULT FALSE,
    least_collected BIGINT,
    secret TEXT,
    next_index BIGINT,
    continued_chain_ids TEXT NOT NULL,
    continued_tokens TEXT NOT NULL,
    asked_by TEXT NOT NULL,
    asked_at TIMESTAMPTZ NOT NULL,
    effective_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX pending_wallets_due ON pending_wallets (effective_at);

CREATE TABLE images (
    digest TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    type TEXT NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    bytes BYTES NOT NULL,
    bytes_960 BYTES,
    bytes_480 BYTES,
    bytes_share BYTES,
    created_at TIMESTAMPTZ NOT NULL
);
ALTER TABLE tenants ADD COLUMN logo_digest TEXT REFERENCES images (digest);
CREATE INDEX tenants_by_logo_digest ON tenants (logo_digest) WHERE logo_digest IS NOT NULL;

-- Who signs in, and what they changed.
-- The trail is the audit log. Nobody changes it: see the triggers in 0001_schema.py.

CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    digest TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    last_used_at TIMESTAMPTZ,
    revoked_at TIMESTAMPTZ,
    digest_key TEXT NOT NULL,
    generation INTEGER NOT NULL DEFAULT 0,
    previous_digest TEXT,
    previous_digest_key TEXT,
    previous_expires_at TIMESTAMPTZ
);
CREATE INDEX api_keys_of_tenant ON api_keys (tenant_id, id);

CREATE TABLE members (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    email TEXT,
    password_hash TEXT,
    role TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    disabled_at TIMESTAMPTZ,
    password_set_at TIMESTAMPTZ,
    admin_since TIMESTAMPTZ,
    event_ids TEXT,
    second_factor_since TIMESTAMPTZ,
    UNIQUE (tenant_id, email)
);
CREATE INDEX members_of_tenant ON members (tenant_id, id);

CREATE TABLE invitations (
    id TEXT PRIMARY KEY,
    member_id TEXT NOT NULL REFERENCES members (id),
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ
);
CREATE INDEX invitations_by_end ON invitations (expires_at);
CREATE UNIQUE INDEX invitations_open ON invitations (member_id) WHERE ended_at IS NULL;

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    member_id TEXT NOT NULL REFERENCES members (id),
    created_at TIMESTAMPTZ NOT NULL,
    last_used_at TIMESTAMPTZ NOT NULL,
    address TEXT,
    user_agent TEXT
);
CREATE INDEX sessions_of_member ON sessions (member_id, id);
CREATE INDEX sessions_by_begin ON sessions (created_at);
CREATE INDEX sessions_by_use ON sessions (last_used_at);

CREATE TABLE totps (
    member_id TEXT PRIMARY KEY REFERENCES members (id),
    secret TEXT NOT NULL,
    secret_key_id TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    confirmed_at TIMESTAMPTZ,
    last_step BIGINT NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    attempts_since TIMESTAMPTZ
);

CREATE TABLE recovery_codes (
    member_id TEXT NOT NULL REFERENCES members (id),
    digest TEXT NOT NULL,
    PRIMARY KEY (member_id, digest)
);

CREATE TABLE passkeys (
    id TEXT PRIMARY KEY,
    member_id TEXT NOT NULL REFERENCES members (id),
    credential_id TEXT NOT NULL UNIQUE,
    public_key TEXT NOT NULL,
    sign_count BIGINT NOT NULL,
    name TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    last_used_at TIMESTAMPTZ
);
CREATE INDEX passkeys_of_member ON passkeys (member_id, id);

CREATE TABLE used_challenges (
    digest TEXT PRIMARY KEY,
    ends_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX challenges_by_end ON used_challenges (ends_at);

CREATE TABLE connected_apps (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    member_id TEXT NOT NULL REFERENCES members (id),
    password_generation BIGINT NOT NULL,
    client_id TEXT NOT NULL,
    name TEXT NOT NULL,
    host TEXT,
    redirect_uri TEXT NOT NULL,
    code_challenge TEXT NOT NULL,
    role TEXT NOT NULL,
    generation INTEGER NOT NULL DEFAULT 0,
    created_at TIMESTAMPTZ NOT NULL,
    renewed_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ,
    kept_until TIMESTAMPTZ NOT NULL
);
CREATE INDEX connected_apps_of_tenant ON connected_apps (tenant_id, id) WHERE ended_at IS NULL;
CREATE INDEX connected_apps_of_member ON connected_apps (member_id, id) WHERE ended_at IS NULL;
CREATE INDEX connected_apps_by_end ON connected_apps (kept_until);

CREATE TABLE app_descriptions (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    url TEXT NOT NULL,
    asked_at TIMESTAMPTZ NOT NULL,
    read_at TIMESTAMPTZ,
    waited_ms INTEGER,
    document TEXT
);
CREATE INDEX app_descriptions_of_url ON app_descriptions (url, asked_at);
CREATE INDEX app_descriptions_of_tenant ON app_descriptions (tenant_id, asked_at);
CREATE INDEX app_descriptions_by_time ON app_descriptions (asked_at);
CREATE INDEX app_descriptions_kept ON app_descriptions (read_at) WHERE document IS NOT NULL;

-- before, after: JSON objects of the fields that differ, without personal data (trail_people).
CREATE TABLE trail (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    at TIMESTAMPTZ NOT NULL,
    actor TEXT NOT NULL,
    address TEXT,
    request_id TEXT,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    before TEXT,
    after TEXT NOT NULL
);
CREATE INDEX trail_id ON trail (tenant_id, id);
CREATE INDEX trail_actor_id ON trail (tenant_id, actor, id);
CREATE INDEX trail_subject_id ON trail (tenant_id, subject, id);

CREATE TABLE trail_people (
    entry_id TEXT PRIMARY KEY REFERENCES trail (id),
    subject TEXT NOT NULL,
    before TEXT,
    after TEXT NOT NULL
);
CREATE INDEX trail_people_of_subject ON trail_people (subject);

-- What is on sale.
-- Stock is held + sold <= capacity, changed by one conditional UPDATE.

CREATE TABLE series (
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    slug TEXT NOT NULL,
    title TEXT,
    description TEXT NOT NULL,
    description_html TEXT,
    description_plain TEXT,
    PRIMARY KEY (tenant_id, slug)
);

CREATE TABLE events (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    series TEXT,
    slug TEXT NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    description_html TEXT,
    description_plain TEXT,
    type TEXT NOT NULL,
    venue TEXT,
    online_join_url TEXT,
    image_digest TEXT REFERENCES images (digest),
    locale TEXT,
    start_at TIMESTAMPTZ NOT NULL,
    end_at TIMESTAMPTZ,
    timezone TEXT NOT NULL,
    doors_open_at TIMESTAMPTZ,
    status TEXT NOT NULL,
    visibility TEXT NOT NULL DEFAULT 'public',
    was_published BOOLEAN NOT NULL DEFAULT FALSE,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    capacity BIGINT,
    carts BOOLEAN NOT NULL DEFAULT FALSE,
    order_questions INTEGER NOT NULL DEFAULT 0,
    attendee_questions INTEGER NOT NULL DEFAULT 0,
    questions_reminded_at TIMESTAMPTZ,
    reminder_hours INTEGER,
    reminded_at TIMESTAMPTZ,
    transfers_end_at TIMESTAMPTZ,
    waiting_list_hours INTEGER NOT NULL DEFAULT 24,
    waiting_room TEXT NOT NULL DEFAULT 'auto' CHECK (waiting_room IN ('auto', 'on', 'off')),
    is_queueing BOOLEAN NOT NULL DEFAULT FALSE,
    crowds TEXT,
    deposits_release TEXT NOT NULL DEFAULT 'automatic',
    deposits_run_at TIMESTAMPTZ,
    deposits_running BOOLEAN NOT NULL DEFAULT FALSE,
    erasure_due_at TIMESTAMPTZ,
    erasure_tried_at TIMESTAMPTZ,
    erased_at TIMESTAMPTZ,
    UNIQUE (tenant_id, slug)
);
CREATE INDEX events_of_tenant ON events (tenant_id, id);
CREATE INDEX events_by_start ON events (tenant_id, start_at, id);
CREATE INDEX events_by_status ON events (tenant_id, status, id);
CREATE INDEX events_by_status_and_start ON events (tenant_id, status, start_at, id);
CREATE INDEX events_by_type ON events (tenant_id, type, id);
CREATE INDEX events_by_type_and_start ON events (tenant_id, type, start_at, id);
CREATE INDEX events_to_erase ON events (start_at) WHERE erased_at IS NULL;
CREATE INDEX events_due ON events (erasure_due_at) WHERE erasure_due_at IS NOT NULL;
CREATE INDEX events_erased ON events (erasure_tried_at) WHERE erased_at IS NOT NULL;
CREATE INDEX events_with_questions ON events (start_at)
    WHERE attendee_questions > 0 AND questions_reminded_at IS NULL;
CREATE INDEX events_by_image_digest ON events (image_digest) WHERE image_digest IS NOT NULL;
CREATE INDEX events_of_series ON events (tenant_id, series, status, start_at, id)
    WHERE series IS NOT NULL;
CREATE INDEX events_to_remind ON events (start_at)
    WHERE reminder_hours IS NOT NULL AND reminded_at IS NULL;
CREATE INDEX events_releasing ON events (id) WHERE deposits_running = TRUE;
CREATE INDEX events_coming ON events (start_at, id) WHERE status = 'published';

CREATE TABLE event_stock (
    event_id TEXT PRIMARY KEY REFERENCES events (id),
    capacity BIGINT NOT NULL,
    held BIGINT NOT NULL,
    sold BIGINT NOT NULL,
    waiting BIGINT NOT NULL DEFAULT 0 CHECK (waiting >= 0),
    CHECK (held >= 0 AND sold >= 0 AND held + sold <= capacity)
);

CREATE TABLE ticket_types (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    event_id TEXT NOT NULL REFERENCES events (id),
    name TEXT NOT NULL,
    description TEXT,
    group_heading TEXT,
    position INTEGER NOT NULL DEFAULT 0,
    status TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    event_changes INTEGER NOT NULL DEFAULT 0,
    price_amount BIGINT NOT NULL,
    free_price BOOLEAN NOT NULL DEFAULT FALSE,
    max_price_amount BIGINT,
    chain_id BIGINT,
    chain_ids TEXT,
    deposit_amount BIGINT NOT NULL DEFAULT 0 CHECK (deposit_amount >= 0),
    capacity BIGINT,
    held BIGINT NOT NULL,
    sold BIGINT NOT NULL,
    offered BIGINT NOT NULL DEFAULT 0,
    taken BIGINT NOT NULL DEFAULT 0 CHECK (0 <= taken AND taken <= offered),
    waiting BIGINT NOT NULL DEFAULT 0 CHECK (waiting >= 0),
    idle BIGINT NOT NULL DEFAULT 0 CHECK (idle >= 0),
    returned_wanted_at TIMESTAMPTZ,
    min_per_order INTEGER NOT NULL,
    max_per_order INTEGER NOT NULL,
    sales_start_at TIMESTAMPTZ,
    sales_end_at TIMESTAMPTZ,
    admission BOOLEAN NOT NULL DEFAULT TRUE,
    requires_ticket BOOLEAN NOT NULL DEFAULT FALSE,
    requires_key BOOLEAN NOT NULL DEFAULT FALSE,
    require_voucher BOOLEAN NOT NULL DEFAULT FALSE,
    hide_without_voucher BOOLEAN NOT NULL DEFAULT FALSE,
    transferable BOOLEAN NOT NULL,
    returns TEXT NOT NULL DEFAULT 'none',
    return_fee_percent INTEGER NOT NULL DEFAULT 0,
    allow_waitinglist BOOLEAN NOT NULL DEFAULT FALSE,
    CHECK (held >= 0 AND sold >= 0 AND (capacity IS NULL OR held + sold <= capacity)),
    CHECK (price_amount = 0 OR chain_id IS NOT NULL)
);
CREATE INDEX ticket_types_of_event ON ticket_types (event_id, id);
CREATE INDEX ticket_types_of_tenant ON ticket_types (tenant_id, id);
CREATE INDEX ticket_types_in_order ON ticket_types (event_id, position, id);
CREATE INDEX ticket_types_shown ON ticket_types (event_id, status, position, id);
CREATE INDEX ticket_types_handed_out ON ticket_types (tenant_id) WHERE NOT admission;
CREATE INDEX types_with_offers ON ticket_types (id) WHERE offered > 0;
CREATE INDEX types_waited_for ON ticket_types (event_id) WHERE waiting > 0;
CREATE INDEX types_with_deposits ON ticket_types (event_id) WHERE deposit_amount > 0;

CREATE TABLE vouchers (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    event_id TEXT NOT NULL REFERENCES events (id),
    code TEXT NOT NULL,
    max_usages INTEGER NOT NULL,
    held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
    redeemed INTEGER NOT NULL DEFAULT 0 CHECK (redeemed >= 0),
    min_usages INTEGER NOT NULL DEFAULT 1,
    valid_until TIMESTAMPTZ,
    price_mode TEXT NOT NULL,
    value BIGINT,
    ticket_ids TEXT,
    tag TEXT,
    comment TEXT,
    disabled_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CHECK (held + redeemed <= max_usages)
);
CREATE UNIQUE INDEX vouchers_by_code ON vouchers (event_id, code);
CREATE INDEX vouchers_of_tenant ON vouchers (tenant_id, id);
CREATE INDEX vouchers_of_event ON vouchers (event_id, id);
CREATE INDEX vouchers_by_tag ON vouchers (event_id, tag, id);

CREATE TABLE questions (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    event_id TEXT NOT NULL REFERENCES events (id),
    identifier TEXT NOT NULL,
    question TEXT NOT NULL,
    help_text TEXT,
    type TEXT NOT NULL,
    required BOOLEAN NOT NULL,
    ask TEXT NOT NULL,
    position INTEGER NOT NULL,
    ticket_ids TEXT,
    show_at_door BOOLEAN NOT NULL,
    archived_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX questions_by_identifier ON questions (event_id, identifier);

CREATE TABLE question_options (
    id TEXT PRIMARY KEY,
    question_id TEXT NOT NULL REFERENCES questions (id),
    position INTEGER NOT NULL,
    label TEXT NOT NULL
);
CREATE INDEX options_of_question ON question_options (question_id);

-- Orders and their seats.
-- A row of payment_intents is an order. Each of its seats becomes an admission when it is paid.

CREATE TABLE payment_intents (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    event_id TEXT NOT NULL REFERENCES events (id),
    status TEXT NOT NULL,
    flags INTEGER NOT NULL,
    quantity INTEGER NOT NULL,
    free_seats INTEGER NOT NULL,
    pooled INTEGER NOT NULL DEFAULT 0,
    amount BIGINT NOT NULL,
    tolerance BIGINT NOT NULL DEFAULT 0,
    currency TEXT NOT NULL,
    voucher_id TEXT REFERENCES vouchers (id),
    buyer_email TEXT,
    buyer_name TEXT,
    locale TEXT,
    sold_by TEXT,
    x402 BOOLEAN NOT NULL DEFAULT FALSE,
    resale BOOLEAN NOT NULL DEFAULT FALSE,
    chain_id BIGINT,
    token_address TEXT,
    networks TEXT,
    wallet_id TEXT REFERENCES wallets (id),
    address_index BIGINT,
    address TEXT UNIQUE,
    released BIGINT NOT NULL DEFAULT 0,
    early BOOLEAN NOT NULL DEFAULT FALSE,
    paid_block BIGINT,
    created_at TIMESTAMPTZ NOT NULL,
    hold_until TIMESTAMPTZ NOT NULL,
    hold_extended BOOLEAN NOT NULL DEFAULT FALSE,
    grace_until TIMESTAMPTZ,
    expires_at TIMESTAMPTZ NOT NULL,
    confirmed_at TIMESTAMPTZ,
    ended_at TIMESTAMPTZ,
    set_aside_until TIMESTAMPTZ,
    deposits_tried_at TIMESTAMPTZ,
    held_by TEXT,
    held_by_site TEXT,
    idempotency_digest TEXT,
    body_digest TEXT,
    stored_bytes INTEGER NOT NULL DEFAULT 1,
    books_version INTEGER NOT NULL DEFAULT 0,
    payees_version INTEGER NOT NULL DEFAULT 0,
    moves INTEGER NOT NULL DEFAULT 0,
    link_generation INTEGER NOT NULL DEFAULT 0,
    UNIQUE (wallet_id, address_index)
);
CREATE INDEX intents_of_event ON payment_intents (event_id, id);
CREATE INDEX intents_by_status ON payment_intents (tenant_id, status, id);
CREATE INDEX intents_awaiting ON payment_intents (chain_id, expires_at)
    WHERE status = 'awaiting_payment';
CREATE INDEX intents_deep ON payment_intents (chain_id, paid_block)
    WHERE status IN ('processing', 'reversed');
CREATE INDEX intents_flagged ON payment_intents (LOWER(tenant_id), id) WHERE flags <> 0;
CREATE INDEX intents_of_event_flagged ON payment_intents (event_id, id) WHERE flags <> 0;
CREATE INDEX intents_of_tenant ON payment_intents (tenant_id, id, address);
CREATE INDEX intents_canceled ON payment_intents (chain_id, ended_at) WHERE status = 'canceled';
CREATE INDEX intents_held_by ON payment_intents (held_by, created_at) WHERE held_by IS NOT NULL;
CREATE INDEX intents_held_by_site ON payment_intents (held_by_site, created_at)
    WHERE held_by_site IS NOT NULL;
CREATE INDEX sales_of_event ON payment_intents (event_id, confirmed_at, quantity, amount, status)
    WHERE status = 'confirmed';
CREATE INDEX intents_of_buyer ON payment_intents (tenant_id, LOWER(buyer_email), id)
    WHERE buyer_email IS NOT NULL;
CREATE UNIQUE INDEX intents_x402_keys ON payment_intents (idempotency_digest)
    WHERE idempotency_digest IS NOT NULL;
CREATE INDEX intents_x402_unpaid ON payment_intents (event_id, status, x402) WHERE x402 = TRUE;
CREATE INDEX intents_set_aside ON payment_intents (chain_id, set_aside_until)
    WHERE set_aside_until IS NOT NULL;
CREATE INDEX intents_of_voucher ON payment_intents (voucher_id) WHERE voucher_id IS NOT NULL;
CREATE INDEX intents_unpaid_of_event ON payment_intents (event_id, expires_at)
    WHERE status = 'awaiting_payment';
CREATE INDEX intents_early ON payment_intents (chain_id, paid_block) WHERE early;
CREATE INDEX forgiven_of_tenant ON payment_intents (tenant_id, confirmed_at) WHERE tolerance > 0;
CREATE INDEX intents_paid_in_part ON payment_intents (id)
    WHERE status = 'awaiting_payment' AND books_version > 0;
CREATE INDEX pooled_orders ON payment_intents (id) WHERE pooled > 0;
CREATE INDEX orders_with_deposits ON payment_intents (event_id, deposits_tried_at)
    WHERE deposits_tried_at IS NOT NULL;
CREATE INDEX orders_of_device ON payment_intents (sold_by) WHERE sold_by IS NOT NULL;
CREATE INDEX intents_ended_unpaid ON payment_intents (expires_at)
    WHERE stored_bytes > 0 AND books_version = 0 AND status IN ('expired', 'canceled');

CREATE TABLE intent_items (
    intent_id TEXT NOT NULL REFERENCES payment_intents (id),
    position INTEGER NOT NULL,
    ticket_type_id TEXT NOT NULL REFERENCES ticket_types (id),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    list_amount BIGINT NOT NULL CHECK (list_amount >= 0),
    unit_amount BIGINT NOT NULL CHECK (unit_amount >= 0),
    admission BOOLEAN NOT NULL,
    vouchered BOOLEAN NOT NULL,
    return_fee_percent INTEGER,
    deposit_amount BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (intent_id, position)
);
CREATE INDEX items_of_ticket_type ON intent_items (ticket_type_id, intent_id);

CREATE TABLE admissions (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    event_id TEXT NOT NULL REFERENCES events (id),
    ticket_type_id TEXT NOT NULL REFERENCES ticket_types (id),
    intent_id TEXT REFERENCES payment_intents (id),
    code TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    generation INTEGER NOT NULL DEFAULT 1,
    holder_name TEXT,
    holder_email TEXT,
    named_at TIMESTAMPTZ,
    transferred_at TIMESTAMPTZ,
    redeemed_at TIMESTAMPTZ,
    redeemed_gate TEXT,
    redeemed_by TEXT,
    voided_at TIMESTAMPTZ,
    void_reason TEXT,
    void_refund BOOLEAN NOT NULL DEFAULT FALSE,
    qr TEXT,
    change_number BIGINT,
    amount BIGINT NOT NULL,
    released BIGINT NOT NULL DEFAULT 0,
    return_amount BIGINT,
    returned_at TIMESTAMPTZ,
    deposit_released BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX admissions_of_event ON admissions (event_id, id);
CREATE INDEX admissions_of_event_suspended ON admissions (event_id, id) WHERE status = 'suspended';
CREATE INDEX admissions_of_intent ON admissions (intent_id, status);
CREATE INDEX admissions_of_tenant ON admissions (tenant_id, id);
CREATE INDEX admissions_suspended ON admissions (tenant_id, id) WHERE status = 'suspended';
CREATE INDEX admissions_changed ON admissions (event_id, change_number);
CREATE INDEX admissions_of_event_void ON admissions (event_id, id) WHERE status = 'void';
CREATE INDEX admissions_redeemed ON admissions (tenant_id, id) WHERE redeemed_at IS NOT NULL;
CREATE INDEX admissions_of_ticket_type ON admissions (ticket_type_id, status);
CREATE INDEX offered_seats ON admissions (ticket_type_id, returned_at, id)
    WHERE returned_at IS NOT NULL;
CREATE INDEX seats_offered_by_tenant ON admissions (tenant_id, id) WHERE returned_at IS NOT NULL;
CREATE INDEX seats_offered_by_event ON admissions (event_id, id) WHERE returned_at IS NOT NULL;
CREATE INDEX admissions_void ON admissions (tenant_id, id, voided_at, intent_id, status)
    WHERE status = 'void';
CREATE INDEX admissions_of_event_redeemed ON admissions (event_id, id, ticket_type_id, redeemed_at)
    WHERE redeemed_at IS NOT NULL;
CREATE INDEX guests_of_event ON admissions (event_id, id, status, ticket_type_id, intent_id)
    WHERE intent_id IS NULL;

CREATE TABLE answers (
    id TEXT PRIMARY KEY,
    question_id TEXT NOT NULL REFERENCES questions (id),
    intent_id TEXT REFERENCES payment_intents (id),
    admission_id TEXT REFERENCES admissions (id),
    value TEXT NOT NULL,
    answered_at TIMESTAMPTZ NOT NULL,
    CHECK ((intent_id IS NULL) <> (admission_id IS NULL))
);
CREATE UNIQUE INDEX answers_of_intent ON answers (intent_id, question_id)
    WHERE intent_id IS NOT NULL;
CREATE UNIQUE INDEX answers_of_admission ON answers (admission_id, question_id)
    WHERE admission_id IS NOT NULL;
CREATE INDEX answers_to_question ON answers (question_id);

CREATE TABLE transfers (
    id TEXT PRIMARY KEY,
    admission_id TEXT NOT NULL REFERENCES admissions (id),
    generation INTEGER NOT NULL,
    holder_name TEXT,
    holder_email TEXT,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    accepted_at TIMESTAMPTZ,
    ended_at TIMESTAMPTZ
);
CREATE INDEX transfers_of_admission ON transfers (admission_id, id);

CREATE TABLE order_emails (
    intent_id TEXT NOT NULL REFERENCES payment_intents (id),
    place INTEGER NOT NULL CHECK (place IN (1, 2, 3)),
    email TEXT NOT NULL,
    set_by TEXT NOT NULL CHECK (set_by IN ('buyer', 'organizer')),
    at TIMESTAMPTZ NOT NULL,
    counts_from TIMESTAMPTZ,
    salt TEXT,
    organizer_at TIMESTAMPTZ,
    put_back_at TIMESTAMPTZ,
    PRIMARY KEY (intent_id, place)
);

CREATE TABLE billing (
    intent_id TEXT PRIMARY KEY REFERENCES payment_intents (id),
    name TEXT,
    address TEXT,
    tax_id TEXT,
    changed_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE waiting_list_entries (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    event_id TEXT NOT NULL REFERENCES events (id),
    ticket_type_id TEXT NOT NULL REFERENCES ticket_types (id),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    email TEXT,
    mailbox TEXT,
    name TEXT,
    locale TEXT,
    status TEXT NOT NULL,
    client TEXT,
    client_site TEXT,
    intent_id TEXT UNIQUE REFERENCES payment_intents (id),
    created_at TIMESTAMPTZ NOT NULL,
    confirmed_at TIMESTAMPTZ,
    offered_at TIMESTAMPTZ,
    offer_expires_at TIMESTAMPTZ,
    passed_over_at TIMESTAMPTZ,
    idle_since TIMESTAMPTZ
);
CREATE UNIQUE INDEX one_open_entry ON waiting_list_entries (ticket_type_id, mailbox)
    WHERE status IN ('unconfirmed', 'waiting', 'offered');
CREATE INDEX entries_of_type ON waiting_list_entries (ticket_type_id);
CREATE INDEX entries_of_event ON waiting_list_entries (event_id, id);
CREATE INDEX entries_that_wait ON waiting_list_entries (ticket_type_id, confirmed_at, id)
    WHERE status = 'waiting';
CREATE INDEX entries_unconfirmed ON waiting_list_entries (created_at) WHERE status = 'unconfirmed';
CREATE INDEX entries_offered ON waiting_list_entries (intent_id) WHERE status = 'offered';
CREATE INDEX entries_of_client ON waiting_list_entries (client, event_id)
    WHERE status IN ('unconfirmed', 'waiting', 'offered');
CREATE INDEX entries_of_site ON waiting_list_entries (client_site, event_id)
    WHERE status IN ('unconfirmed', 'waiting', 'offered');
CREATE INDEX open_offers ON waiting_list_entries (event_id) WHERE status = 'offered';
CREATE INDEX ended_offers ON waiting_list_entries (event_id, offered_at)
    WHERE offered_at IS NOT NULL AND status <> 'offered';

-- Money that came in.
-- A transfer on a chain is a payment of the order whose address it reached. It counts for the
-- order's account in that token on that chain.

CREATE TABLE chains (
    chain_id BIGINT PRIMARY KEY,
    token_address TEXT NOT NULL,
    decimals INTEGER,
    symbol TEXT,
    refusal TEXT,
    block_number BIGINT,
    block_hash TEXT,
    block_time TIMESTAMPTZ,
    looked_at TIMESTAMPTZ,
    domain_name TEXT,
    domain_version TEXT,
    gap_after BIGINT,
    gap_seen_at TIMESTAMPTZ,
    read_from BIGINT,
    has_receivers BOOLEAN,
    awaited_until TIMESTAMPTZ,
    strays_looked_at TIMESTAMPTZ,
    strays_block BIGINT,
    facilitator_refusal TEXT,
    facilitator_asked_at TIMESTAMPTZ
);

CREATE TABLE chain_blocks (
    chain_id BIGINT NOT NULL REFERENCES chains (chain_id),
    number BIGINT NOT NULL,
    hash TEXT NOT NULL,
    time TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (chain_id, number)
);

-- The books of an order on each chain and in each token that it may be, or was, paid in. Its home,
-- the one that it is paid in, is the row with the order's own chain and token.
-- From tenant_id to address: copies of what never changes, so that no sum needs a join.
-- watch_until, sold_at, collectable_at: copies of the order's state.
CREATE TABLE order_accounts (
    id IDENTITY,
    intent_id TEXT NOT NULL REFERENCES payment_intents (id),
    chain_id BIGINT NOT NULL,
    token_address TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    wallet_id TEXT NOT NULL,
    address TEXT NOT NULL,
    symbol TEXT,
    token_decimals INTEGER NOT NULL,
    required_confirmations INTEGER NOT NULL,
    early_confirmations INTEGER,
    is_option BOOLEAN NOT NULL,
    in_reach BOOLEAN NOT NULL,
    received BIGINT NOT NULL DEFAULT 0,
    final BIGINT NOT NULL DEFAULT 0,
    kept BIGINT NOT NULL DEFAULT 0,
    open BIGINT NOT NULL DEFAULT 0,
    due BIGINT NOT NULL DEFAULT 0,
    pending BIGINT NOT NULL DEFAULT 0,
    out_of_reach BIGINT NOT NULL DEFAULT 0,
    refunded BIGINT NOT NULL DEFAULT 0,
    waived BIGINT NOT NULL DEFAULT 0,
    pending_block BIGINT,
    asked_back_at TIMESTAMPTZ,
    refund_address TEXT,
    by_hand_at TIMESTAMPTZ,
    watch_until TIMESTAMPTZ,
    sold_at TIMESTAMPTZ,
    collectable_at TIMESTAMPTZ,
    checked_block BIGINT,
    search_to BIGINT,
    swept_at TIMESTAMPTZ,
    swept_balance TEXT,
    UNIQUE (intent_id, chain_id, token_address),
    CHECK (received = kept + open + due + out_of_reach + refunded + waived
           OR received < refunded + waived)
);
-- No index has all accounts of a chain: SQLite would read them by it instead of the few watched.
CREATE INDEX accounts_of_address ON order_accounts (address, chain_id, token_address);
CREATE INDEX accounts_live ON order_accounts (chain_id) WHERE watch_until IS NULL;
CREATE INDEX accounts_watched ON order_accounts (chain_id, watch_until)
    WHERE watch_until IS NOT NULL;
CREATE INDEX accounts_unswept ON order_accounts (chain_id, watch_until)
    WHERE swept_at IS NULL AND watch_until IS NOT NULL;
CREATE INDEX accounts_swept ON order_accounts (chain_id, swept_at) WHERE swept_at IS NOT NULL;
CREATE INDEX accounts_searched ON order_accounts (chain_id) WHERE search_to IS NOT NULL;
CREATE INDEX accounts_not_final ON order_accounts (chain_id, pending_block) WHERE received > final;
CREATE INDEX accounts_out_of_reach ON order_accounts (chain_id) WHERE NOT in_reach;
CREATE INDEX accounts_owing ON order_accounts (tenant_id, intent_id, id) WHERE due > 0;
CREATE INDEX accounts_owing_by_amount ON order_accounts
    (tenant_id, (pending - due), intent_id, id)
    WHERE due > 0;
CREATE INDEX accounts_waived ON order_accounts (tenant_id, intent_id, id)
    WHERE due = 0 AND waived > 0;
CREATE INDEX accounts_waived_by_amount ON order_accounts (tenant_id, (0 - waived), intent_id, id)
    WHERE due = 0 AND waived > 0;
CREATE INDEX accounts_refunded ON order_accounts (tenant_id, intent_id, id)
    WHERE due = 0 AND waived = 0 AND refunded > 0;
CREATE INDEX accounts_refunded_by_amount ON order_accounts
    (tenant_id, (0 - refunded), intent_id, id)
    WHERE due = 0 AND waived = 0 AND refunded > 0;
CREATE INDEX money_of_tenant ON order_accounts
    (tenant_id, chain_id, token_address, id, collectable_at, in_reach, received, kept, open, due,
     out_of_reach, refunded, waived, wallet_id)
    WHERE received > 0 OR refunded > 0;
CREATE INDEX money_of_event ON order_accounts
    (event_id, sold_at, received, kept, open, due, refunded, waived)
    WHERE received > 0 OR refunded > 0;

CREATE TABLE payments (
    id TEXT PRIMARY KEY,
    intent_id TEXT NOT NULL REFERENCES payment_intents (id),
    account_id BIGINT NOT NULL REFERENCES order_accounts (id),
    chain_id BIGINT NOT NULL,
    tx_hash TEXT NOT NULL,
    log_index INTEGER NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    block_time TIMESTAMPTZ NOT NULL,
    sender TEXT NOT NULL,
    amount BIGINT NOT NULL,
    dust BIGINT NOT NULL,
    canonical BOOLEAN NOT NULL,
    seen_at TIMESTAMPTZ NOT NULL,
    honoured BOOLEAN,
    proven TEXT CHECK (proven IN ('signer', 'wallet')),
    proof_due_at TIMESTAMPTZ,
    witnessed BOOLEAN,
    UNIQUE (chain_id, tx_hash, log_index)
);
CREATE INDEX payments_of_block ON payments (chain_id, block_number);
CREATE INDEX payments_of_intent ON payments (intent_id, canonical, amount, dust, chain_id);
CREATE INDEX payments_in_order ON payments (intent_id, block_number, log_index, id);
CREATE INDEX payments_of_account ON payments (account_id, block_number, log_index, id);
CREATE INDEX payments_to_prove ON payments (chain_id, proof_due_at) WHERE proof_due_at IS NOT NULL;
CREATE INDEX payments_of_sender ON payments (sender, block_time);
CREATE INDEX payments_unwitnessed ON payments (chain_id, block_number)
    WHERE canonical AND witnessed IS NULL;

CREATE TABLE payment_reports (
    intent_id TEXT NOT NULL REFERENCES payment_intents (id),
    chain_id BIGINT NOT NULL,
    tx_hash TEXT NOT NULL,
    account TEXT NOT NULL,
    told_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (intent_id, chain_id, tx_hash, account)
);

CREATE TABLE unassigned_money (
    wallet_id TEXT NOT NULL REFERENCES wallets (id),
    chain_id BIGINT NOT NULL,
    token_address TEXT NOT NULL,
    address_index BIGINT NOT NULL,
    amount BIGINT NOT NULL,
    seen_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (wallet_id, chain_id, token_address, address_index)
);

CREATE TABLE skipped_indexes (
    wallet_id TEXT NOT NULL REFERENCES wallets (id),
    first BIGINT NOT NULL,
    next BIGINT NOT NULL,
    skipped_at TIMESTAMPTZ NOT NULL,
    named BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (wallet_id, first)
);

CREATE TABLE collections (
    id TEXT PRIMARY KEY,
    intent_id TEXT NOT NULL REFERENCES payment_intents (id),
    account_id BIGINT NOT NULL REFERENCES order_accounts (id),
    chain_id BIGINT NOT NULL,
    token_address TEXT NOT NULL,
    tx_hash TEXT NOT NULL,
    log_index INTEGER NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    block_time TIMESTAMPTZ NOT NULL,
    recipient TEXT NOT NULL,
    amount BIGINT NOT NULL,
    dust BIGINT NOT NULL DEFAULT 0,
    canonical BOOLEAN NOT NULL,
    seen_at TIMESTAMPTZ NOT NULL,
    UNIQUE (chain_id, tx_hash, log_index)
);
CREATE INDEX collections_block ON collections (chain_id, block_number) WHERE canonical;
CREATE INDEX collections_of_intent ON collections (intent_id);
CREATE INDEX collections_of_account ON collections (account_id, canonical, amount);

CREATE TABLE x402_settlements (
    chain_id BIGINT NOT NULL,
    token_address TEXT NOT NULL,
    payer TEXT NOT NULL,
    nonce TEXT NOT NULL,
    intent_id TEXT NOT NULL REFERENCES payment_intents (id),
    value TEXT NOT NULL,
    valid_after BIGINT NOT NULL,
    valid_before BIGINT NOT NULL,
    signature TEXT NOT NULL,
    state TEXT NOT NULL,
    calls INTEGER NOT NULL,
    next_at TIMESTAMPTZ NOT NULL,
    tx_hash TEXT,
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (chain_id, token_address, payer, nonce)
);
CREATE UNIQUE INDEX x402_settling ON x402_settlements (intent_id) WHERE state = 'settling';
CREATE INDEX x402_of_intent ON x402_settlements (intent_id);
CREATE INDEX x402_due ON x402_settlements (chain_id, next_at) WHERE state = 'settling';

CREATE TABLE exchange_rates (
    currency TEXT PRIMARY KEY,
    micro_dollars BIGINT NOT NULL,
    published_on TIMESTAMPTZ NOT NULL,
    read_at TIMESTAMPTZ NOT NULL
);

-- Money that goes back.
-- refund_addresses has the payees. A list asks a wallet to pay; the chain says what it paid.

CREATE TABLE refund_addresses (
    id TEXT PRIMARY KEY,
    intent_id TEXT NOT NULL REFERENCES payment_intents (id),
    account_id BIGINT NOT NULL REFERENCES order_accounts (id),
    address TEXT NOT NULL,
    stated_at TIMESTAMPTZ NOT NULL,
    replaced_at TIMESTAMPTZ,
    source TEXT NOT NULL DEFAULT 'stated'
        CHECK (source IN ('signer', 'wallet', 'stated', 'entered')),
    waits BOOLEAN NOT NULL DEFAULT FALSE,
    effective_at TIMESTAMPTZ,
    ended_at TIMESTAMPTZ,
    confirm_salt TEXT,
    told_at TIMESTAMPTZ,
    decided_by TEXT,
    cautions TEXT NOT NULL DEFAULT '',
    warned_at TIMESTAMPTZ
);
CREATE INDEX refund_addresses_of_intent ON refund_addresses (intent_id, id);
CREATE INDEX refund_addresses_of_account ON refund_addresses (account_id, id);
CREATE INDEX refund_addresses_waiting ON refund_addresses (effective_at, intent_id) WHERE waits;

CREATE TABLE refunds (
    id TEXT PRIMARY KEY,
    intent_id TEXT NOT NULL REFERENCES payment_intents (id),
    account_id BIGINT NOT NULL REFERENCES order_accounts (id),
    chain_id BIGINT NOT NULL,
    tx_hash TEXT NOT NULL,
    log_index INTEGER NOT NULL,
    recipient TEXT NOT NULL,
    amount BIGINT NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    canonical BOOLEAN NOT NULL DEFAULT TRUE,
    created_at TIMESTAMPTZ NOT NULL,
    checked BOOLEAN NOT NULL DEFAULT FALSE,
    sender TEXT NOT NULL,
    UNIQUE (intent_id, chain_id, tx_hash, log_index)
);
CREATE INDEX refunds_of_intent ON refunds (intent_id);
CREATE INDEX refunds_of_account ON refunds (account_id);
CREATE INDEX refunds_of_block ON refunds (chain_id, block_number);
CREATE INDEX refunds_of_log ON refunds (chain_id, tx_hash, log_index);
CREATE INDEX refunds_to_check ON refunds (chain_id, id) WHERE canonical AND NOT checked;

CREATE TABLE waivers (
    id TEXT PRIMARY KEY,
    intent_id TEXT NOT NULL REFERENCES payment_intents (id),
    account_id BIGINT NOT NULL REFERENCES order_accounts (id),
    amount BIGINT NOT NULL,
    received BIGINT NOT NULL,
    block_number BIGINT NOT NULL,
    reason TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX waivers_of_account ON waivers (account_id);

CREATE TABLE listed_payouts (
    payer TEXT NOT NULL,
    payment_id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    atomic_amount TEXT NOT NULL,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    intent_id TEXT NOT NULL REFERENCES payment_intents (id),
    chain_id BIGINT NOT NULL,
    token_address TEXT NOT NULL,
    amount BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    valid_before TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (payer, payment_id, recipient, atomic_amount)
);
CREATE INDEX listed_payouts_of_account ON listed_payouts (intent_id, chain_id, valid_before);
CREATE INDEX listed_payouts_valid ON listed_payouts (chain_id, valid_before);
CREATE INDEX listed_payouts_id ON listed_payouts (payment_id);

CREATE TABLE passed_ids (
    payer TEXT NOT NULL,
    payment_id TEXT NOT NULL,
    intent_id TEXT NOT NULL REFERENCES payment_intents (id),
    reason TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (payer, payment_id)
);
CREATE INDEX passed_ids_of_intent ON passed_ids (intent_id);

CREATE TABLE payout_events (
    payer TEXT NOT NULL,
    payment_id TEXT NOT NULL,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    intent_id TEXT NOT NULL REFERENCES payment_intents (id),
    chain_id BIGINT NOT NULL,
    token_address TEXT NOT NULL,
    tx_hash TEXT NOT NULL,
    log_index INTEGER NOT NULL,
    transfer_log INTEGER NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    block_time TIMESTAMPTZ NOT NULL,
    paid_to TEXT NOT NULL,
    paid_amount TEXT NOT NULL,
    restored BOOLEAN NOT NULL DEFAULT FALSE,
    waits BOOLEAN NOT NULL DEFAULT TRUE,
    unbooked TEXT,
    tried_at TIMESTAMPTZ,
    PRIMARY KEY (payer, payment_id)
);
CREATE INDEX payout_events_of_intent ON payout_events (intent_id);
CREATE INDEX payout_events_of_block ON payout_events (chain_id, block_number);
CREATE INDEX payout_events_waiting ON payout_events (chain_id, payment_id) WHERE waits;
CREATE INDEX payout_events_unbooked ON payout_events (tenant_id, chain_id, block_number)
    WHERE unbooked IS NOT NULL;

CREATE TABLE payout_cursors (
    chain_id BIGINT PRIMARY KEY,
    block_number BIGINT NOT NULL,
    block_hash TEXT NOT NULL,
    block_time TIMESTAMPTZ NOT NULL,
    restored_at TIMESTAMPTZ
);

-- The door.
-- Scans are append-only, as the trail is.

CREATE TABLE ticket_keys (
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    number INTEGER NOT NULL,
    public_key TEXT NOT NULL,
    secret_key_id TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, number),
    UNIQUE (tenant_id, secret_key_id)
);

CREATE TABLE event_doors (
    event_id TEXT PRIMARY KEY REFERENCES events (id),
    salt TEXT NOT NULL,
    last_change BIGINT NOT NULL
);

CREATE TABLE door_devices (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    event_id TEXT NOT NULL REFERENCES events (id),
    name TEXT NOT NULL,
    gate TEXT,
    show_names BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    pairing_digest TEXT UNIQUE,
    pairing_expires_at TIMESTAMPTZ NOT NULL,
    paired_at TIMESTAMPTZ,
    token_digest TEXT,
    token_digest_key TEXT,
    last_seen_at TIMESTAMPTZ,
    unsynced INTEGER,
    revoked_at TIMESTAMPTZ,
    scans INTEGER NOT NULL DEFAULT 0,
    by_id_minute BIGINT NOT NULL DEFAULT 0,
    by_id_scans INTEGER NOT NULL DEFAULT 0,
    member_id TEXT,
    sells BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE INDEX door_devices_of_event ON door_devices (event_id, id);
CREATE INDEX devices_of_member ON door_devices (member_id) WHERE member_id IS NOT NULL;

CREATE TABLE scans (
    id TEXT PRIMARY KEY,
    event_id TEXT NOT NULL REFERENCES events (id),
    credential TEXT NOT NULL,
    nonce TEXT NOT NULL,
    kind TEXT NOT NULL,
    content_digest TEXT NOT NULL,
    admission_id TEXT REFERENCES admissions (id),
    generation INTEGER,
    verdict TEXT NOT NULL,
    outcome TEXT NOT NULL,
    decided TEXT,
    undoes TEXT REFERENCES scans (id),
    gate TEXT,
    device_at TIMESTAMPTZ NOT NULL,
    scanned_at TIMESTAMPTZ NOT NULL,
    received_at TIMESTAMPTZ NOT NULL,
    first_at TIMESTAMPTZ,
    first_gate TEXT,
    UNIQUE (event_id, nonce, credential)
);
CREATE INDEX scans_of_event ON scans (event_id, id);
CREATE INDEX scans_of_admission ON scans (admission_id, id);
CREATE INDEX scans_in_conflict ON scans (event_id, id) WHERE outcome = 'conflict';
CREATE UNIQUE INDEX scans_undone ON scans (undoes) WHERE undoes IS NOT NULL;

-- What happened, and who is told.
-- A fact is recorded in the transaction that makes it true. Webhooks and mails follow from it.

-- No foreign key to tenants: Postgres would check it again for each order.
CREATE TABLE notifications (
    position IDENTITY,
    id TEXT NOT NULL UNIQUE,
    tenant_id TEXT NOT NULL,
    sequence BIGINT,
    type TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    data TEXT NOT NULL,
    intent_id TEXT
);
CREATE UNIQUE INDEX notifications_of_tenant ON notifications (tenant_id, sequence)
    WHERE sequence IS NOT NULL;
CREATE INDEX notifications_unnumbered ON notifications (tenant_id, position) WHERE sequence IS NULL;
CREATE INDEX notifications_of_type ON notifications (tenant_id, type, sequence)
    WHERE sequence IS NOT NULL;
CREATE INDEX notifications_of_intent ON notifications (intent_id, position)
    WHERE intent_id IS NOT NULL;

CREATE TABLE notification_feeds (
    tenant_id TEXT PRIMARY KEY REFERENCES tenants (id),
    last_sequence BIGINT NOT NULL,
    forgotten_sequence BIGINT NOT NULL,
    mailed_sequence BIGINT NOT NULL,
    restored_sequence BIGINT
);
CREATE INDEX notification_feeds_to_mail ON notification_feeds (tenant_id)
    WHERE mailed_sequence < last_sequence;

CREATE TABLE webhook_endpoints (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    url TEXT NOT NULL,
    types TEXT NOT NULL,
    secret_key_id TEXT NOT NULL,
    secret TEXT NOT NULL,
    previous_secret TEXT,
    previous_expires_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    sequence BIGINT NOT NULL,
    delivered BIGINT NOT NULL,
    attempts INTEGER NOT NULL,
    refusals INTEGER NOT NULL,
    failing_since TIMESTAMPTZ,
    next_attempt_at TIMESTAMPTZ,
    warned_at TIMESTAMPTZ,
    disabled_at TIMESTAMPTZ,
    disabled_reason TEXT
);
CREATE INDEX webhook_endpoints_of_tenant ON webhook_endpoints (tenant_id, id);
CREATE INDEX webhook_endpoints_by_key ON webhook_endpoints (secret_key_id);
CREATE INDEX webhook_endpoints_failing ON webhook_endpoints (failing_since)
    WHERE failing_since IS NOT NULL AND disabled_at IS NULL;

CREATE TABLE webhook_deliveries (
    id TEXT PRIMARY KEY,
    endpoint_id TEXT NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    notification_id TEXT NOT NULL,
    sequence BIGINT,
    type TEXT NOT NULL,
    is_manual BOOLEAN NOT NULL,
    is_set_aside BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    attempted_at TIMESTAMPTZ,
    status_code INTEGER,
    error TEXT,
    duration_ms INTEGER,
    answer TEXT
);
CREATE INDEX webhook_deliveries_of_endpoint ON webhook_deliveries (endpoint_id, id);
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (endpoint_id, id)
    WHERE attempted_at IS NULL;

CREATE TABLE mails (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    generation INTEGER,
    notification_id TEXT,
    recipient TEXT,
    recipient_digest TEXT,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    next_attempt_at TIMESTAMPTZ,
    ended_at TIMESTAMPTZ,
    error TEXT,
    mailbox TEXT,
    client TEXT,
    client_site TEXT,
    amount BIGINT,
    message_id TEXT,
    request_digest TEXT,
    UNIQUE (notification_id, kind, subject),
    UNIQUE (notification_id, kind, recipient_digest)
);
CREATE INDEX mails_of_subject ON mails (subject, kind);
CREATE INDEX mails_waiting ON mails (next_attempt_at) WHERE status = 'waiting';
CREATE INDEX mails_to_recipient ON mails (tenant_id, recipient_digest, ended_at);
CREATE INDEX mails_by_end ON mails (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX mails_to_mailbox ON mails (mailbox, ended_at) WHERE mailbox IS NOT NULL;
CREATE INDEX mails_of_client ON mails (client, ended_at) WHERE client IS NOT NULL;
CREATE INDEX mails_of_client_site ON mails (client_site, ended_at) WHERE client_site IS NOT NULL;
CREATE INDEX mails_ended ON mails (tenant_id, ended_at, attempts) WHERE ended_at IS NOT NULL;
CREATE UNIQUE INDEX mails_of_message ON mails (message_id, recipient_digest)
    WHERE message_id IS NOT NULL;
CREATE INDEX mails_of_request ON mails (request_digest, created_at)
    WHERE request_digest IS NOT NULL;

CREATE TABLE messages (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    event_id TEXT NOT NULL REFERENCES events (id),
    subject TEXT NOT NULL,
    text TEXT NOT NULL,
    ticket_ids TEXT,
    audience TEXT NOT NULL,
    send_at TIMESTAMPTZ NOT NULL,
    status TEXT NOT NULL,
    recipients INTEGER NOT NULL,
    sent INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    planned_at TIMESTAMPTZ,
    created_by TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX messages_of_event ON messages (event_id, id);
CREATE INDEX messages_of_tenant ON messages (tenant_id, created_at);
CREATE INDEX messages_open ON messages (send_at) WHERE status IN ('scheduled', 'sending');
CREATE INDEX messages_previewed ON messages (created_at) WHERE status = 'preview';

-- Crowds, and what each client uses up.
-- docs/limits.md has the bounds.

CREATE TABLE waiting_rooms (
    event_id TEXT PRIMARY KEY REFERENCES events (id),
    opened BIGINT NOT NULL,
    sale_starts BIGINT,
    at BIGINT NOT NULL,
    admitted_until BIGINT NOT NULL,
    per_minute INTEGER NOT NULL CHECK (per_minute > 0),
    called TEXT NOT NULL,
    slowed_at BIGINT NOT NULL,
    caught_up_at BIGINT,
    held_since BIGINT,
    turns INTEGER NOT NULL DEFAULT 1,
    used_turns INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE waiting_room_arrivals (
    event_id TEXT NOT NULL REFERENCES events (id),
    second BIGINT NOT NULL,
    people BIGINT NOT NULL,
    PRIMARY KEY (event_id, second)
);

CREATE TABLE waiting_room_networks (
    event_id TEXT NOT NULL REFERENCES events (id),
    network INTEGER NOT NULL,
    people INTEGER NOT NULL,
    counted_at BIGINT NOT NULL,
    PRIMARY KEY (event_id, network)
);

CREATE TABLE waiting_room_processes (
    event_id TEXT NOT NULL REFERENCES events (id),
    process TEXT NOT NULL,
    at BIGINT NOT NULL,
    responses INTEGER NOT NULL,
    not_quick INTEGER NOT NULL,
    slow INTEGER NOT NULL,
    PRIMARY KEY (event_id, process)
);

CREATE TABLE waiting_room_turns (
    event_id TEXT NOT NULL REFERENCES events (id),
    place TEXT NOT NULL,
    client TEXT NOT NULL,
    site TEXT NOT NULL,
    began BIGINT NOT NULL,
    ends_at TIMESTAMPTZ NOT NULL,
    used BOOLEAN NOT NULL DEFAULT FALSE,
    seen BIGINT NOT NULL DEFAULT 0,
    bars BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (event_id, place)
);
CREATE INDEX turns_by_beginning ON waiting_room_turns (event_id, began);
CREATE INDEX turns_of_network ON waiting_room_turns (event_id, site);

CREATE TABLE idempotency_keys (
    digest TEXT PRIMARY KEY,
    request_digest TEXT NOT NULL,
    claimed_at TIMESTAMPTZ NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    status INTEGER,
    body TEXT,
    order_id TEXT,
    client TEXT,
    client_site TEXT
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_by_order_id ON idempotency_keys (order_id, created_at)
    WHERE order_id IS NOT NULL;
CREATE INDEX idempotency_keys_by_client ON idempotency_keys (client, created_at)
    WHERE client IS NOT NULL;
CREATE INDEX idempotency_keys_by_client_site ON idempotency_keys (client_site, created_at)
    WHERE client_site IS NOT NULL;

-- minute: since 1970.
CREATE TABLE rate_counts (
    caller TEXT PRIMARY KEY,
    minute BIGINT NOT NULL,
    used BIGINT NOT NULL
);
CREATE INDEX rate_counts_by_minute ON rate_counts (minute);

CREATE TABLE daily_amounts (
    what TEXT NOT NULL,
    client TEXT NOT NULL,
    began_at TIMESTAMPTZ NOT NULL,
    amount BIGINT NOT NULL,
    PRIMARY KEY (what, client)
);
CREATE INDEX daily_amounts_by_time ON daily_amounts (began_at);

CREATE TABLE blocked_networks (
    network TEXT PRIMARY KEY,
    until TIMESTAMPTZ NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);

-- The service itself.

CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    holder TEXT,
    until TIMESTAMPTZ
);

CREATE TABLE tallies (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    label TEXT NOT NULL,
    count BIGINT NOT NULL
);

CREATE TABLE last_backup (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    finished_at TIMESTAMPTZ NOT NULL,
    bytes BIGINT NOT NULL
);
