"""The page for lost links, on a service that cannot send mail."""

PATH = "/_f/acme"


def test_without_mail_it_says_so_and_no_page_leads_there(acme, event, api, send):
    page = api.get(PATH)
    assert page.status_code == 200 and "cannot send mail" in page.text and "<form" not in page.text
    assert PATH not in api.get("/acme").text
    refused = send(PATH, {"email": "ada@example.org"})
    assert refused.status_code == 409
    assert api.get("/_f/nobody").status_code == 404
