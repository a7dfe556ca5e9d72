import APNs
import Identifiers
import Jobs
import Lifecycle
import Payloads
import Sends
import Simulation
import Testing

@testable import Sender

/// One lane and APNs, which answers after a random time. A person with a report key invents tokens, which APNs
/// refuses.
@Suite struct UnprovenTokenTests {
    private static let room = 200
    private static let suspectRoom = 5

    private struct Flight {
        let push: DeliveryActions.Push
        let answeredAt: Instant
    }

    private struct Acceptance {
        let phone: String
        let isSuspect: Bool
        let delayMilliseconds: Int64
    }

    private var plan: DeliveryPlan
    private var time = CurrentTime(
        now: Instant(nanoseconds: 1_000_000_000_000), unixMilliseconds: 1_763_600_000_000)
    private var random = SeededGenerator(seed: testSeed ?? 1)
    private var flights: [Flight] = []
    private var offset: Int64 = 0
    private var isRefused: (String) -> Bool = { $0.hasPrefix("invented") }
    private var accepted: [Acceptance] = []
    private var refused: [(phone: String, isSuspect: Bool)] = []
    private var proven: [String] = []
    private var dead: [String] = []
    private var events: [DeliveryActions.Event] = []
    /// Sheets that moved to a tier, with their unproven lines.
    private var moved: [Sheet] = []

