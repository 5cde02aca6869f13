"""Failures of one cause that differ in what differs in life are one; near misses stay apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from queues.failures.signature import explain, of
from queues.failures.types import Signature, Thrown

NODE = (
    "\n    at Gateway.capture ({root}/src/gateways/pay.ts:{line}:{column})"
    "\n    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)"
    "\n    at async run ({root}/src/jobs/run.ts:{line}:7)"
)
PRISMA = (
    "\nInvalid `prisma.user.create()` invocation in\n{file}:{line}:3\n\n  11 x\n→ {line} await prisma.user.create(\n"
    "Unique constraint failed on the fields: (`email`)"
)


def signed(reason: str | None, stack: str = "", name: str = "job") -> Signature:
    return of(Thrown(reason, stack, name, len((reason or "").encode("utf-8", "replace"))))


def thrown(
    reason: str, error_class: str = "Error", *, root: str = "/app", line: int = 118, column: int = 19
) -> Signature:
    return signed(reason, f"{error_class}: {reason}" + NODE.format(root=root, line=line, column=column))


ALIKE: list[tuple[str, ...]] = [
    # ids
    ("User 42 not found", "User 7 not found", "User 90384211 not found"),
    ("Order 550e8400-e29b-41d4-a716-446655440000 is gone", "Order 6fa459ea-ee8a-4ca4-894e-db77e160355e is gone"),
    ("Order 507f1f77bcf86cd799439011 is locked", "Order 650e8400e29b41d4a7164466 is locked"),
    ("No such customer: 'cus_Q1x2y3'", "No such customer: 'cus_NffrFeUfNV2Hib'"),
    ("Charge ch_3MtwBw failed twice", "Charge ch_1Nxyz99 failed twice"),
    (
        "Job repeat:5f3a9c1b2d4e6f7a8b9c0d1e2f3a4b5c:1764550000000 vanished",
        "Job repeat:aaaabbbbccccdddd1111222233334444:1764553600000 vanished",
    ),
    ("Commit 3f2a9c1 unknown", "Commit 1234567 unknown", "Commit 98a7b6c unknown"),
    ("Invoice INV-2026-00017 was paid", "Invoice INV-2025-99120 was paid"),
    ("Tenant acme_42 has no seat", "Tenant acme_97 has no seat"),
    ("NIP for 0x7ffee3 rejected", "NIP for 0x1a2b3c rejected"),
    # addresses, hosts, URLs, emails
    ("connect ETIMEDOUT 203.0.113.24:443", "connect ETIMEDOUT 198.51.100.7:443"),
    ("connect ECONNREFUSED ::1:5432", "connect ECONNREFUSED 10.0.3.7:5432", "connect ECONNREFUSED fe80::1:5432"),
    ("read ECONNRESET from 10.1.2.3:50122", "read ECONNRESET from 10.9.2.3:61000"),
    ("GET https://api.example.com/v1/users/42?expand=a failed", "GET https://api.example.com/v1/users/97 failed"),
    ("fetch of http://10.0.0.1:8080/x timed out", "fetch of http://10.0.0.2:8080/y?z=1 timed out"),
    ("worker ip-10-0-1-23.ec2.internal lost", "worker ip-10-0-9-201.ec2.internal lost"),
    ("pod api-7d9f8b6c5-x2k9p evicted", "pod api-5c6d7e8f9a-qq7zt evicted"),
    ("Mailbox ana.silva@example.com is full", "Mailbox joao+test@sub.example.com.br is full"),
    ("Recipient <ana@example.com> rejected", "Recipient <x_1@example.org> rejected"),
    # times, amounts, durations
    ("Token expired at 2026-12-01T04:20:18.123Z", "Token expired at 2026-01-15T23:59:59Z"),
    ("Slot 2026-12-01 04:20 taken", "Slot 2027-01-31 14:45 taken"),
    (
        "Bad date Tue Dec 01 2026 04:20:18 GMT+0000 (Coordinated Universal Time)",
        "Bad date Fri Jan 15 2027 14:20:18 GMT-0300 (Brasilia Standard Time)",
    ),
    ("timeout of 5000ms exceeded", "timeout of 10000ms exceeded", "timeout of 10s exceeded"),
    ("Lock not had after 30 seconds", "Lock not had after 2 minutes", "Lock not had after 1 hour"),
    ("Upload of 12.5 MB refused", "Upload of 900 KB refused"),
    ("Amount $12.50 is above $10.00", "Amount $1,250.00 is above $999.99"),
    ("Balance -12 too low", "Balance -3.5 too low", "Balance 7 too low"),
    ("progress 12% lost", "progress 99.5% lost"),
    # quotes
    ("User 'maria' cannot log in", "User 'joão' cannot log in", "User 'o'neil' cannot log in"),
    ('invalid input syntax for type uuid: "abc"', 'invalid input syntax for type uuid: "x-1"'),
    ("Duplicate entry 'a@b.c' for key 'users.email'", "Duplicate entry 'ana' for key 'users.email'"),
    ('Key "maria silva" is taken', 'Key "joao souza" is taken'),
    (
        "Unexpected token 'o', \"[object Obj\"... is not valid JSON",
        "Unexpected token 'h', \"hello\"... is not valid JSON",
    ),
    # paths
    (
        "ENOENT: no such file or directory, open '/tmp/a8f3/x.csv'",
        "ENOENT: no such file or directory, open '/tmp/77bc/maria.csv'",
    ),
    (
        "EACCES: permission denied, open '/data/in/report-12.pdf'",
        "EACCES: permission denied, open '/mnt/e/in/report-77.pdf'",
    ),
    ("Cannot read C:\\Users\\ana\\in\\label-7.zpl", "Cannot read D:\\in\\label-12.zpl"),
    # lists
    ("Missing ids: 1, 2, 3", "Missing ids: 7", "Missing ids: 12, 13"),
    ("Bad skus 'a-1', 'b-2'", "Bad skus 'c-9'"),
    (
        '"items[0].sku" is required',
        '"items[12].sku" is required',
        '"items[0].sku" is required. "items[3].sku" is required',
    ),
    ("data/items/0/price must be number", "data/items/1/price must be number, data/items/2/price must be number"),
    (
        '[{"code":"too_small","path":["items",0],"minimum":1}]',
        '[\n {\n "code":"too_small",\n "path":["items",3],"minimum":1},{"code":"too_small","path":["items",4]}]',
    ),
    # JSON and request ids
    (
        '400 {"error":{"message":"Invalid currency","request_id":"req_1"}}',
        '400 {"error":{"message":"Invalid currency","request_id":"req_2"}}',
    ),
    (
        "Slow down. Request ID: req_8fHk29",
        "Slow down. (request id: 550e8400-e29b-41d4-a716-446655440000)",
        "Slow down.",
    ),
    ("Blocked by edge, Ray ID: 8a1b2c3d4e5f6a7b", "Blocked by edge, Ray ID: 1112223334445556"),
    # shape of text
    ("\x1b[31mRender broke\x1b[39m", "Render broke"),
    ("Render broke again\n  detail 1", "Render broke again\r\n  detail 2 of 3"),
    ("password=hunter2 was wrong", "password=correct-horse was wrong"),
    # mongo, prisma
    (
        'E11000 duplicate key error collection: shop.users index: email_1 dup key: { email: "a@b.c" }',
        'E11000 duplicate key error collection: shop.users index: email_1 dup key: { email: "z@y.x" }',
    ),
    (
        PRISMA.format(file="/app/src/u.ts", line=12),
        PRISMA.format(file="/srv/api/src/u.ts", line=19),
    ),
    (
        'Cast to ObjectId failed for value "abc" (type string) at path "_id" for model "User"',
        'Cast to ObjectId failed for value "" (type string) at path "_id" for model "User"',
    ),
    ("454 4.7.0 Temporary authentication failure 8f-2a1", "454 4.7.0 Temporary authentication failure 9c-77d"),
    ("Deadlock found on row 12 of page 9", "Deadlock found on row 1 of page 1200"),
]

APART: list[tuple[str, ...]] = [
    tuple(f"Request failed with status code {status}" for status in (400, 401, 404, 409, 429, 500, 502, 503)),
    ("503 Service Unavailable", "502 Bad Gateway", "HTTP 500", "HTTP 501", "got 504", "got 429"),
    (
        'null value in column "email" violates not-null constraint',
        'null value in column "phone" violates not-null constraint',
    ),
    (
        'duplicate key value violates unique constraint "a_key"',
        'duplicate key value violates unique constraint "b_key"',
    ),
    (
        "Cannot read properties of undefined (reading 'id')",
        "Cannot read properties of undefined (reading 'name')",
        "Cannot read properties of null (reading 'id')",
    ),
    ('"email" is required', '"phone" is required', '"email" must be a string'),
    ("connect ECONNREFUSED 10.0.0.1:5433", "connect ECONNREFUSED 10.0.0.1:6379", "connect ETIMEDOUT 10.0.0.1:5432"),
    ("getaddrinfo ENOTFOUND db.internal", "getaddrinfo ENOTFOUND cache.internal", "getaddrinfo EAI_AGAIN db.internal"),
    ("SQLSTATE[23505]: it failed", "SQLSTATE[40001]: it failed", "SQLSTATE[40P01]: it failed"),
    ("Query failed (code: P2002)", "Query failed (code: P2025)"),
    ("550 5.1.1 User unknown", "550 5.7.1 User unknown", "454 4.7.0 User unknown"),
    ("READONLY Nope", "MOVED Nope", "LOADING Nope", "OOM Nope"),
    (
        "Unexpected exit code: 1 signal: null",
        "Unexpected exit code: 137 signal: null",
        "Unexpected exit code: 0 signal: SIGKILL",
    ),
    ("foo is not a function", "bar is not a function", "foo is not defined"),
    ("Unsupported encoding utf8", "Unsupported encoding utf16", "Unsupported encoding base64"),
    ("Template not found: pix_recebido_v3", "Template not found: pix_recebido_v4"),
    (
        '[{"code":"invalid_type","path":["email"]}]',
        '[{"code":"invalid_type","path":["age"]}]',
        '[{"code":"too_big","path":["age"]}]',
    ),
    ("Cannot find module 'lodash'", "Cannot find module 'sharp'"),
    ("GET https://a.example.com/x failed", "GET https://b.example.com/x failed"),
    ("Saldo insuficiente", "Conta bloqueada"),
    ("EPIPE", "ECONNRESET", "ETIMEDOUT"),
    ("", "null", "[object Object]"),
    ("error code 1062", "error code 1213"),
]


ALIKE += json.loads(Path(__file__).with_name("signature_variations.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("reasons", ALIKE, ids=lambda reasons: reasons[0].strip()[:40])
def test_what_differs_in_life_makes_no_other_signature(reasons: tuple[str, ...]) -> None:
    assert len({thrown(reason).digest for reason in reasons}) == 1, [thrown(reason).message for reason in reasons]
    assert len({signed(reason).digest for reason in reasons}) == 1, "without a stack"


@pytest.mark.parametrize("reasons", APART, ids=lambda reasons: reasons[0][:40])
def test_near_misses_stay_apart(reasons: tuple[str, ...]) -> None:
    assert len({thrown(reason).digest for reason in reasons}) == len(reasons), [thrown(r).message for r in reasons]


def test_no_two_causes_of_these_tests_share_a_signature() -> None:
    digests = [thrown(reasons[0]).digest for reasons in ALIKE]
    digests += [thrown(reason).digest for reasons in APART for reason in reasons]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize("reasons", ALIKE, ids=lambda reasons: reasons[0].strip()[:40])
def test_a_signature_says_which_rule_took_what(reasons: tuple[str, ...]) -> None:
    for reason in reasons:
        made = explain(Thrown(reason, "", "job", len(reason)))
        assert made
