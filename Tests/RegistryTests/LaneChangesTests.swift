import Identifiers
import InstallationRecords
import ProcessTesting
import RecordFormat
import Simulation
import Store
import Telemetry
import Testing

@testable import Registry

/// Tests of the changes that a commit of a lane reports to the fan-out: new tokens, groups and dismissals. After a
/// crash each change is reported again.
struct LaneChangesTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private let key = RegistryKey(
        app: "one", recipient: .user("ada"), installation: "i", entry: .update(activity: "x"))

    /// Commits, and returns the reported changes as `app recipient kinds: digit group`. The digit comes from the
    /// row's hash.
    private func reportedChanges(of lane: Lane, committing offset: Int64) throws -> [String] {
        var changes = LaneChanges()
        try lane.commit(
            AppliedProgress(offset: offset, completeUntil: .now()), reportingChangesInto: &changes)
        return (0..<changes.count).map { index in
            let row = FoundRow(changes.row(at: index))
            let subject = "\(changes.app(at: index)) \(row.recipient)"
            let digit = row.hash.drop { $0 == "0" }.prefix(1)
            return "\(subject) \(changes.kinds(at: index).words): \(digit) \(row.group ?? "-")"
        }.sorted()
    }

    /// Returns a row whose hash begins with a digit.
    private func makeRow(hashDigit digit: Int, group: String?, registeredAt: Int64 = start) -> TokenRow {
        var row = token(digit, group: group, registeredAt: registeredAt)
        row.tokenHash = String(digit) + String(repeating: "0", count: 31)
        return row
    }

    @Test func `a new token, a group and a dismissal are reported, a repetition is not`() throws {
        let lane = try openLane(directory.path)
        lane.changesReportedFrom = 0
        var row = makeRow(hashDigit: 1, group: nil)
        func changes(at offset: Int64) throws -> [String] {
            try lane.apply(row.encoded(), to: key, offset: offset)
            return try reportedChanges(of: lane, committing: offset + 1)
        }
        #expect(try changes(at: 0) == ["one u:ada token: 1 -"])
        row.registeredAt += 1000
        #expect(try changes(at: 1) == [])
        row.isUnproven = true
        #expect(try changes(at: 2) == [])
        row.isUnproven = false
        #expect(try changes(at: 3) == [], "a proof is no new token")
        row.group = "g"
        #expect(try changes(at: 4) == ["one u:ada group: 1 g"])
        row = makeRow(hashDigit: 2, group: "h", registeredAt: start + 2000)
        #expect(try changes(at: 5) == ["one u:ada token group: 2 h"])
        // While activities are switched off, the token receives no pushes. After that it counts as a new token.
        row.activitiesEnabled = false
        #expect(try changes(at: 6) == [])
        row.activitiesEnabled = true
        #expect(try changes(at: 7) == ["one u:ada token: 2 h"])
        row.expiresAt = start + 3000
        #expect(try changes(at: 8) == [])
        row.registeredAt = start + 3000
        row.expiresAt = start + 9000
        #expect(try changes(at: 9) == ["one u:ada token: 2 h"], "it had expired")
        (row.token, row.tokenHash, row.dismissedAt) = ("", "", start + 4000)
        #expect(try changes(at: 10) == ["one u:ada dismissal:  h"])
        #expect(try changes(at: 11) == [])
        try lane.apply(nil, to: key, offset: 12)
        #expect(try reportedChanges(of: lane, committing: 13) == [])
        try lane.close()
    }

    @Test func `a row that is served again is reported, and a row that loses its token is not`() throws {
        let lane = try openLane(directory.path)
        lane.changesReportedFrom = 0
        var other = key
        (other.recipient, other.installation) = (.user("bob"), "j")
        try lane.apply(makeRow(hashDigit: 1, group: "g").encoded(), to: key, offset: 0)
        try lane.apply(
            makeRow(hashDigit: 1, group: "g", registeredAt: start + 1).encoded(), to: other, offset: 1)
        #expect(
            try reportedChanges(of: lane, committing: 2) == [
                "one u:ada group: 1 g", "one u:bob token group: 1 g",
            ])
        try lane.apply(nil, to: other, offset: 2)
        #expect(try reportedChanges(of: lane, committing: 3) == ["one u:ada token: 1 g"])
        try lane.close()
    }

    @Test
    func
        `records above the committed offset are reported even if the table has them, and lower ones are not`()
        throws
    {
        var lane = try openLane(directory.path)
        lane.changesReportedFrom = 2
        func applyRecord(ofUser number: Int) throws {
            var userKey = key
            userKey.recipient = .user("user-\(number)")
            try lane.apply(
                makeRow(hashDigit: number + 1, group: "g").encoded(), to: userKey, offset: Int64(number))
        }
        // The table is behind the committed offset.
        for number in 0..<4 { try applyRecord(ofUser: number) }
        let first = try reportedChanges(of: lane, committing: 4)
        #expect(first.map { $0.prefix(12) } == ["one u:user-2", "one u:user-3"])
        // The process dies before it commits them, and another process continues.
        try lane.close()
        lane = try openLane(directory.path)
        lane.changesReportedFrom = 2
        #expect(lane.resumeOffset == 2)
        for number in 2..<5 { try applyRecord(ofUser: number) }
        #expect(
            try reportedChanges(of: lane, committing: 5)
                == (2..<5).map { "one u:user-\($0) token group: \($0 + 1) g" })
        #expect(try reportedChanges(of: lane, committing: 5) == [], "each change is reported once")
        // Records that were read again are not written again.
        #expect(lane.appliedOffset == 5)
        try lane.close()
    }

    @Test func `a proof or a repetition that is read again is no new token`() throws {
        var lane = try openLane(directory.path)
        var row = makeRow(hashDigit: 1, group: "g")
        row.isUnproven = true
        func changes(at offset: Int64) throws -> [String] {
            try lane.apply(row.encoded(), to: key, offset: offset)
            return try reportedChanges(of: lane, committing: offset + 1)
        }
        /// Another process continues at the committed offset, with the same file.
        func startAgain(at offset: Int64) throws {
            try lane.close()
            lane = try openLane(directory.path)
            try lane.restart(changesReportedFrom: offset)
        }
        try lane.restart(changesReportedFrom: 0)
        #expect(try changes(at: 0) == ["one u:ada token group: 1 g"])
        try startAgain(at: 0)
        #expect(try changes(at: 0) == ["one u:ada token group: 1 g"], "the group has not committed it")
        lane.noteCommit(below: 1)
        row.isUnproven = false
        #expect(try changes(at: 1) == [])
        row.registeredAt += 1000
        #expect(try changes(at: 2) == [])
        try startAgain(at: 1)
        #expect(try changes(at: 1) == [])
        #expect(try changes(at: 2) == [])
        row = makeRow(hashDigit: 2, group: "g", registeredAt: start + 2000)
        #expect(try changes(at: 3) == ["one u:ada token: 2 g"])
        row.registeredAt += 1000
        #expect(try changes(at: 4) == [])
        try startAgain(at: 3)
        #expect(try changes(at: 4) == ["one u:ada token group: 2 g"])
        try lane.close()
    }

    @Test func `a repetition of a token that another process has reported is no new token`() throws {
        let lane = try openLane(directory.path)
        try lane.restart(changesReportedFrom: 0)
        _ = try reportedChanges(of: lane, committing: 0)
        // The group has committed the first two records. The file has none of them yet.
        try lane.restart(changesReportedFrom: 2)
        let otherKey = RegistryKey(
            app: "one", recipient: .user("bob"), installation: "j", entry: .update(activity: "y"))
        func apply(_ digit: Int, to key: RegistryKey, at offset: Int64) throws {
            let row = makeRow(hashDigit: digit, group: "g", registeredAt: start + offset * 1000)
            try lane.apply(row.encoded(), to: key, offset: offset)
        }
        try apply(1, to: key, at: 0)
        try apply(3, to: otherKey, at: 1)
        try apply(1, to: key, at: 2)
        try apply(2, to: otherKey, at: 3)
        #expect(try reportedChanges(of: lane, committing: 4) == ["one u:bob token: 2 g"])
        try lane.close()
    }

    @Test func `exactly the rows that are new since the committed offset are reported`() throws {
        for seed in 1...UInt64(trialCount(base: 25)) {
            let directory = try TemporaryDirectory()
            let history = try ChangesHistory(seed: seed, directory: directory.path)
            for _ in 0..<40 {
                let (reported, expected) = try history.step()
                #expect(reported == expected, "seed \(seed)")
            }
            try history.lane.close()
        }
    }
}
