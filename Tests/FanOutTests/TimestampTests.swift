import FanOut
import Identifiers
import InstallationRecords
import Jobs
import Payloads
import Sends
import Testing

/// The timestamps that a lane gives to phones. The version of a send alone orders it.
struct TimestampTests {
    /// Returns an update whose state is its version. All of them were planned in one second.
    private func update(
        to targets: Expansion.Targets, version: Int64, timestamp: Int64 = 0
    ) -> Expansion {
        var update = makeExpansion(
            .update, to: targets, version: version, state: Int(version), send: "u\(version)")
        update.timestamp = dawn + timestamp
        return update
    }

    /// Returns the timestamps of the jobs since the last call, by recipient, in seconds after dawn.
    private func timestamps(_ lane: OneLane) -> [String: Int64] {
        Dictionary(lane.takeJobs().map { ($0.recipient, Push($0.body).timestamp - dawn) }) { $1 }
    }

    @Test func `a recipient with many sends by activity id gets rising timestamps, and others are not moved`()
        throws
    {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", user: "ann", .update(activity: "a1"))
        try lane.reportToken(of: "p2", user: "ben", .update(activity: "a2"))
        for number: Int64 in 1...3 {
            try lane.expand(update(to: .activities(["a1"]), version: number))
            #expect(timestamps(lane) == ["u:ann": number - 1])
        }
        try lane.expand(update(to: .group, version: 4, timestamp: 1))
        #expect(timestamps(lane) == ["u:ann": 3, "u:ben": 1])
        try lane.expand(update(to: .group, version: 5, timestamp: 2))
        #expect(timestamps(lane) == ["u:ann": 4, "u:ben": 2])
        // A late token gets the newest state with the timestamp that the recipient's other phones have.
        try lane.reportToken(of: "p3", user: "ann", .update(activity: "a3"))
        #expect(timestamps(lane) == ["u:ann": 4])
        var end = makeExpansion(.end, version: 6, send: "end")
        end.timestamp = dawn + 3
        try lane.expand(end)
        #expect(timestamps(lane) == ["u:ann": 5, "u:ben": 3])
    }

    @Test func `a late token moves the recipient ahead, and the walk continues from there`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", user: "ann", .update(activity: "a1"))
        for number: Int64 in 1...3 { try lane.expand(update(to: .activities(["a1"]), version: number)) }
        try lane.expand(update(to: .group, version: 4, timestamp: 1))
        _ = lane.takeJobs()
        try lane.reportToken(of: "p2", user: "ann", .update(activity: "a2"))
        #expect(timestamps(lane) == ["u:ann": 3])
        try lane.expand(update(to: .activities(["a2"]), version: 5))
        #expect(timestamps(lane) == ["u:ann": 4])
    }

    @Test func `an older update that must not be dropped gets a lower timestamp than the newer one`() throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", user: "ann", .update(activity: "a1"))
        try lane.expand(update(to: .activities(["a1"]), version: 9))
        #expect(timestamps(lane) == ["u:ann": 0])
        var older = update(to: .activities(["a1"]), version: 8, timestamp: 2)
        older.isConflatable = false
        try lane.expand(older)
        #expect(timestamps(lane) == ["u:ann": -1])
    }

    @Test(arguments: [true, false])
    func `an END that comes after the next start ends the activities before it, and no other`(
        startComesFirst: Bool
    ) throws {
        let lane = try OneLane()
        try lane.reportToken(of: "p1", user: "ann", .start(type: "Match"))
        try lane.reportToken(of: "p1", user: "ann", .update(activity: "old"))
        for number: Int64 in 1...3 { try lane.expand(update(to: .activities(["old"]), version: number)) }
        #expect(timestamps(lane) == ["u:ann": 2])
        // The planner does not know that Ann's phone is ahead.
        var end = makeExpansion(.end, version: 4, send: "end")
        end.timestamp = dawn + 1
        var start = makeExpansion(.start, generation: 5, version: 5, send: "start")
        start.timestamp = dawn + 2
        var pushes: [PushEvent: Int64] = [:]
        for expansion in startComesFirst ? [start, end] : [end, start] {
            try lane.expand(expansion)
            for job in lane.takeJobs() { pushes[job.head.event] = Push(job.body).timestamp - dawn }
        }
        #expect(pushes[.end] == 3)
        let started = try #require(pushes[.start])
        #expect(started > 3)
        try lane.reportToken(of: "p1", user: "ann", .update(activity: "new"))
        _ = lane.takeJobs()
        try lane.expand(update(to: .group, version: 6, timestamp: 3))
        let updated = try #require(timestamps(lane)["u:ann"])
        #expect(updated > started)
    }
}
