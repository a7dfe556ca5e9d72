import APNs
import Jobs
import Lifecycle
import Simulation
import Testing

@testable import Sender

/// Tests of a group whose updates come faster than APNs takes pushes. A pass is the pushes of one update to all phones
/// of a lane. A new update interrupts the pass of the last one, and must continue where that pass ended. Otherwise the
/// last phones would never get an update.
@Suite struct InterruptedPassTests {
    private static let sheetsPerUpdate = 6
    private static let phonesPerSheet = 8
    private static let phones = sheetsPerUpdate * phonesPerSheet

    private var plan = DeliveryPlan(SenderLimits(), seed: 1)
    private var time = CurrentTime.testStart
    private var topic = JobTopic.normal
    private var nextOffset: Int64 = 0

    init() throws {
        plan.supersededIsRead()
        // An earlier owner may have begun the first sheet and no other.
        plan.assigned([LaneStart(lane: 0, metadata: .returnedInOrder(window: 1))])
        plan.receiptReadEnded(lane: 0, until: 0, at: time)
        try arrive([0], in: "first", version: 1)
        #expect(phonesPushed(capacity: 2) == [0])
    }

    /// Delivers a sheet with an update to these phones.
    private mutating func arrive(_ phones: [Int], in group: String = "match", version: Int64) throws {
        let sheet = try SheetRecord.update(
            of: "shop", to: phones.map { "\($0)" }, in: group, version: version, at: time)
        plan.arrived(sheet, from: topic, lane: 0, offset: nextOffset, at: time)
        nextOffset += 1
    }

    /// Delivers an update to all phones, in a circle that begins at one of them.
    private mutating func arriveUpdate(from firstPhone: Int, version: Int64) throws {
        for sheet in 0..<Self.sheetsPerUpdate {
            let start = firstPhone + sheet * Self.phonesPerSheet
            try arrive((start..<start + Self.phonesPerSheet).map { $0 % Self.phones }, version: version)
        }
    }

    /// Lets APNs take up to `capacity` pushes. Returns their phones in order.
    private mutating func phonesPushed(capacity: Int) -> [Int] {
        var remainingCapacity = capacity
        var phones: [Int] = []
        plan.leased(until: time.now.advanced(byMilliseconds: 5_000))
        // Outcomes of one step are written in the next step, so a few steps without a push do not mean the end.
        let stepsWithoutPushMax = 3
        var stepsWithoutPush = 0
        while remainingCapacity > 0, stepsWithoutPush < stepsWithoutPushMax {
            let stepCapacity = remainingCapacity
            plan.step(at: time) { _, _ in .open(capacity: stepCapacity) }
            let actions = plan.actions
            plan.actions.removeAll()
            for push in actions.pushes {
                plan.accepted(push.tag, at: time)
                let line = push.sheet.index.lines[push.line]
                phones.append(Int(push.sheet.text(line.installation).dropFirst()) ?? -1)
            }
            for id in actions.writes.map(\.0) { plan.stored(id, offset: 0, at: time) }
            if !actions.commits.isEmpty { plan.committed(actions.commitNumber, isAccepted: true, at: time) }
            stepsWithoutPush = actions.pushes.isEmpty ? stepsWithoutPush + 1 : 0
            remainingCapacity -= actions.pushes.count
        }
        return phones
    }

    @Test(arguments: [1, 3, 5, 8, 13, 20])
    mutating func `each update continues where it interrupted the last one`(capacity: Int) throws {
        var random = SeededGenerator(seed: UInt64(capacity))
        var expectedFirst: Int?
        for version in 1...60 {
            try arriveUpdate(from: random.number(below: Self.phones), version: Int64(version))
            let pushed = phonesPushed(capacity: capacity)
            #expect(pushed.count == capacity)
            if let expectedFirst {
                #expect(pushed == (0..<capacity).map { (expectedFirst + $0) % Self.phones })
            }
            expectedFirst = (try #require(pushed.last) + 1) % Self.phones
        }
        let remainingPhones = phonesPushed(capacity: Self.phones)
        #expect(
            Set(remainingPhones).count == Self.phones - capacity,
            "the last update does not reach all the others")
    }

    @Test mutating func `an urgent update continues too where it interrupted the last one`() throws {
        (topic, nextOffset) = (.urgent, 0)
        try arrive([0], in: "first-urgent", version: 1)
        #expect(phonesPushed(capacity: 2) == [0])
        var random = SeededGenerator(seed: 5)
        var expectedFirst: Int?
        for version in 1...60 {
            try arriveUpdate(from: random.number(below: Self.phones), version: Int64(version))
            let pushed = phonesPushed(capacity: 5)
            if let expectedFirst { #expect(pushed == (0..<5).map { (expectedFirst + $0) % Self.phones }) }
            expectedFirst = (try #require(pushed.last) + 1) % Self.phones
        }
    }

    @Test mutating func `sheets of another group keep their place`() throws {
        try arriveUpdate(from: 0, version: 1)
        #expect(phonesPushed(capacity: 9) == Array(0..<9))
        try arrive([0, 1, 2, 3, 4, 5, 6, 7], version: 2)
        try arrive([100], in: "other", version: 1)
        try arrive([8, 9, 10, 11], version: 2)
        try arrive([12, 13, 14, 15], version: 2)
        // The sheet with phone 9 continues the pass, and the sheet after it follows. They go before the first sheet of
        // their update, and the sheet of the other group stays the second. Phone 8 was passed over, so it comes last.
        #expect(
            phonesPushed(capacity: 17) == [9, 10, 11, 100, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test mutating func `a pass whose next phone has left begins where updates begin`() throws {
        try arrive([0, 1, 2, 3], version: 1)
        #expect(phonesPushed(capacity: 2) == [0, 1])
        // The next phone is 2, and no later update has it. So each update begins with its own first phone, 3. Two
        // interruptions leave the point at phone 2. The third sets it to the phone after 3, which is phone 0.
        for version in 2...5 {
            try arrive([3, 0, 1], version: Int64(version))
            let pushed = phonesPushed(capacity: 1)
            #expect(pushed == (version < 5 ? [3] : [0]), "version \(version)")
        }
    }
}
