import Identifiers
import JSON
import Payloads
import RecordFormat
import Sends
import StageSupport
import Testing

@testable import FanOut

/// Proves when the pass through the rows of `starts` sends a safety END or removes a row.
struct ScopeScanTests {
    private static let hour: Int64 = 3_600_000
    private let reader = JSONReader()
    private let start = LedgerKey(
        app: "shop", subject: .group("match"), recipient: .user("ben"), generation: 7, installation: "p1")

    private func action(for key: [UInt8], row: [UInt8], at now: Int64) -> ScopeScan.RowAction? {
        ScopeScan.action(forKey: key.span, value: row.span, at: now, with: reader)
    }

    @Test
    func
        `a start is due once, shortly before the system's own end, and expires after the topic's retention`()
    {
        var row = LedgerRow(version: 7, startedAt: 1000, type: #"Of "at":5, and \ more"#)
        #expect(action(for: start.bytes, row: row.encoded(), at: 1000 + 7 * Self.hour) == nil)
        #expect(
            action(for: start.bytes, row: row.encoded(), at: 1000 + SafetyEnd.milliseconds)
                == .sendSafetyEnd(start))
        #expect(action(for: start.bytes, row: row.encoded(), at: 1001 + 49 * Self.hour) == .removeExpired)
        row.safetyEndVersion = 8
        #expect(action(for: start.bytes, row: row.encoded(), at: 1000 + 9 * Self.hour) == nil)
    }

    @Test func `the row of a newest start has no safety END, and expires like the start`() throws {
        let row = LedgerRow(version: 7, startedAt: 1000, type: #"Of "at":5, and \ more"#)
        let found = NewestStart.row(forKey: start.bytes.span, value: row.encoded().span)
        let newest = try #require(found)
        #expect(action(for: newest.key, row: newest.value, at: 1000 + 9 * Self.hour) == nil)
        #expect(action(for: newest.key, row: newest.value, at: 1001 + 49 * Self.hour) == .removeExpired)
    }

    @Test func `an ended start is no newest start, and the name of its type does not count as its end`() {
        var row = LedgerRow(version: 7, startedAt: 1000, type: #"Of ,"endedAt":9"#)
        #expect(NewestStart.row(forKey: start.bytes.span, value: row.encoded().span) != nil)
        row.safetyEndVersion = 8
        #expect(NewestStart.row(forKey: start.bytes.span, value: row.encoded().span) == nil)
    }

    @Test func `an activity without a group is due like any other`() {
        let activityStart = LedgerKey(
            app: "shop", subject: .activity("a1"), recipient: .user("ben"), generation: 0, installation: "p1")
        let row = LedgerRow(version: 0, startedAt: 1000, type: "Match")
        #expect(
            action(for: activityStart.bytes, row: row.encoded(), at: 1000 + 8 * Self.hour)
                == .sendSafetyEnd(activityStart))
    }

    @Test func `a scope expires by its own time and not by times in its state`() throws {
        var content = PushContent(.update)
        content.contentState = raw(#"{"at":1,"text":"\"at\":2}"}"#)
        var scope = LaneScope()
        scope.newestState = ScopeState(
            send: "s", version: 1, content: content, priority: .powerSaving, deadline: 1, expiration: 1,
            acceptedAt: 1)
        scope.writtenAt = 100 * Self.hour
        #expect(action(for: match.bytes, row: scope.encoded(), at: 149 * Self.hour) == nil)
        #expect(action(for: match.bytes, row: scope.encoded(), at: 149 * Self.hour + 1) == .removeExpired)
    }

    @Test(arguments: [
        "", "{", #"{"at":"#, #"{"at":}"#, #"{"at":99999999999999999999}"#, #"{"at":1"#, #"{"to":1}"#,
    ])
    func `an invalid record has no time`(text: String) {
        #expect(RowTime.last(in: Array(text.utf8).span) == nil)
    }
}
