"""The page of rules for classes: who sees and who changes them, the dry run, the order, and what follows."""

from __future__ import annotations

from typing import cast

import pytest
from django.db import OperationalError
from django.http import HttpResponse
from django.test import Client
from django.utils.html import escape

from queues import discovery
from queues.failures import classes
from queues.failures.classes import deciding
from queues.failures.classes import rules as deciding_rules
from queues.failures.types import Kind
from queues.models import AuditEntry, ClassRule, FailureGroup, FailureStrand
from queues.registry import SourceConfig
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role, person, signed_in
from tests.failing import make_group

pytestmark = pytest.mark.django_db

PAGE = "/failures/rules/"
HTMX = {"HX-Request": "true", "HX-Target": "tried"}
HOSTILE = "<img src=x onerror=alert(1)>\"'\u202e"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, source: SourceConfig) -> None:
    monkeypatch.setattr(deciding_rules, "_book", deciding_rules._Book())


@pytest.fixture
def admin() -> Client:
    return signed_in(person("admin", name="ada"))


@pytest.fixture
def timeouts() -> FailureGroup:
    made = make_group(
        title="TimeoutError: no answer in time", queues=("mail", "payments"), names=("send",), counts=(0, 0, 0, 0, 40)
    )
    classes.reclassify()
    return made


def rule(client: Client, at: str = "add", **fields: str) -> HttpResponse:
    """Send the form; `thrown` is the class of the error."""
    return cast(HttpResponse, client.post(f"{PAGE}{at}/", {"kind": "permanent", **fields}))


def kinds() -> list[str]:
    return list(FailureStrand.objects.order_by("queue__slug").values_list("kind", flat=True))


def order(client: Client) -> list[str]:
    return [" ".join(node.text.split()) for node in Page(client.get(PAGE)).all("data-rule", tag="tr")]


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_who_is_no_admin_sees_the_rules_and_changes_none(role: str, admin: Client, timeouts: FailureGroup) -> None:
    rule(admin, code="E_ONE")
    pk = ClassRule.objects.get().pk
    client = as_role(role)
    page = Page(client.get(PAGE))
    assert "E_ONE" in page.text
    assert "UnrecoverableError" in page.text
    assert not [node for node in page.nodes if PAGE in node.attrs.get("action", "")]
    assert "Only admins add, move and delete rules." in page.text
    for at in ("add", "try", "reclassify", f"{pk}/move", f"{pk}/delete"):
        assert rule(client, at, code="E_TWO").status_code == 403
        assert client.get(f"{PAGE}{at}/").status_code in (403, 405)
    assert [row.code for row in ClassRule.objects.all()] == ["E_ONE"]


@pytest.mark.parametrize("at", ["add", "try", "reclassify", "1/move", "1/delete"])
def test_nothing_is_done_by_get(at: str, admin: Client) -> None:
    assert admin.get(f"{PAGE}{at}/").status_code == 405


def test_a_rule_is_kept_and_all_classes_are_decided_anew(admin: Client, timeouts: FailureGroup) -> None:
    assert kinds() == ["transient", "transient"]
    answer = rule(admin, thrown="TimeoutError", name="send")
    assert (answer.status_code, answer.headers["Location"]) == (302, PAGE)
    assert kinds() == ["permanent", "permanent"]
    assert ClassRule.objects.get().added_by == "ada"
    page = Page(admin.get(PAGE))
    assert "2 entries of the index have another class or rule now" in page.text
    row = page.all("data-rule", str(ClassRule.objects.get().pk))[0]
    assert "TimeoutError" in row.text
    assert "send" in row.text
    assert [node.attrs["data-failures"] for node in row.children if "data-failures" in node.attrs] == ["40"]
    assert [node.attrs["data-groups"] for node in row.children if "data-groups" in node.attrs] == ["1"]


def test_a_rule_holds_in_one_queue_alone(admin: Client, timeouts: FailureGroup) -> None:
    discovery.pin("main", "mail")
    assert rule(admin, thrown="TimeoutError", source="main", queue="mail").status_code == 302
    assert kinds() == ["permanent", "transient"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "Say what it matches"),
        ({"queue": "mail"}, "A queue belongs to a source"),
        ({"source": "main", "queue": "nowhere"}, "No queue of this name is known"),
        ({"code": "x" * 101}, "at most 100 characters"),
        ({"code": "1", "kind": "nonsense"}, "not one of the available choices"),
        ({"code": "1", "source": "nowhere"}, "not one of the available choices"),
        ({"code": "*"}, "leave a pattern empty"),
        ({"code": "a\x00b"}, "Null characters"),
    ],
)
def test_what_is_no_rule_is_refused_with_its_reason(fields: dict[str, str], said: str, admin: Client) -> None:
    for at in ("add", "try"):
        answer = rule(admin, at, **fields)
        assert answer.status_code == 422
        assert said in Page(answer).text
    assert not ClassRule.objects.exists()
    assert not AuditEntry.objects.exists()


