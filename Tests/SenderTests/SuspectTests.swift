import APNs
import Identifiers
import Jobs
import Lifecycle
import Payloads
import Sends
import Testing

@testable import Sender

/// Tests of suspect tokens, which are those that APNs refused last. Pushes to them leave over the suspect connections,
/// which take few pushes, and must not stop the pushes to other tokens. A `DeliveryPlan` has one lane, and APNs answers
/// after 200 ms.
@Suite struct SuspectTests {
    private static let phoneCount = 300
    /// The numbers of phones if APNs refuses each fourth of 300 tokens.
    private static let suspectPhoneCount = phoneCount / 4
    private static let otherPhoneCount = phoneCount - suspectPhoneCount
    /// The number of pushes that the usual connections take at a time.
    private static let usualCapacity = 50
    private static let stepMilliseconds = 10
    private static let answerMilliseconds = 200

    private struct PushInFlight {
        let push: DeliveryActions.Push
        let answeredAt: Instant
    }

    private var plan: DeliveryPlan
    private var time = CurrentTime.testStart
    /// The number of pushes that the suspect connections take at a time.
    private var suspectCapacity = 2
    private var pushesInFlight: [PushInFlight] = []
    /// Whether APNs refuses the token in this line of a sheet.
    private var isRefused: (Int) -> Bool = { _ in false }
    private var accepted: [(version: Int64, connections: PushConnections, at: Int64)] = []
    /// The number of jobs that moved to a tier.
    private var movedJobs = 0
    private var nextOffset: Int64 = 0

    init() {
        var limits = SenderLimits()
        limits.permitsMax = 1_000
        plan = DeliveryPlan(limits, seed: 1)
        plan.supersededIsRead()
        plan.assigned([LaneStart(lane: 0, metadata: .returnedInOrder())])
        plan.receiptReadEnded(lane: 0, until: 0, at: time)
    }

    private mutating func arrive(_ sheet: SheetRecord) {
        plan.arrived(sheet, from: .normal, lane: 0, offset: nextOffset, at: time)
        nextOffset += 1
    }

    /// Delivers an update to all phones, in one sheet.
    private mutating func arriveUpdate(version: Int64) throws {
        arrive(
            try SheetRecord.update(
                of: "shop", to: (0..<Self.phoneCount).map(String.init), in: "g", version: version, at: time))
    }

    /// Lets time pass in steps, with the answers of APNs.
    private mutating func run(milliseconds: Int) {
        for _ in 0..<milliseconds / Self.stepMilliseconds {
            time.advance(byMilliseconds: Self.stepMilliseconds)
            plan.leased(until: time.now.advanced(byMilliseconds: 5_000))
            while let flight = pushesInFlight.first, flight.answeredAt <= time.now {
                pushesInFlight.removeFirst()
                answer(flight.push)
            }
            let suspects = pushesInFlight.count { $0.push.connections == .suspect }
            let others = pushesInFlight.count - suspects
            plan.step(at: time) { _, connections in
                .open(
                    capacity: connections == .suspect
                        ? suspectCapacity - suspects : Self.usualCapacity - others)
            }
            carryOut()
        }
    }

    private mutating func answer(_ push: DeliveryActions.Push) {
        if isRefused(push.line) {
            let refusal = PushAnswer(answered: .tokenSuspect, status: 400, reason: "BadDeviceToken")
            plan.ended(push.tag, as: refusal, at: time)
        } else {
            accepted.append((push.sheet.head.version, push.connections, time.unixMilliseconds))
            plan.accepted(push.tag, at: time)
        }
    }

    private mutating func carryOut() {
        let actions = plan.actions
        plan.actions.removeAll()
        let answeredAt = time.now.advanced(byMilliseconds: Self.answerMilliseconds)
        pushesInFlight += actions.pushes.map { PushInFlight(push: $0, answeredAt: answeredAt) }
        for (id, write) in actions.writes {
            if case .tier = write.content { movedJobs += write.lines.count }
            plan.stored(id, offset: Int64(id), at: time)
        }
        if !actions.commits.isEmpty { plan.committed(actions.commitNumber, isAccepted: true, at: time) }
    }

    /// Sends the first update. APNs refuses each fourth token, and accepts all of them from then on.
    private mutating func makeSuspects() throws {
        isRefused = { $0 % 4 == 0 }
        try arriveUpdate(version: 1)
        run(milliseconds: 3_000)
        #expect(plan.suspectTokenCount == Self.suspectPhoneCount)
        #expect(accepted.count == Self.otherPhoneCount)
        isRefused = { _ in false }
        accepted.removeAll()
        movedJobs = 0
    }

