import APNs
import Identifiers
import Jobs
import Lifecycle
import Payloads
import Sends
import Testing

@testable import Sender

/// One lane, and APNs answers after 200 ms. It refused some tokens. The suspect connections take two pushes
/// at a time.
@Suite struct SuspectTests {
    private static let phones = 300
    private static let room = 50
    private static let answerMilliseconds = 200

    private struct Flight {
        let push: DeliveryActions.Push
        let answeredAt: Instant
    }

    private var plan: DeliveryPlan
    private var time = CurrentTime(
        now: Instant(nanoseconds: 1_000_000_000_000), unixMilliseconds: 1_763_600_000_000)
    private var roomOfSuspects = 2
    private var flights: [Flight] = []
    private var isRefused: (Int) -> Bool = { _ in false }
    private var accepted: [(version: Int64, isSuspect: Bool, at: Int64)] = []
    private var moved = 0
    private var offset: Int64 = 0

    init() {
        var limits = SenderLimits()
        limits.permitsMax = 1_000
        plan = DeliveryPlan(limits, seed: 1)
        plan.supersededIsRead()
        let metadata = CommitMetadata(receiptsFrom: 0, window: 1_000, endedAt: 0)
        plan.assigned([
            LaneStart(
                lane: 0,
                partitions: JobTopic.allCases.map { _ in LanePartitionStart(base: 0, metadata: metadata) })
        ])
        plan.receiptsWereRead(lane: 0, until: 0, at: time)
    }

    private mutating func update(_ version: Int64, phones: Int = SuspectTests.phones) throws {
        let record = try SheetRecord.update(
            of: "shop", to: (0..<phones).map(String.init), in: "g", version: version, at: time)
        plan.arrived(record, from: .normal, lane: 0, offset: offset, at: time)
        offset += 1
    }

    private mutating func live(milliseconds: Int) {
        for _ in 0..<milliseconds / 10 {
            time.now = time.now.advanced(byMilliseconds: 10)
            time.unixMilliseconds += 10
            plan.leased(until: time.now.advanced(byMilliseconds: 5_000))
            while let flight = flights.first, flight.answeredAt <= time.now {
                flights.removeFirst()
                answer(flight.push)
            }
            let suspects = flights.count { $0.push.isSuspect }
            let others = flights.count - suspects
            plan.turn(at: time) { _, isSuspect in
                .open(capacity: isSuspect ? roomOfSuspects - suspects : Self.room - others)
            }
            carryOut()
        }
    }

    private mutating func answer(_ push: DeliveryActions.Push) {
        if isRefused(push.line) {
            let refusal = PushAnswer(answered: .tokenSuspect, status: 400, reason: "BadDeviceToken")
            plan.ended(push.tag, as: refusal, at: time)
        } else {
            accepted.append((push.sheet.head.version, push.isSuspect, time.unixMilliseconds))
            plan.accepted(push.tag, at: time)
        }
    }

    private mutating func carryOut() {
        let actions = plan.actions
        plan.actions.removeAll()
        let due = time.now.advanced(byMilliseconds: Self.answerMilliseconds)
        flights += actions.pushes.map { Flight(push: $0, answeredAt: due) }
        for (id, write) in actions.writes {
            if case .tier = write.content { moved += write.lines.count }
            plan.stored(id, offset: Int64(id), at: time)
        }
        if !actions.commits.isEmpty { plan.committed(actions.commitNumber, isDone: true, at: time) }
    }

    private mutating func refuseSome() throws {
        isRefused = { $0 % 4 == 0 }
        try update(1)
        live(milliseconds: 3_000)
        #expect(plan.suspectTokens == 75 && accepted.count == 225)
        isRefused = { _ in false }
        accepted.removeAll()
        moved = 0
    }

    @Test mutating func `suspects wait for their connections and do not stop the others`() throws {
        try refuseSome()
        let began = time.unixMilliseconds
        try update(2)
        live(milliseconds: 2_000)
        let others = accepted.filter { !$0.isSuspect }
        #expect(others.count == 225 && others.allSatisfy { $0.at - began < 1_500 })
        #expect(accepted.count > 225, "suspects leave at the same time")
    }

    @Test mutating func `acceptance ends the suspicion`() throws {
        try refuseSome()
        try update(2)
        live(milliseconds: 10_000)
        #expect(accepted.count == Self.phones && plan.suspectTokens == 0)
        accepted.removeAll()
        try update(3)
        live(milliseconds: 3_000)
        #expect(accepted.count == Self.phones && accepted.allSatisfy { !$0.isSuspect })
    }

    @Test mutating func `starts to suspects do not stop the others`() throws {
        try refuseSome()
        let head = SheetHead(
            topic: "t.push-type.liveactivity", priority: .immediate, expiration: 0, app: "shop",
            environment: .production, send: "s", group: "g", scope: .group, generation: 0, version: 9,
            event: .start, deadline: time.unixMilliseconds / 1000 + 3_600, acceptedAt: time.unixMilliseconds)
        // The first push to an installation fails, so that its next start is suspect.
        for (count, refused) in [true, false].enumerated() {
            isRefused = { refused && $0 % 4 == 0 }
            accepted.removeAll()
            let lines = (0..<Self.phones).map { "00\ts\($0)\tstart:T\ti:s\($0)\n" }.joined()
            let content = SheetContent(
                body: Array("{}".utf8), apns: head.apnsLines, flotilla: head.flotillaLines,
                to: Array(lines.utf8))
            plan.arrived(
                try SheetRecord(content, origin: nil), from: .normal, lane: 0, offset: offset, at: time)
            offset += 1
            live(milliseconds: 3_000)
            #expect(accepted.count { !$0.isSuspect } == 225, "start \(count)")
        }
        live(milliseconds: 10_000)
        #expect(accepted.count == Self.phones)
        #expect(plan.sheetsInHand == 0 && plan.reservationCountOfApps == 0)
    }

    @Test mutating func `suspects beyond the limit go to a tier and count no try`() throws {
        let many = AppQueues.suspectLinesMax + 200
        // Accepted pushes keep the breaker closed.
        isRefused = { $0 % 5 < 2 }
        for group in 0..<many / 200 {
            let phones = (0..<500).map { "\(group)-\($0)" }
            plan.arrived(
                try SheetRecord.update(of: "shop", to: phones, in: "a\(group)", version: 1, at: time),
                from: .normal, lane: 0, offset: offset, at: time)
            offset += 1
            live(milliseconds: 4_000)
        }
        #expect(plan.suspectTokens == many)
        moved = 0
        for group in 0..<many / 200 {
            let phones = (0..<500).filter { $0 % 5 < 2 }.map { "\(group)-\($0)" }
            plan.arrived(
                try SheetRecord.update(of: "shop", to: phones, in: "b\(group)", version: 2, at: time),
                from: .normal, lane: 0, offset: offset, at: time)
            offset += 1
        }
        live(milliseconds: 200)
        #expect((150...200).contains(moved))
    }

    @Test mutating func `stuck suspect connections do not hold up sheets behind them`() throws {
        try refuseSome()
        roomOfSuspects = 0
        for version in 0..<Int64(SenderLimits().window) + 50 {
            plan.arrived(
                try SheetRecord.update(
                    of: "shop", to: [version == 0 ? "0" : "new-\(version)"], in: "h\(version)", version: 1,
                    at: time), from: .normal, lane: 0, offset: offset, at: time)
            offset += 1
        }
        live(milliseconds: 15_000)
        #expect(accepted.count == Int(SenderLimits().window) + 49)
        #expect(moved == 1)
    }
}
