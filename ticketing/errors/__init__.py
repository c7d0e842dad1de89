"""The errors that services raise, and the JSON body that every error response has (RFC 9457).

No module here uses an HTTP library: `status` is only a number.

base.py: all statuses but 409, the base class, and the body of a response
conflicts.py: the 409s: the request is valid, but not in the current state
returns.py: those of admissions that are given back, and of where refunds go
waiting.py: those of waiting lists, and two 429s: one is for people who wait until they may order
box_office.py: that of devices at the door that sell
pages.py: those of pages and their forms, and of the page on which a member connects an app
x402.py: those of orders that are paid with a signed transfer

TicketingError
├── BadRequest                  400
│   ├── MalformedJson                malformed_json
│   └── InvalidPayment               invalid_payment
├── AppRefused                  400  app_refused
├── Unauthenticated             401  unauthenticated
│   ├── InvalidCredentials           invalid_credentials
│   ├── WrongCode                    wrong_code
│   ├── WrongPasskey                 wrong_passkey
│   ├── SecondFactorRequired         second_factor_required
│   └── KeyRequired                  key_required
├── PaymentRequired             402  payment_required
│   └── X402PaymentRequired          payment_required
├── Forbidden                   403
│   ├── InsufficientRole             insufficient_role
│   ├── LimitedToEvents              limited_to_events
│   ├── NetworkBlocked               network_blocked
│   ├── SecondFactorMissing          second_factor_missing
│   ├── WrongTenant                  wrong_tenant
│   ├── CrossOrigin                  cross_origin
│   ├── HttpsNeeded                  https_needed
│   └── SessionChanged               session_changed
├── NotFound                    404  not_found
│   ├── X402NotEnabled               x402_not_enabled
│   └── GaslessNotEnabled            gasless_not_enabled
├── Conflict                    409
│   ├── SlugTaken                    slug_taken
│   ├── SlugFixed                    slug_fixed
│   ├── InvalidTransition            invalid_transition
│   ├── HasIntents                   has_intents
│   ├── InThePast                    in_the_past
│   ├── CapacityTooLow               capacity_too_low
│   ├── KeyNotActive                 key_not_active
│   ├── MemberExists                 member_exists
│   ├── LastAdmin                    last_admin
│   ├── SecondFactorNeeded           second_factor_needed
│   ├── TooManyWebhooks              too_many_webhooks
│   ├── SoldOut                      sold_out
│   ├── OneTypeOnly                  one_type_only
│   ├── NeedsTicket                  needs_ticket
│   ├── NoCommonNetwork              no_common_network
│   ├── NetworkUnavailable           network_unavailable
│   ├── SalesNotStarted              sales_not_started
│   ├── SalesEnded                   sales_ended
│   ├── EventOver                    event_over
│   ├── BelowMinimum                 below_minimum
│   ├── AboveMaximum                 above_maximum
│   ├── OverMaxAmount                over_max_amount
│   ├── AlreadyPaying                already_paying
│   ├── NotPayable                   not_payable
│   ├── OwnerNotConfirmed            owner_not_confirmed
│   ├── IntentCanceled               intent_canceled
│   ├── IntentReversed               intent_reversed
│   ├── IntentNotCancelable          intent_not_cancelable
│   ├── NotReturnable                not_returnable
│   ├── ReturnsClosed                returns_closed
│   ├── ReturnInProgress             return_in_progress
│   ├── ReturnOffered                return_offered
│   ├── RefundAddressMissing         refund_address_missing
│   ├── NotSoldOut                   not_sold_out
│   ├── WaitingListClosed            waiting_list_closed
│   ├── WaitingListFull              waiting_list_full
│   ├── TooManyPlaces                too_many_places
│   ├── EntryEnded                   entry_ended
│   ├── OfferMade                    offer_made
│   ├── BoxOfficeFull                box_office_full
│   ├── NotTransferable              not_transferable
│   ├── AlreadyRedeemed              already_redeemed
│   ├── AdmissionVoid                admission_void
│   ├── AdmissionSuspended           admission_suspended
│   ├── TransfersClosed              transfers_closed
│   ├── PaymentNotFinal              payment_not_final
│   ├── NoRefundDue                  no_refund_due
│   ├── HoldExtended                 hold_extended
│   ├── HoldNotExtendable            hold_not_extendable
│   ├── NothingReceived              nothing_received
│   ├── SignatureRequired            signature_required
│   ├── RefundAddressFixed           refund_address_fixed
│   ├── RefundNotSeen                refund_not_seen
│   ├── RefundListed                 refund_listed
│   ├── AmountChanged                amount_changed
│   ├── WasTransferred               was_transferred
│   ├── NotRedeemed                  not_redeemed
│   ├── TooManyScans                 too_many_scans
│   ├── DoorsUnsynced                doors_unsynced
│   ├── MailNotConfigured            mail_not_configured
│   ├── NoEmail                      no_email
│   ├── TooManyMessages              too_many_messages
│   ├── SaleCanceled                 sale_canceled
│   ├── CodeTaken                    code_taken
│   ├── MaxUsagesTooLow              max_usages_too_low
│   ├── VoucherHeld                  voucher_held
│   ├── VoucherInvalid               voucher_invalid
│   ├── VoucherNotApplicable         voucher_not_applicable
│   ├── VoucherRequired              voucher_required
│   ├── QuestionAnswered             question_answered
│   ├── TooManyQuestions             too_many_questions
│   ├── AnswersClosed                answers_closed
│   ├── BillingClosed                billing_closed
│   ├── TooManyApps                  too_many_apps
│   ├── TooManyPayers                too_many_payers
│   ├── EmailClosed                  email_closed
│   ├── EmailPutBack                 email_put_back
│   ├── IdempotencyStillRunning      idempotency_still_running
│   ├── X402ShareHeld                x402_share_held
│   ├── X402CallsUsed                x402_calls_used
│   ├── PaymentSent                  payment_sent
│   ├── TransferOutdated             transfer_outdated
│   └── TransferRefused              transfer_refused
├── Gone                        410
│   ├── IntentExpired                intent_expired
│   ├── OfferEnded                   offer_ended
│   ├── PayeeChangeEnded             payee_change_ended
│   ├── InvitationEnded              invitation_ended
│   ├── PasswordResetEnded           password_reset_ended
│   ├── SignInEnded                  sign_in_ended
│   ├── AuthorizationEnded           authorization_ended
│   ├── FeedPositionGone             feed_position_gone
│   └── OrderEnded                   order_ended
├── BodyTooLarge                413  body_too_large
├── UnsupportedMediaType        415  unsupported_media_type
├── MisdirectedRequest          421  misdirected_request
├── Invalid                     422  invalid_request
├── ImageInvalid                422  image_invalid
├── IdempotencyKeyReused        422  idempotency_key_reused
├── TooMany                     429
│   ├── TooManyRequests              too_many_requests
│   ├── TooMuchUnpaid                too_much_unpaid
│   ├── TooManyHolds                 too_many_holds
│   ├── ReturnedUnpaid               returned_unpaid
│   ├── TooManyOrders                too_many_orders
│   ├── TooMuchText                  too_much_text
│   ├── TooManyFree                  too_many_free
│   ├── TooManyAddresses             too_many_addresses
│   ├── TooManyGuesses               too_many_guesses
│   ├── TooManyTransfers             too_many_transfers
│   ├── TooManyLinks                 too_many_links
│   ├── TooManyJoins                 too_many_joins
│   ├── TooManyMails                 too_many_mails
│   ├── TooManyChanges               too_many_changes
│   ├── TooManyDescriptions          too_many_descriptions
│   ├── InWaitingRoom                waiting_room
│   └── TooManyDeliveries            too_many_deliveries
└── Unavailable                 503
    ├── ChainUnavailable             chain_unavailable
    │   └── NodesBusy                chain_unavailable
    │       └── LookedJustNow        chain_unavailable
    ├── CapacityChanged              capacity_changed
    ├── TextsUnavailable             texts_unavailable
    ├── ImagesBusy                   images_busy
    └── DatabaseUnavailable          database_unavailable
"""

# Every error can be imported from here, also a new one.
from ticketing.errors.base import *  # noqa: F403
from ticketing.errors.box_office import *  # noqa: F403
from ticketing.errors.conflicts import *  # noqa: F403
from ticketing.errors.pages import *  # noqa: F403
from ticketing.errors.returns import *  # noqa: F403
from ticketing.errors.waiting import *  # noqa: F403
from ticketing.errors.x402 import *  # noqa: F403
