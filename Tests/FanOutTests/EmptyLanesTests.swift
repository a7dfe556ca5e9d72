import FanOut
import JSON
import LiveActivity
import Testing

struct EmptyLanesTests {
    private let emptyLanes = EmptyLanes()

    private func makeLane() throws -> OneLane { try OneLane(emptyLanes: emptyLanes) }

    private func update(_ version: Int64, state: Int = 0) -> Expansion {
        makeExpansion(.update, version: version, state: state, send: "s\(version)")
    }

    private func row(_ lane: OneLane) throws -> LaneScope {
        let value = try #require(lane.starts.last { $0.key == match.bytes }).value
        return try LaneScope.decode(value, with: JSONReader())
    }

    @Test func `lanes that have nobody of a group have the same rows of it, each in its own time`() throws {
        let alone = try OneLane()
        let lanes = [try makeLane(), try makeLane(), try makeLane()]
        for version: Int64 in 1...3 {
            for (number, lane) in ([alone] + lanes).enumerated() {
                lane.now += Int64(number)
                try lane.expand(update(version, state: Int(version)))
                #expect(lane.tally.isEmpty && lane.progress.count == version)
            }
        }
        var rows = try ([alone] + lanes).map(row)
        for index in rows.indices { rows[index].at = 0 }
        #expect(rows.allSatisfy { $0 == rows[0] })
        #expect(rows[0].version == dawn + 3 && rows[0].newest?.send == "s3" && rows[0].walk == nil)
    }

    @Test func `a row says when it was written, whoever made it`() throws {
        let (first, late) = (try makeLane(), try makeLane())
        try first.expand(update(1))
        late.now += 20_000
        try late.expand(update(1))
        #expect(try row(late).at == late.now)
    }

    @Test func `who is in a group is told what lanes that have nobody of it were not`() throws {
        let (empty, full) = (try makeLane(), try makeLane())
        try full.phone("p1", .update(activity: "a1"))
        try empty.expand(update(1))
        try full.expand(update(1))
        #expect(full.takeJobs().map(\.installation) == ["p1"])
    }

    @Test func `a lane that knows something newer keeps it`() throws {
        let (empty, ahead) = (try makeLane(), try makeLane())
        try ahead.expand(update(2))
        try empty.expand(update(1))
        try ahead.expand(update(1))
        #expect(try row(ahead).version == dawn + 2)
        #expect(try row(empty).version == dawn + 1)
    }

    @Test func `who has not told that it is in the group is told, too`() throws {
        let (empty, full) = (try makeLane(), try makeLane())
        try full.phone("p1", .start(type: "Match"))
        for lane in [empty, full] { try lane.expand(makeExpansion(.start, generation: 1, version: 1)) }
        try full.phone("p1", .update(activity: "a1")) { $0.group = nil }
        _ = full.takeJobs()
        for lane in [empty, full] { try lane.expand(update(2)) }
        #expect(full.takeJobs().map(\.entry) == ["update:a1"])
    }
}
