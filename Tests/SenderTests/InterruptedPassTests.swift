import APNs
import Jobs
import Lifecycle
import Simulation
import Testing

@testable import Sender

/// A group in one lane. Its next update comes before a pass is done, and begins at a random phone.
@Suite struct InterruptedPassTests {
    private static let sheets = 6
    private static let phonesPerSheet = 8
    private static let phones = sheets * phonesPerSheet

    private var plan = DeliveryPlan(SenderLimits(), seed: 1)
    private var time = CurrentTime(
        now: Instant(nanoseconds: 1_000_000_000_000), unixMilliseconds: 1_763_600_000_000)
    private var topic = JobTopic.normal
    private var nextOffset: Int64 = 0

    init() throws {
        plan.supersededIsRead()
        // An earlier owner may have begun the first sheet and no other.
        let metadata = CommitMetadata(receiptsFrom: 0, window: 1, endedAt: 0)
        let partitions = JobTopic.allCases.map { _ in LanePartitionStart(base: 0, metadata: metadata) }
        plan.assigned([LaneStart(lane: 0, partitions: partitions)])
        plan.receiptsWereRead(lane: 0, until: 0, at: time)
        try arrive([0], in: "first", version: 1)
        #expect(served(room: 2) == [0])
    }

    private mutating func arrive(_ phones: [Int], in group: String = "match", version: Int64) throws {
        let sheet = try SheetRecord.update(
            of: "shop", to: phones.map { "\($0)" }, in: group, version: version, at: time)
        plan.arrived(sheet, from: topic, lane: 0, offset: nextOffset, at: time)
        nextOffset += 1
    }

    /// Writes all phones in order, in a circle that begins at one of them.
    private mutating func arriveAll(from first: Int, version: Int64) throws {
        for sheet in 0..<Self.sheets {
            let start = first + sheet * Self.phonesPerSheet
            try arrive((start..<start + Self.phonesPerSheet).map { $0 % Self.phones }, version: version)
        }
    }

    /// Returns the phones of the pushes that leave, in order.
    private mutating func served(room: Int) -> [Int] {
        var left = room
        var served: [Int] = []
        plan.leased(until: time.now.advanced(byMilliseconds: 5_000))
        // Outcomes of one turn are written in the next turn.
        var idle = 0
        while left > 0, idle < 3 {
            let now = left
            plan.turn(at: time) { _, _ in .open(capacity: now) }
            let actions = plan.actions
            plan.actions.removeAll()
            for push in actions.pushes {
                plan.accepted(push.tag, at: time)
                let line = push.sheet.index.lines[push.line]
                served.append(Int(push.sheet.text(line.installation).dropFirst()) ?? -1)
            }
            for id in actions.writes.map(\.0) { plan.stored(id, offset: 0, at: time) }
            if !actions.commits.isEmpty { plan.committed(actions.commitNumber, isDone: true, at: time) }
            idle = actions.pushes.isEmpty ? idle + 1 : 0
            left -= actions.pushes.count
        }
        return served
    }

    @Test(arguments: [1, 3, 5, 8, 13, 20])
    mutating func `each update continues where a newer state broke off the last one`(room: Int) throws {
        var chance = SeededGenerator(seed: UInt64(room))
        var expected: Int?
        for version in 1...60 {
            try arriveAll(from: chance.number(below: Self.phones), version: Int64(version))
            let found = served(room: room)
            #expect(found.count == room)
            if let expected { #expect(found == (0..<room).map { (expected + $0) % Self.phones }) }
            expected = (try #require(found.last) + 1) % Self.phones
        }
        let rest = served(room: Self.phones)
        #expect(Set(rest).count == Self.phones - room, "the last update reaches all the others")
    }

    @Test mutating func `an urgent update continues too where a newer state broke off the last one`() throws {
        (topic, nextOffset) = (.urgent, 0)
        try arrive([0], in: "first-urgent", version: 1)
        #expect(served(room: 2) == [0])
        var chance = SeededGenerator(seed: 5)
        var expected: Int?
        for version in 1...60 {
            try arriveAll(from: chance.number(below: Self.phones), version: Int64(version))
            let found = served(room: 5)
            if let expected { #expect(found == (0..<5).map { (expected + $0) % Self.phones }) }
            expected = (try #require(found.last) + 1) % Self.phones
        }
    }

    @Test mutating func `sheets of another group keep their place`() throws {
        try arriveAll(from: 0, version: 1)
        #expect(served(room: 9) == Array(0..<9))
        try arrive([0, 1, 2, 3, 4, 5, 6, 7], version: 2)
        try arrive([100], in: "other", version: 1)
        try arrive([8, 9, 10, 11], version: 2)
        try arrive([12, 13, 14, 15], version: 2)
        #expect(served(room: 17) == [9, 10, 11, 100, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test mutating func `a pass whose next phone has left begins where updates begin`() throws {
        try arrive([0, 1, 2, 3], version: 1)
        #expect(served(room: 2) == [0, 1])
        for version in 2...5 {
            try arrive([3, 0, 1], version: Int64(version))
            let found = served(room: 1)
            #expect(found == (version < 5 ? [3] : [0]))
        }
    }
}