def test_there_is_an_end_to_rules_and_the_page_says_so(admin: Client) -> None:
    ClassRule.objects.bulk_create(ClassRule(position=at, kind="unknown", code=str(at)) for at in range(classes.MOST))
    answer = rule(admin, code="one more")
    assert answer.status_code == 422
    assert "There are 200 rules already" in Page(answer).text


def test_a_dry_run_tells_what_would_change_and_keeps_nothing(admin: Client, timeouts: FailureGroup) -> None:
    before = kinds()
    answer = rule(admin, "try", thrown="TimeoutError")
    page = Page(answer)
    assert answer.status_code == 200
    assert page.all("data-moved")[0].attrs == {
        "class": "notice mt3",
        "data-tried": "",
        "data-moved": "40",
        "data-strands": "2",
    }
    assert page.rows("data-move") == [timeouts.slug]
    row = page.all("data-move")[0].text
    assert "40" in row
    assert row.index("transient") < row.index("permanent")
    assert f"/failures/{timeouts.slug}/" in page.source
    # The form keeps what was typed, so that Apply sends the same.
    assert page.all("name", "thrown", tag="input")[0].attrs["value"] == "TimeoutError"
    assert kinds() == before
    assert not ClassRule.objects.exists()
    assert not AuditEntry.objects.exists()


def test_what_the_dry_run_told_is_what_then_happens(admin: Client, timeouts: FailureGroup) -> None:
    make_group(title="Error: Invoice not found", queues=("mail",), counts=(0, 0, 0, 0, 7))
    classes.reclassify()
    before = dict(FailureStrand.objects.values_list("pk", "kind"))
    told = Page(rule(admin, "try", message="no", kind="unknown")).all("data-moved")[0].attrs
    rule(admin, message="no", kind="unknown")
    moved = [row for row in FailureStrand.objects.all() if row.kind != before[row.pk]]
    assert str(len(moved)) == told["data-strands"] == "3"
    assert str(sum(row.d7 for row in moved)) == told["data-moved"] == "47"


def test_a_dry_run_that_matches_nothing_says_so(admin: Client, timeouts: FailureGroup) -> None:
    assert "Nothing that is indexed matches" in Page(rule(admin, "try", code="nowhere")).text
    assert "No failure would change its class" in Page(rule(admin, "try", thrown="TimeoutError", kind="transient")).text


def test_a_dry_run_says_where_a_class_by_hand_holds_on(admin: Client, timeouts: FailureGroup) -> None:
    FailureGroup.objects.update(kind_set="unknown")
    assert "said by hand to be unknown: that holds on" in Page(rule(admin, "try", thrown="TimeoutError")).text


def test_a_dry_run_names_the_largest_groups_and_counts_the_others(admin: Client) -> None:
    for number in range(60):
        make_group(title=f"TimeoutError: upstream {number}", counts=(0, 0, 0, 0, number + 1))
    classes.reclassify()
    page = Page(rule(admin, "try", thrown="TimeoutError"))
    assert len(page.rows("data-move")) == 50
    assert "upstream 59" in page.all("data-move")[0].text
    assert "and 10 more" in page.text
    assert page.all("data-moved")[0].attrs["data-moved"] == str(sum(range(61)))


def test_htmx_gets_the_dry_run_alone_and_what_is_wrong_too(admin: Client, timeouts: FailureGroup) -> None:
    answer = admin.post(f"{PAGE}try/", {"thrown": "TimeoutError", "kind": "permanent"}, headers=HTMX)
    assert answer.text.strip().startswith('<div id="tried"')
    assert f'data-move="{timeouts.slug}"' in answer.text
    wrong = admin.post(f"{PAGE}try/", {"queue": "mail", "code": "1", "kind": "permanent"}, headers=HTMX)
    assert wrong.status_code == 200  # htmx swaps in nothing else
    assert "A queue belongs to a source" in wrong.text
    assert "<html" not in wrong.text
    empty = admin.post(f"{PAGE}try/", {"kind": "permanent"}, headers=HTMX)
    assert "Say what it matches" in empty.text


def test_rules_are_moved_and_the_first_one_decides(admin: Client, timeouts: FailureGroup) -> None:
    rule(admin, thrown="TimeoutError", kind="unknown")
    rule(admin, message="no answer", kind="permanent")
    assert kinds() == ["unknown", "unknown"]
    second = ClassRule.objects.get(message="no answer")
    assert admin.post(f"{PAGE}{second.pk}/move/", {"to": "up"}).status_code == 302
    assert kinds() == ["permanent", "permanent"]
    assert ["no answer" in row for row in order(admin)[:2]] == [True, False]
    admin.post(f"{PAGE}{second.pk}/move/", {"to": "down"})
    assert kinds() == ["unknown", "unknown"]


def test_only_moves_that_are_possible_are_offered(admin: Client) -> None:
    for code in "123":
        rule(admin, code=code)
    rows = [row for row in Page(admin.get(PAGE)).all("data-rule", tag="tr") if row.attrs["data-rule"].isdigit()]
    offered = [[node.text.strip() for node in row.children if node.tag == "button"] for row in rows]
    assert offered == [["Down", "Delete"], ["Up", "Down", "Delete"], ["Up", "Delete"]]


