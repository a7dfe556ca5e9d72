import Identifiers
import Payloads
import Schedules
import Sends
import Testing

@testable import FanOut

/// The condition `ifVersion`, and the verdict that the planner replies to a gateway.
struct VerdictReplyTests {
    private static let address = ReplyAddress(partition: 2, request: "q")

    /// Returns an update whose request waits for the verdict.
    private func update(
        _ id: String, to audience: Audience = .group, ifVersion: Int64? = nil, fingerprint: String? = nil
    ) -> Send {
        var send = makeSend(.update, to: audience, id: id)
        send.replyTo = Self.address
        (send.ifVersion, send.fingerprint) = (ifVersion, fingerprint)
        return send
    }

    @Test func `an update is refused if the group has a newer version than the caller has seen`() throws {
        var rows = Rows()
        _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
        let accepted = try planner.plan(update("u1", ifVersion: version(at: 0)), at: 5, in: &rows)
        #expect(accepted.verdicts == [.planned])
        #expect(
            accepted.reply
                == Plan.Reply(address: Self.address, verdict: .init(.planned, version: version(at: 5))))
        let before = rows
        let refused = try planner.plan(update("u2", ifVersion: version(at: 0)), at: 6, in: &rows)
        #expect(refused.verdicts == [.newerState] && refused.expansions.isEmpty)
        #expect(refused.reply?.verdict == .init(.newerState, version: 0))
        #expect(rows == before, "a refused send changes nothing")
        var end = makeSend(.end, id: "e")
        end.ifVersion = version(at: 4)
        #expect(try planner.plan(end, at: 7, in: &rows).verdicts == [.newerState])
        end.ifVersion = version(at: 5)
        #expect(try planner.plan(end, at: 8, in: &rows).verdicts == [.planned])
    }

    @Test func `a group that nobody has sent to has version 0`() throws {
        var rows = Rows()
        #expect(try planner.plan(update("u1", ifVersion: 0), at: 0, in: &rows).verdicts == [.planned])
        #expect(try planner.plan(update("u2", ifVersion: 0), at: 1, in: &rows).verdicts == [.newerState])
    }

    @Test func `a user's own newer state refuses a send to that user, and not to another`() throws {
        var rows = Rows()
        _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
        _ = try planner.plan(update("u1", to: .users(["ben"])), at: 5, in: &rows)
        func verdicts(_ id: String, _ users: [String]) throws -> [ProgressRecord.PlannerVerdict] {
            try planner.plan(update(id, to: .users(users), ifVersion: version(at: 0)), at: 6, in: &rows)
                .verdicts
        }
        #expect(try verdicts("u2", ["ben"]) == [.newerState])
        #expect(try verdicts("u3", ["ada", "ben"]) == [.newerState])
        #expect(try verdicts("u4", ["ada"]) == [.planned])
        _ = try planner.plan(update("u5", to: .activities(["a1"])), at: 7, in: &rows)
        let named = update("u6", to: .activities(["a2"]), ifVersion: version(at: 0))
        #expect(try planner.plan(named, at: 8, in: &rows).verdicts == [.newerState])
    }

    @Test func `the version of an update to several users serves as the condition of the next one`() throws {
        var rows = Rows()
        _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
        let both = Audience.users(["ada", "ben"])
        let first = try planner.plan(update("u1", to: both, ifVersion: version(at: 0)), at: 5, in: &rows)
        #expect(first.reply?.verdict == .init(.planned, version: version(at: 5)))
        let next = try planner.plan(update("u2", to: both, ifVersion: version(at: 5)), at: 6, in: &rows)
        #expect(next.verdicts == [.planned])
    }

    @Test func `a start to several users reports the version of a user with a separate generation`() throws {
        var rows = Rows()
        _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
        _ = try planner.plan(makeSend(.end, to: .users(["ben"]), id: "e"), at: 5, in: &rows)
        let both = Audience.users(["ada", "ben"])
        var start = makeSend(.start, to: both, id: "s2")
        start.replyTo = Self.address
        let started = try planner.plan(start, at: 6, in: &rows)
        let version = try #require(started.reply?.verdict.version)
        let next = try planner.plan(update("u1", to: both, ifVersion: version), at: 7, in: &rows)
        #expect(next.verdicts == [.planned])
    }

    @Test func `a send that the group holds is a newer state`() throws {
        var rows = Rows()
        for ahead in 0...6 { _ = try planner.plan(makeSend(.update, id: "u\(ahead)"), at: 0, in: &rows) }
        let version = try #require(rows.rows[match]).version
        #expect(rows.rows[match]?.heldSend?.id == "u6")
        #expect(
            try planner.plan(update("u7", ifVersion: version), at: 0, in: &rows).verdicts == [.newerState])
    }

    @Test func `a repetition gets the verdict on the first request, and another body a conflict`() throws {
        var rows = Rows()
        _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
        let first = update("k1", ifVersion: version(at: 0), fingerprint: "f")
        let planned = try planner.plan(first, at: 5, in: &rows).reply
        #expect(planned?.verdict == .init(.planned, version: version(at: 5)))
        // The group has moved on by the first request itself.
        let repeated = try planner.plan(first, at: 6, in: &rows)
        #expect(repeated.reply == planned && repeated.progress.isEmpty)
        let refused = update("k2", ifVersion: version(at: 0), fingerprint: "f")
        for second: Int64 in 7...8 {
            let reply = try planner.plan(refused, at: second, in: &rows).reply
            #expect(reply?.verdict.verdict == .newerState)
        }
        let other = try planner.plan(update("k1", fingerprint: "g"), at: 9, in: &rows)
        #expect(other.verdicts == [.conflict] && other.reply?.verdict.verdict == .conflict)
    }

    @Test func `every request that waits gets a reply, and no other`() throws {
        var rows = Rows()
        var expired = update("late")
        expired.deadline = dawn
        let cases: [(Send, ProgressRecord.PlannerVerdict)] = [
            (expired, .expired), (update("u1"), .planned), (update("u2", to: .users(["ben"])), .planned),
        ]
        for (send, verdict) in cases {
            #expect(try planner.plan(send, at: 0, in: &rows).reply?.verdict.verdict == verdict)
        }
        #expect(
            try planner.plan(update("u3"), at: 0, in: &rows, app: nil).reply?.verdict.verdict == .unknownApp)
        #expect(planner.refuse(update("u4"), stamp: 0, because: "r").reply?.verdict.verdict == .refused)
        #expect(try planner.plan(makeSend(.update, id: "u5"), at: 0, in: &rows).reply == nil)
        var dryRun = update("u6", ifVersion: 0)
        dryRun.isDryRun = true
        #expect(try planner.plan(dryRun, at: 1, in: &rows).reply?.verdict.verdict == .newerState)
    }
}
