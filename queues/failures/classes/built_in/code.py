"""The job's own code and data: validation, types, syntax, assertions, files."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext_lazy as _

from queues.failures.classes.matching import BuiltIn
from queues.failures.types import Kind

RULES: Sequence[BuiltIn] = (
    BuiltIn(
        "validation",
        Kind.PERMANENT,
        _("the data of the job, or what it built of it, is not as its schema wants it"),
        _("A retry fails the same way. Edit the data and replay, or fix who adds such jobs."),
        codes=("invalid_type", "invalid_string", "invalid_enum_value", "unrecognized_keys", "too_small", "too_big"),
        classes=(
            *("*validation*", "zoderror", "*schemaerror", "structerror", "valierror", "yup*", "joi*", "ajv*"),
            *("typebox*",),
            *("transformdecode*", "*invalidargument*", "argumenterror", "*invaliddata*", "*invalidpayload*"),
            *("*invalidinput*",),
            *("*missing*", "strictmodeerror", "*parseerror", "*parsererror", "*malformed*", "*invalidparam*"),
            *("bsonerror",),
            *("*badinput*", "userinputerror", "graphqlerror", "invalid*", "bserror", "*formaterror", "*decodeerror"),
            *("unsupported*", "duplicate*", "illegalargument*", "*precondition*"),
        ),
        messages=(
            *("validation failed", "validation error", "failed the validation", "failed validation", "invalid_type"),
            *("must have required propert", "must not have additional", "must match", "must be equal to"),
            *("must be one of",),
            *("must be a ", "must be an ", "must be >", "must be <", "must not be", "must contain"),
            *("must not contain",),
            *("must be of type", "must be greater", "must be less", "must be at ", "must be valid", "must be string"),
            *("must be number", "must be integer", "must be object", "must be array", "must be boolean"),
            *("must be null",),
            *("must be longer", "must be shorter", "must only contain", "must be positive", "should not be empty"),
            *("is a required field", "is required", "are required", "required field", "required propert"),
            *("required param",),
            *("expected string", "expected number", "expected object", "expected array", "expected boolean"),
            *("expected date",),
            *("is not allowed to be empty", "is not allowed", "invalid enum value", "unrecognized key"),
            *("invalid option",),
            *("expected a value of type", "does not match schema", "does not match any of", "fails to match"),
            *("fails because", "too small: expected", "too big: expected", "invalid input", "invalid_union"),
        ),
    ),
    BuiltIn(
        "error in the code",
        Kind.PERMANENT,
        _("the job’s code went wrong: a type, a name, a range, or syntax"),
        _("A retry fails the same way. Fix the code and deploy it first; if the data is at fault, edit and replay."),
        codes=(
            *("err_invalid_*", "err_out_of_range", "err_unknown_*", "err_missing_args", "err_unhandled_*"),
            *("err_unsupported_*",),
            *("err_method_not_implemented", "err_buffer_out_of_bounds", "err_illegal_constructor", "err_crypto_*"),
            *("err_string_too_long", "err_fs_file_too_large", "err_require_esm", "err_package_path_not_exported"),
            *("err_use_after_close", "err_http_headers_sent", "err_http_invalid_*", "err_encoding_*", "err_buffer_*"),
            *("err_fr_too_many_redirects", "err_fr_*", "err_deprecated", "err_bad_option*", "err_not_support"),
        ),
        classes=(
            *("keyerror", "valueerror", "attributeerror", "indexerror"),
            *("nameerror", "zerodivisionerror", "unicode*error"),
            *("nullpointerexception", "indexoutofbounds*", "classcastexception"),
            *("numberformatexception", "nomethoderror"),
            *("typeerror", "syntaxerror", "referenceerror", "rangeerror", "urierror", "evalerror"),
            *("*notimplemented*", "invalidstateerror", "dataerror", "datacloneerror", "notsupportederror"),
            *("invariant*",),
        ),
        messages=(
            *("cannot read propert", "cannot read field", "cannot set propert", "is not a function"),
            *("is not iterable",),
            *("is not defined", "is not a constructor", "cannot destructure", "is undefined", "is null"),
            *("of undefined",),
            *("of null", "undefined is not", "null is not", "before initialization", "assignment to constant"),
            *("maximum call stack", "invalid array length", "invalid string length", "circular structure", "bigint"),
            *("unexpected token", "unexpected end of json", "in json at position", "is not valid json"),
            *("invalid json",),
            *("bad control character", "unterminated string", "expected property name", "expected ',' or"),
            *("json parse",),
            *("unexpected identifier", "invalid or unexpected", "invalid regular expression", "invalid time value"),
            *("invalid date", "invalid url", "uri malformed", "not implemented", "cannot convert", "cannot mix"),
            *("unexpected non-whitespace", "illegal invocation", "illegal return", "object could not be cloned"),
            *("no processor", "unknown job"),
            *("unhandled job", "no handler", "could not parse", "failed to parse", "cannot parse", "parse error"),
            *("parsing error", "unsupported", "malformed", "missing process handler", "attempted to assign"),
            *("read-only prop",),
            *("cannot access", "cannot assign", "cannot add property", "cannot delete property", "unterminated"),
            *("cannot create property", "cannot use 'in' operator", "right-hand side of", "not extensible"),
        ),
    ),
    BuiltIn(
        "assertion",
        Kind.PERMANENT,
        _("something that the code takes for granted was not so"),
        _("A retry fails the same way. See which assumption does not hold for this data."),
        codes=("err_assertion", "err_internal_assertion"),
        classes=("assertionerror*", "*invariant*", "*assertion*"),
        messages=(
            *("assertion failed", "assertion error", "invariant", "expected values to be", "expected * to be"),
            *("expected * to equal", "the expression evaluated to a falsy value", "strictly equal", "deep-equal"),
            *("unreachable code",),
        ),
    ),
    BuiltIn(
        "file or module",
        Kind.PERMANENT,
        _("a file, directory or module is missing, or may not be used"),
        _("A retry fails the same way until the file is there and may be read."),
        codes=(
            *("enoent", "eacces", "eperm", "eisdir", "enotdir", "eexist", "enotempty", "erofs", "exdev"),
            *("enametoolong",),
            *("module_not_found", "err_module_not_found", "eloop", "einval", "ebadf", "efbig", "enotsup", "enoexec"),
            *("err_fs_*", "err_dlopen_failed", "enodev", "enosys", "eoverflow", "espipe"),
        ),
        classes=("filenotfounderror", "modulenotfounderror", "importerror", "isadirectoryerror", "notadirectoryerror"),
        messages=(
            *("no such file", "cannot find module", "cannot find package", "is a directory", "not a directory"),
            *("file already exists", "read-only file system", "enoent", "eacces", "file not found"),
            *("directory not empty",),
            *("cannot open", "corrupt", "unsupported image", "not a valid zip", "incorrect header check"),
            *("invalid pdf",),
        ),
    ),
)
