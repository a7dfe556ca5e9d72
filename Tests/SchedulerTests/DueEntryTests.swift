import Identifiers
import JSON
import RecordFormat
import Schedules
import StageSupport
import Testing

@testable import Scheduler

/// Tests of `DueEntry`, the key by which a row of `timers` is found when it is due.
@Suite struct DueEntryTests {
    private func entry(_ at: Int64, _ key: String) -> DueEntry {
        DueEntry(dueAt: at, key: HashedKey(Array(key.utf8)))
    }

    /// A row that is due at 12. Its id and its name look like the field `dueAt`, which is found without parsing the
    /// row.
    private let timerRow = TimerRow(
        app: "shop", owner: .recipient(.user("ben")), id: "dueAt", name: "\"dueAt\":1", dueAt: 12,
        latenessMillisecondsMax: 1, send: makeSend(), commandOffset: 3)

    @Test func `entries are stored in due order and read back`() {
        let entries = [entry(5, "b"), entry(300, "a"), entry(300, "b"), entry(70_000, "a")]
        #expect(entries.sorted() == entries)
        for (earlier, later) in zip(entries, entries.dropFirst()) {
            #expect(earlier.storedKey.lexicographicallyPrecedes(later.storedKey))
        }
        for entry in entries { #expect(DueEntry(storedKey: entry.storedKey.span) == entry) }
        // The view has entries and rows in one table. The key of a row is not an entry.
        #expect(DueEntry(storedKey: Array("shop/u:ben/s1".utf8).span) == nil)
    }

    @Test func `a timer row is due at its time, an idempotency row one day after its stamp`() {
        let row = timerRow
        #expect(DueEntry(rowKey: row.key.span, row: row.encoded().span)?.dueAt == 12)
        let idempotencyRow = ScheduleIdempotencyRow(
            fingerprint: "f", scheduledTimer: .init(id: "s", dueAt: 5, send: "r", isReplacement: false),
            writtenAt: 9)
        let key = ScheduleIdempotencyRow.key(app: "shop", owner: row.owner, idempotencyKey: "k")
        #expect(
            DueEntry(rowKey: key.span, row: idempotencyRow.encoded().span)?.dueAt == 86_400_009 as Int64)
    }

    @Test func `a row without a valid time has no entry`() {
        let key = timerRow.key
        for invalid in [
            "", "{}", #"{"v":1,"at":5}"#, #"{"v":1,"dueAt":}"#, #"{"v":1,"dueAt":99999999999999999999}"#,
        ] {
            #expect(DueEntry(rowKey: key.span, row: Array(invalid.utf8).span) == nil, "\(invalid)")
        }
    }
}