def test_a_deleted_rule_decides_nothing_any_more(admin: Client, timeouts: FailureGroup) -> None:
    rule(admin, thrown="TimeoutError")
    pk = ClassRule.objects.get().pk
    assert admin.post(f"{PAGE}{pk}/delete/").status_code == 302
    assert kinds() == ["transient", "transient"]
    assert not ClassRule.objects.exists()
    # Another admin was faster: that is no error, and no second entry.
    assert admin.post(f"{PAGE}{pk}/delete/").status_code == 302
    assert admin.post(f"{PAGE}{pk}/move/").status_code == 302
    assert AuditEntry.objects.filter(action="class-rule-delete").count() == 1


def test_all_classes_can_be_decided_anew(admin: Client, timeouts: FailureGroup) -> None:
    FailureStrand.objects.update(kind="unknown", rule="")
    assert admin.post(f"{PAGE}reclassify/").status_code == 302
    assert kinds() == ["transient", "transient"]


def test_a_rule_is_kept_also_where_the_database_is_too_busy_to_decide_by_it(
    admin: Client, timeouts: FailureGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy() -> int:
        raise OperationalError("database is locked")

    with monkeypatch.context() as patched:
        patched.setattr(classes, "reclassify", busy)
        assert rule(admin, thrown="TimeoutError").status_code == 302
    told = Page(admin.get(PAGE)).text
    assert "The rule is kept." in told
    assert "Our own database was busy" in told
    assert kinds() == ["transient", "transient"]
    deciding.keep("main", seen="")  # as the index does each minute
    assert kinds() == ["permanent", "permanent"]


def test_every_change_is_in_the_log_in_words(admin: Client) -> None:
    discovery.pin("main", "mail")
    rule(admin, thrown="PaymentError", code="402", source="main", queue="mail")
    rule(admin, message="secret=hunter2 and more")
    pk = ClassRule.objects.get(code="402").pk
    admin.post(f"{PAGE}{pk}/move/", {"to": "down"})
    admin.post(f"{PAGE}{pk}/delete/")
    admin.post(f"{PAGE}reclassify/")
    entries = list(AuditEntry.objects.order_by("pk"))
    assert [entry.action for entry in entries] == [
        "class-rule-add",
        "class-rule-add",
        "class-rule-move",
        "class-rule-delete",
        "class-rules-reclassify",
    ]
    assert {(entry.who, entry.status) for entry in entries} == {("ada", "done")}
    assert (entries[0].source, entries[0].queue) == ("main", "mail")
    assert entries[0].parameters == {"class": "permanent", "error_class": "PaymentError", "error_code": "402"}
    assert entries[0].note == "class PaymentError, code 402, queue mail, source main: permanent"
    page = Page(admin.get("/audit/"))
    for words in ("Add a rule for classes", "Move a rule for classes", "Delete a rule for classes"):
        assert words in page.text
    assert "hunter2" not in page.source


def test_hostile_text_is_text_everywhere(admin: Client) -> None:
    group = make_group(title=f"Error: {HOSTILE}", names=(HOSTILE,), counts=(0, 0, 0, 0, 5))
    classes.reclassify()
    tried = rule(admin, "try", message=HOSTILE)
    rule(admin, name=HOSTILE)
    for answer in (tried, admin.get(PAGE), admin.get("/audit/")):
        assert answer.status_code == 200
        assert "<img src=x" not in answer.text
    assert escape(HOSTILE) in tried.text
    assert group.slug in tried.text
    assert set(FailureStrand.objects.values_list("kind", flat=True)) == {"permanent"}


def test_built_in_rules_say_what_they_match_what_to_do_and_what_they_decide(
    admin: Client, timeouts: FailureGroup
) -> None:
    page = Page(admin.get(PAGE))
    row = page.all("data-rule", "timeout")[0]
    assert "no answer came in time" in row.text
    assert "etimedout" in row.text
    assert "A retry can help" in row.text
    assert [node.attrs["data-failures"] for node in row.children if "data-failures" in node.attrs] == ["40"]
    assert len(page.all("data-rule", "")) == 1  # what no rule decides


def test_the_page_costs_the_same_with_many_rules(admin: Client, timeouts: FailureGroup) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    admin.get(PAGE)
    with CaptureQueriesContext(connection) as few:
        admin.get(PAGE)
    ClassRule.objects.bulk_create(ClassRule(position=at, kind="unknown", code=str(at)) for at in range(100))
    with CaptureQueriesContext(connection) as many:
        admin.get(PAGE)
    assert len(many) == len(few)


def test_a_rule_whose_queue_is_gone_is_shown(admin: Client) -> None:
    ClassRule.objects.create(position=1, kind=Kind.UNKNOWN, source="gone", queue="~~~", code="1")
    row = order(admin)[0]
    assert "~~~" in row
    assert "all queues of gone" not in row