    init() {
        var limits = SenderLimits()
        limits.permitsMax = 5_000
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

    /// Writes a sheet of updates. Each group name is used once, so that no update replaces another.
    private mutating func update(
        _ phones: [String], areProven: Bool, recipient: (String) -> String = { "i:i\($0)" }
    ) throws {
        let record = try SheetRecord.update(
            of: "shop", to: phones, in: "g\(offset)", version: 1, at: time,
            unproven: areProven ? LineSet() : LineSet(all: phones.count), recipient: recipient)
        plan.arrived(record, from: .normal, lane: 0, offset: offset, at: time)
        offset += 1
    }

    private mutating func live(milliseconds: Int) {
        for _ in 0..<milliseconds / 5 {
            time.now = time.now.advanced(byMilliseconds: 5)
            time.unixMilliseconds += 5
            plan.leased(until: time.now.advanced(byMilliseconds: 5_000))
            let due = flights.filter { $0.answeredAt <= time.now }.shuffled(using: &random)
            flights.removeAll { $0.answeredAt <= time.now }
            for flight in due { answer(flight.push) }
            let suspects = flights.count { $0.push.isSuspect }
            let others = flights.count - suspects
            plan.turn(at: time) { _, isSuspect in
                .open(capacity: isSuspect ? Self.suspectRoom - suspects : Self.room - others)
            }
            carryOut()
        }
    }

    private func phone(of push: DeliveryActions.Push) -> String {
        String(push.sheet.text(push.sheet.index.lines[push.line].installation).dropFirst())
    }

    private mutating func answer(_ push: DeliveryActions.Push) {
        let name = phone(of: push)
        if isRefused(name) {
            refused.append((name, push.isSuspect))
            let refusal = PushAnswer(answered: .tokenSuspect, status: 400, reason: "BadDeviceToken")
            plan.ended(push.tag, as: refusal, at: time)
        } else {
            accepted.append(
                Acceptance(
                    phone: name, isSuspect: push.isSuspect,
                    delayMilliseconds: time.unixMilliseconds - push.sheet.head.acceptedAt))
            plan.accepted(push.tag, at: time)
        }
    }

    private mutating func carryOut() {
        let actions = plan.actions
        plan.actions.removeAll()
        for push in actions.pushes {
            let answeredAt = time.now.advanced(byMilliseconds: 20 + random.number(below: 60))
            flights.append(Flight(push: push, answeredAt: answeredAt))
        }
        events += actions.events
        for token in actions.provenTokens {
            proven.append(
                String(token.sheet.text(token.sheet.index.lines[token.line].installation).dropFirst()))
        }
        for token in actions.deadTokens { dead.append(token.reason) }
        for (id, write) in actions.writes {
            if case .tier = write.content, let sheet = write.sheet { moved.append(sheet) }
            plan.stored(id, offset: Int64(id), at: time)
        }
        if !actions.commits.isEmpty { plan.committed(actions.commitNumber, isDone: true, at: time) }
    }

    private var breakerOpened: Bool {
        events.contains { if case .breakerOpened = $0 { true } else { false } }
    }

    /// Reports 40 invented tokens for each of 24 invented users, and schedules updates to them.
    private mutating func attack(_ round: Int) throws {
        for user in (0..<24).shuffled(using: &random) {
            try update(
                (0..<40).map { "invented-\(round)-\(user)-\($0)" }, areProven: false,
                recipient: { _ in "u:stranger-\(round)-\(user)" })
        }
    }

    // MARK: Tests

    @Test(arguments: 1...8)
    mutating func `invented tokens neither open the breaker nor delay proven tokens`(seed: Int) throws {
        random = SeededGenerator(seed: testSeed ?? UInt64(seed))
        live(milliseconds: 200)
        var updates = 0
        for round in 0..<5 {
            if random.number(below: 2) == 0 { live(milliseconds: 5 * random.number(below: 40)) }
            try attack(round)
            try update((0..<100).map { "honest-\($0)" }, areProven: true)
            updates += 1
            live(milliseconds: 1_000)
        }
        #expect(!breakerOpened, "seed \(seed)")
        let honest = accepted.filter { $0.phone.hasPrefix("honest") }
        #expect(honest.count == updates * 100 && honest.allSatisfy { !$0.isSuspect }, "seed \(seed)")
        #expect(honest.allSatisfy { $0.delayMilliseconds < 700 }, "seed \(seed)")
        #expect(refused.contains { $0.isSuspect }, "invented tokens use the suspect connections")
        let warnings = events.count { if case .unprovenTokensRefused = $0 { true } else { false } }
        #expect(warnings == 1, "seed \(seed)")
    }

    @Test
    mutating func `while unproven tokens are suspect, honest ones do not wait for the suspect connections`()
        throws
    {
        try attack(0)
        live(milliseconds: 500)
        #expect(refused.count >= UnprovenTokens.refusedMin)
        accepted.removeAll()
        try update((0..<1_000).map { "new-\($0)" }, areProven: false)
        live(milliseconds: 1_000)
        let new = accepted.filter { $0.phone.hasPrefix("new") }
        #expect(new.count == 1_000 && new.allSatisfy { $0.delayMilliseconds < 1_000 })
        #expect(new.count { !$0.isSuspect } > 900, "the suspicion ends when most are accepted")
    }

    @Test mutating func `a first send to new phones uses the usual connections`() throws {
        try update((0..<1_000).map { "new-\($0)" }, areProven: false)
        live(milliseconds: 1_000)
        #expect(accepted.count == 1_000 && accepted.allSatisfy { !$0.isSuspect })
    }

    @Test mutating func `if all proven tokens are refused, the breaker opens and no token is lost`() throws {
        isRefused = { _ in true }
        try update((0..<300).map { "honest-\($0)" }, areProven: true)
        live(milliseconds: 2_000)
        #expect(breakerOpened && dead.isEmpty)
        #expect(refused.count < 300, "the breaker pauses the app")
    }

    @Test mutating func `an invented token that probes an open breaker does not delay the next probe`() throws
    {
        isRefused = { _ in true }
        try update((0..<300).map { "honest-\($0)" }, areProven: true)
        live(milliseconds: 5_500)
        #expect(breakerOpened)
        isRefused = { $0.hasPrefix("invented") }
        try update(["invented-a", "invented-b"], areProven: false)
        try update(["honest-new"], areProven: true)
        live(milliseconds: 1_000)
        #expect(accepted.map(\.phone).contains("honest-new"))
        #expect(events.contains { if case .breakerClosed = $0 { true } else { false } })
    }

    @Test mutating func `an accepted token is reported as proven once, and only some in a second`() throws {
        let phones = (0..<100).map { "new-\($0)" }
        for _ in 0..<3 {
            try update(phones, areProven: false)
            live(milliseconds: 1_000)
        }
        #expect(proven.sorted() == phones.sorted())
        try update(phones, areProven: true)
        live(milliseconds: 3_000)
        #expect(proven.count == phones.count)
        try update((0..<1_000).map { "later-\($0)" }, areProven: false)
        live(milliseconds: 1_000)
        let reported = proven.count - phones.count
        #expect((1...2 * UnprovenTokens.reportsPerSecondMax).contains(reported))
    }

    @Test mutating func `a token that was just reported counts for the breaker`() throws {
        let phones = (0..<30).map { "new-\($0)" }
        try update(phones, areProven: false)
        live(milliseconds: 3_000)
        #expect(accepted.count == 30)
        isRefused = { _ in true }
        try update(phones, areProven: false)
        live(milliseconds: 1_000)
        #expect(breakerOpened)
    }

    @Test mutating func `the sheet in a tier knows its unproven lines`() throws {
        isRefused = { _ in true }
        try update(["invented-a"], areProven: false)
        live(milliseconds: 1_000)
        #expect(moved.map(\.unprovenLines) == [LineSet(all: 1)])
    }
}
