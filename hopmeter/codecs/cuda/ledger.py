"""The ledger: an anonymous file in which a lender records its loans. A receiver locks the ledger entry of each loan
that it uses.

The kernel ties a lock to an open file, and therefore releases the lock however the receiver's process ends. The ledger
disappears when the lender's process ends. Receivers open the ledger read-only via /proc, which the kernel allows only
to processes of the same user.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import struct

from hopmeter.codecs.cuda.driver import COPY
from hopmeter.codecs.cuda.wire import Lent
from hopmeter.codecs.errors import CodecError

NAME = "hopmeter-cuda-ipc"
LINK = f"/memfd:{NAME} "
"""The prefix of a ledger's link target in `/proc/PID/fd`."""
TOKEN_BYTES = 16
NUMBER = struct.Struct("<Q")
BUSY = (errno.EAGAIN, errno.EACCES)


def _lock(file: int, kind: int, slot: int) -> bool:
    """Lock or unlock a slot's byte. Return False if another process holds a conflicting lock."""
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, slot, 1, 0))
    except OSError as refused:
        if refused.errno in BUSY:
            return False
        raise
    return True


class Ledger:
    """The ledger, as the lender writes it. The file contains a token, followed by each slot's loan number, or 0 for a
    free slot."""

    def __init__(self, slots: int) -> None:
        self.token = secrets.token_bytes(TOKEN_BYTES)
        self.file = os.memfd_create(NAME, os.MFD_CLOEXEC)
        os.pwrite(self.file, self.token + bytes(slots * NUMBER.size), 0)

    def held(self, slot: int) -> bool:
        """Return whether a receiver holds the slot's loan."""
        if not _lock(self.file, fcntl.F_WRLCK, slot):
            return True
        _lock(self.file, fcntl.F_UNLCK, slot)
        return False

    def enter(self, slot: int, number: int) -> bool:
        """Assign a slot to a new loan. If a receiver holds the slot's current loan, leave the slot unchanged and return
        False."""
        if not _lock(self.file, fcntl.F_WRLCK, slot):
            return False
        os.pwrite(self.file, NUMBER.pack(number), TOKEN_BYTES + slot * NUMBER.size)
        _lock(self.file, fcntl.F_UNLCK, slot)
        return True

    def close(self) -> None:
        """End all loans of this ledger. Calling `close` again does nothing."""
        file, self.file = self.file, -1
        if file >= 0:
            os.close(file)

    def __del__(self) -> None:
        if getattr(self, "file", -1) >= 0:
            self.close()


class Lease:
    """A loan that a receiver holds. The lender keeps the loaned memory alive until the receiver calls `close` or its
    process ends."""

    _file: int | None

    def __init__(self, lent: Lent) -> None:
        self._slot, self._file = lent.slot, _open_ledger(lent)
        try:
            if not _lock(self._file, fcntl.F_RDLCK, lent.slot) or _loan_number(self._file, lent) != lent.number:
                what = "the sender has released this GPU memory: it retains only its newest loans"
                raise CodecError(
                    "E-GPU-LOAN-OVER",
                    what,
                    "receive sooner, let the sender retain more loans (`Lender(64)`), or " + COPY,
                )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the loan. Calling `close` again does nothing."""
        file, self._file = self._file, None
        if file is not None:
            _lock(file, fcntl.F_UNLCK, self._slot)  # a child process forked in the meantime shares this file
            os.close(file)


def _open_ledger(lent: Lent) -> int:
    """Open the ledger that a loan refers to. Raises CodecError if the file cannot be opened, or if it is not the
    lender's ledger."""
    path = f"/proc/{lent.pid}/fd/{lent.ledger}"
    try:
        # A malicious frame may name any file of any process, and merely opening some files has side effects.
        is_ledger = os.readlink(path).startswith(LINK)  # noqa: PTH115 (a Path is three times as slow)
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if is_ledger else -1
    except OSError as cause:
        what = f"the loans of process {lent.pid} cannot be read: the process has ended, or another user runs it"
        raise CodecError("E-GPU-LENDER-HIDDEN", what, COPY) from cause
    if file >= 0 and os.pread(file, TOKEN_BYTES, 0) == lent.token:
        return file
    if file >= 0:
        os.close(file)
    raise CodecError("E-GPU-LOAN", "the sender has closed, or this is not a handle of its GPU memory", COPY)


def _loan_number(file: int, lent: Lent) -> int:
    found = os.pread(file, NUMBER.size, TOKEN_BYTES + lent.slot * NUMBER.size)
    return int(NUMBER.unpack(found)[0]) if len(found) == NUMBER.size else 0