    @Test mutating func `suspects wait for their connections and do not stop the others`() throws {
        try makeSuspects()
        let start = time.unixMilliseconds
        try arriveUpdate(version: 2)
        run(milliseconds: 2_000)
        let others = accepted.filter { $0.connections == .usual }
        #expect(others.count == Self.otherPhoneCount)
        #expect(others.allSatisfy { $0.at - start < 1_500 })
        #expect(accepted.count > Self.otherPhoneCount, "no suspect left at the same time")
    }

    @Test mutating func `acceptance ends the suspicion`() throws {
        try makeSuspects()
        try arriveUpdate(version: 2)
        run(milliseconds: 10_000)
        #expect(accepted.count == Self.phoneCount)
        #expect(plan.suspectTokenCount == 0)
        accepted.removeAll()
        try arriveUpdate(version: 3)
        run(milliseconds: 3_000)
        #expect(accepted.count == Self.phoneCount)
        #expect(accepted.allSatisfy { $0.connections == .usual })
    }

    @Test mutating func `starts to suspects do not stop the others`() throws {
        try makeSuspects()
        let head = SheetHead(
            topic: "t.push-type.liveactivity", priority: .immediate, expiration: 0, app: "shop",
            environment: .production, send: "s", group: "g", scope: .group, generation: 0, version: 9,
            event: .start, deadline: time.unixMilliseconds / 1000 + 3_600, acceptedAt: time.unixMilliseconds)
        // APNs refuses the first start of each fourth phone, so that its next start is suspect.
        for (index, areRefused) in [true, false].enumerated() {
            isRefused = { areRefused && $0 % 4 == 0 }
            accepted.removeAll()
            let lines = (0..<Self.phoneCount).map { "00\ts\($0)\tstart:T\ti:s\($0)\n" }.joined()
            let content = SheetContent(
                body: Array("{}".utf8), apns: head.apnsLines, flotilla: head.flotillaLines,
                to: Array(lines.utf8))
            arrive(try SheetRecord(content, origin: nil))
            run(milliseconds: 3_000)
            #expect(accepted.count { $0.connections == .usual } == Self.otherPhoneCount, "start \(index)")
        }
        run(milliseconds: 10_000)
        #expect(accepted.count == Self.phoneCount)
        #expect(plan.sheetCount == 0)
        #expect(plan.reservationCountOfApps == 0)
    }

    @Test mutating func `suspects beyond the limit go to a tier and count no try`() throws {
        let excess = 200
        let suspectCount = ConnectionQueue.linesMax + excess
        let phonesPerGroup = 500
        let suspectsPerGroup = 200
        let groups = suspectCount / suspectsPerGroup
        // Two of five tokens are refused. The accepted pushes keep the breaker closed.
        isRefused = { $0 % 5 < 2 }
        for group in 0..<groups {
            let phones = (0..<phonesPerGroup).map { "\(group)-\($0)" }
            arrive(
                try SheetRecord.update(of: "shop", to: phones, in: "a\(group)", version: 1, at: time))
            run(milliseconds: 4_000)
        }
        #expect(plan.suspectTokenCount == suspectCount)
        movedJobs = 0
        for group in 0..<groups {
            let suspects = (0..<phonesPerGroup).filter { $0 % 5 < 2 }.map { "\(group)-\($0)" }
            arrive(
                try SheetRecord.update(of: "shop", to: suspects, in: "b\(group)", version: 2, at: time))
        }
        run(milliseconds: 200)
        // A few suspects have left by their connections meanwhile, so that others could take their places in the queue.
        let leftMax = 50
        #expect((excess - leftMax...excess).contains(movedJobs))
    }

    @Test mutating func `stuck suspect connections do not hold up sheets behind them`() throws {
        try makeSuspects()
        suspectCapacity = 0
        let sheetCount = Int64(SenderLimits().window) + 50
        // The first sheet is for a suspect token.
        for number in 0..<sheetCount {
            arrive(
                try SheetRecord.update(
                    of: "shop", to: [number == 0 ? "0" : "new-\(number)"], in: "h\(number)", version: 1,
                    at: time))
        }
        run(milliseconds: 15_000)
        #expect(accepted.count == Int(sheetCount) - 1)
        #expect(movedJobs == 1)
    }
}
