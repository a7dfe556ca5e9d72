import APNs
import Lifecycle
import LiveActivity
import Testing

@testable import Sender

/// One lane, and APNs answers after 200 ms. It refused some tokens. The suspect connections take two pushes
/// at a time.
@Suite struct SuspectTests {
    private static let phones = 300
    private static let room = 50
    private static let answerMilliseconds = 200

    private struct Flight {
        let push: SenderOrders.Push
        let answeredAt: Instant
    }

    private var core: SenderCore
    private var moment = Moment(now: Instant(nanoseconds: 1_000_000_000_000), wall: 1_763_600_000_000)
    private var roomOfSuspects = 2
    private var flights: [Flight] = []
    private var isRefused: (Int) -> Bool = { _ in false }
    private var accepted: [(version: Int64, isSuspect: Bool, at: Int64)] = []
    private var moved = 0
    private var offset: Int64 = 0

    init() {
        var limits = SenderLimits()
        limits.permitsMax = 1_000
        core = SenderCore(limits, seed: 1)
        core.informed()
        let note = CommitNote(receiptsFrom: 0, window: 1_000, endedAt: 0)
        core.assigned([
            LaneStart(lane: 0, tracks: JobTopic.allCases.map { _ in LaneStart.Track(base: 0, note: note) })
        ])
        core.foundAll(lane: 0, end: 0, moment)
    }

    private mutating func update(_ version: Int64, phones: Int = SuspectTests.phones) throws {
        let record = try SheetRecord.update(
            of: "shop", to: (0..<phones).map(String.init), in: "g", version: version, at: moment)
        core.arrived(record, from: .usual, lane: 0, at: offset, moment)
        offset += 1
    }

    private mutating func live(milliseconds: Int) {
        for _ in 0..<milliseconds / 10 {
            moment.now = moment.now.advanced(byMilliseconds: 10)
            moment.wall += 10
            core.leased(until: moment.now.advanced(byMilliseconds: 5_000))
            while let flight = flights.first, flight.answeredAt <= moment.now {
                flights.removeFirst()
                answer(flight.push)
            }
            let suspects = flights.count { $0.push.isSuspect }
            let others = flights.count - suspects
            core.turn(moment) { _, isSuspect in
                .open(room: isSuspect ? roomOfSuspects - suspects : Self.room - others)
            }
            carryOut()
        }
    }

    private mutating func answer(_ push: SenderOrders.Push) {
        if isRefused(push.line) {
            let refusal = PushAnswer(answered: .tokenSuspect, status: 400, reason: "BadDeviceToken")
            core.ended(push.tag, as: refusal, moment)
        } else {
            accepted.append((push.sheet.head.version, push.isSuspect, moment.wall))
            core.accepted(push.tag, moment)
        }
    }

    private mutating func carryOut() {
        let orders = core.orders
        core.orders.removeAll()
        let due = moment.now.advanced(byMilliseconds: Self.answerMilliseconds)
        flights += orders.pushes.map { Flight(push: $0, answeredAt: due) }
        for (id, write) in orders.writes {
            if case .tier = write.kind { moved += write.lines.count }
            core.stored(id, at: Int64(id), moment)
        }
        if !orders.commits.isEmpty { core.committed(orders.commitNumber, isDone: true, moment) }
    }

    private mutating func refuseSome() throws {
        isRefused = { $0 % 4 == 0 }
        try update(1)
        live(milliseconds: 3_000)
        #expect(core.suspectTokens == 75 && accepted.count == 225)
        isRefused = { _ in false }
        accepted.removeAll()
        moved = 0
    }

    @Test mutating func `suspects wait for their connections and do not stop the others`() throws {
        try refuseSome()
        let began = moment.wall
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
        #expect(accepted.count == Self.phones && core.suspectTokens == 0)
        accepted.removeAll()
        try update(3)
        live(milliseconds: 3_000)
        #expect(accepted.count == Self.phones && accepted.allSatisfy { !$0.isSuspect })
    }

    @Test mutating func `starts to suspects do not stop the others`() throws {
        try refuseSome()
        let head = SheetHead(
            topic: "t.push-type.liveactivity", priority: 10, expiration: 0, app: "shop",
            environment: .production, send: "s", group: "g", scope: .group, generation: 0, version: 9,
            event: .start, deadline: moment.wall / 1000 + 3_600, acceptedAt: moment.wall)
        // The first push to an installation fails, so that its next start is suspect.
        for (count, refused) in [true, false].enumerated() {
            isRefused = { refused && $0 % 4 == 0 }
            accepted.removeAll()
            let lines = (0..<Self.phones).map { "00\ts\($0)\tstart:T\ti:s\($0)\n" }.joined()
            let content = SheetContent(
                body: Array("{}".utf8), apns: head.apnsLines, flotilla: head.flotillaLines,
                to: Array(lines.utf8))
            core.arrived(try SheetRecord(content, origin: nil), from: .usual, lane: 0, at: offset, moment)
            offset += 1
            live(milliseconds: 3_000)
            #expect(accepted.count { !$0.isSuspect } == 225, "start \(count)")
        }
        live(milliseconds: 10_000)
        #expect(accepted.count == Self.phones)
        #expect(core.sheetsInHand == 0 && core.countsOfApps == 0)
    }

    @Test mutating func `suspects beyond the limit go to a tier and count no try`() throws {
        let many = AppFlow.suspectsMax + 200
        // Accepted pushes keep the breaker closed.
        isRefused = { $0 % 5 < 2 }
        for group in 0..<many / 200 {
            let phones = (0..<500).map { "\(group)-\($0)" }
            core.arrived(
                try SheetRecord.update(of: "shop", to: phones, in: "a\(group)", version: 1, at: moment),
                from: .usual, lane: 0, at: offset, moment)
            offset += 1
            live(milliseconds: 4_000)
        }
        #expect(core.suspectTokens == many)
        moved = 0
        for group in 0..<many / 200 {
            let phones = (0..<500).filter { $0 % 5 < 2 }.map { "\(group)-\($0)" }
            core.arrived(
                try SheetRecord.update(of: "shop", to: phones, in: "b\(group)", version: 2, at: moment),
                from: .usual, lane: 0, at: offset, moment)
            offset += 1
        }
        live(milliseconds: 200)
        #expect((150...200).contains(moved))
    }

    @Test mutating func `stuck suspect connections do not hold up sheets behind them`() throws {
        try refuseSome()
        roomOfSuspects = 0
        for version in 0..<Int64(SenderLimits().window) + 50 {
            core.arrived(
                try SheetRecord.update(
                    of: "shop", to: [version == 0 ? "0" : "new-\(version)"], in: "h\(version)", version: 1,
                    at: moment), from: .usual, lane: 0, at: offset, moment)
            offset += 1
        }
        live(milliseconds: 15_000)
        #expect(accepted.count == Int(SenderLimits().window) + 49)
        #expect(moved == 1)
    }
}
