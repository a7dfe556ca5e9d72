import Identifiers
import Payloads
import Schedules
import Sends
import Testing

@testable import Scheduler

/// Tests of the automatic ends of groups, which are timers that no command names.
@Suite struct AutomaticEndTests {
    @Test func `every group that a send may name can have an automatic end`() throws {
        var table = PlainTable()
        for recipient in [nil, Recipient.user("ada%%%")] {
            // The longest key of a scope. A percent sign takes three bytes in a key, and the letter m fills the rest.
            var key = ScopeKey(app: "shop", group: "", recipient: recipient)
            while key.bytes.count < ScopeKey.bytesMax {
                key.subject = .group(
                    (key.group ?? "") + (key.bytes.count + 3 > ScopeKey.bytesMax ? "m" : "%"))
            }
            let end = AutomaticEnd(
                app: "shop", group: key.group ?? "", owner: recipient, generation: 5, endsAt: 100)
            #expect(try TimerCommands().decide(end, stamp: 3000, offset: 1, in: &table) == .set(.scheduled))
        }
    }

    @Test func `an automatic end whose key is too long for a timer is rejected, and sets none`() throws {
        var table = PlainTable()
        let end = AutomaticEnd(
            app: "shop", group: String(repeating: "/", count: 200), owner: .user("ada"), generation: 5,
            endsAt: 100)
        guard
            case .keyTooLong(let byteCount) = try TimerCommands().decide(
                end, stamp: 3000, offset: 1, in: &table)
        else {
            Issue.record("the end is not rejected")
            return
        }
        #expect(byteCount > TimerCommands.keyBytesMax && table.rows.isEmpty)
    }

    @Test func `a group's end is one timer of its newest generation`() throws {
        var table = PlainTable()
        func end(_ generation: Int64, at: Int64) throws -> TimerCommands.EndDecision {
            try TimerCommands().decide(
                AutomaticEnd(app: "shop", group: "m", owner: nil, generation: generation, endsAt: at),
                stamp: 3000,
                offset: 1, in: &table)
        }
        #expect(try end(5, at: 100) == .set(.scheduled))
        #expect(try end(5, at: 90) == .set(.replaced))
        #expect(try end(4, at: 80) == .outdated)
        #expect(table.rows.count == 1)
        guard let row = table.rows.values.first else { return }
        #expect(row.dueAt == 90_000 && row.owner == .group("m"))
        #expect(row.send.content.event == .end && row.send.audience == .group)
        #expect(row.send.generation == 5 && row.send.scheduledAt == 3000 && row.send.problem == nil)
    }

    @Test func `an automatic end may fire an hour late, and its send has not expired then`() throws {
        let row = try #require(try tableWithEnd().rows.values.first)
        #expect(row.send.deadline.map { $0 > row.dueAt / 1000 } ?? false)
        #expect(row.outcome(at: row.dueAt + 3_600_000) != .expires)
    }

    @Test func `a cancel by the id of its send does not select an automatic end`() throws {
        var table = try tableWithEnd()
        let row = try #require(table.rows.values.first)
        let cancel = ScheduleCommand(
            .cancel(.send(row.send.id)), app: "shop", owner: .group("m"), acceptedAt: 1)
        #expect(try decide(cancel, in: &table) == .cancelled(0, tooLate: 0))
    }

    /// Returns a table with the automatic end of a group.
    private func tableWithEnd() throws -> PlainTable {
        var table = PlainTable()
        let end = AutomaticEnd(app: "shop", group: "m", owner: nil, generation: 5, endsAt: 90)
        _ = try TimerCommands().decide(end, stamp: 3000, offset: 1, in: &table)
        return table
    }
}
