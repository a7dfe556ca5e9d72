import APNs
import Identifiers
import Jobs
import Lifecycle
import Payloads
import Sends
import Simulation
import Testing

@testable import Sender

/// Tests of tokens that APNs has never accepted (unproven tokens). Anyone with a report key can invent such tokens, and
/// APNs refuses them. They must not open the app's breaker, nor delay honest tokens. A `DeliveryPlan` has one lane, and
/// APNs answers each push after 20 to 79 ms.
@Suite struct UnprovenTokenTests {
    /// The number of pushes that connections take at a time.
    private var capacity = ByConnections<Int>(each: { $0 == .suspect ? 5 : 200 })
    private static let stepMilliseconds = 5

    private struct PushInFlight {
        let push: DeliveryActions.Push
        let answeredAt: Instant
    }

    private struct Acceptance {
        let phone: String
        let connections: PushConnections
        let delayMilliseconds: Int64
    }

    private var plan: DeliveryPlan
    private var time = CurrentTime.testStart
    private var random = SeededGenerator(seed: testSeed ?? 1)
    private var pushesInFlight: [PushInFlight] = []
    private var nextOffset: Int64 = 0
    /// Whether APNs refuses the token of a phone.
    private var isRefused: (String) -> Bool = { $0.hasPrefix("invented") }
    private var accepted: [Acceptance] = []
    private var refused: [(phone: String, connections: PushConnections)] = []
    /// The phones whose tokens the plan has reported as proven.
    private var provenPhones: [String] = []
    /// The reasons of the tokens that the plan has reported as dead.
    private var deadTokenReasons: [String] = []
    private var events: [DeliveryActions.Event] = []
    /// The sheets that moved to a tier.
    private var movedSheets: [Sheet] = []

    init() {
        var limits = SenderLimits()
        limits.permitsMax = 5_000
        plan = DeliveryPlan(limits, seed: 1)
        plan.supersededIsRead()
        plan.assigned([LaneStart(lane: 0, metadata: .returnedInOrder())])
        plan.receiptReadEnded(lane: 0, until: 0, at: time)
    }

    /// Delivers a sheet of updates, or of starts. Each sheet has another group, so that no update replaces another.
    private mutating func arriveUpdate(
        _ phones: [String], areProven: Bool, event: PushEvent = .update,
        recipient: (String) -> String = { "i:i\($0)" }
    ) throws {
        let record = try SheetRecord.update(
            of: "shop", to: phones, in: "g\(nextOffset)", version: 1, at: time,
            unproven: areProven ? LineSet() : LineSet(all: phones.count), event: event, recipient: recipient)
        plan.arrived(record, from: .normal, lane: 0, offset: nextOffset, at: time)
        nextOffset += 1
    }

    /// Lets time pass in steps, with the answers of APNs.
    private mutating func run(milliseconds: Int) {
        for _ in 0..<milliseconds / Self.stepMilliseconds {
            time.advance(byMilliseconds: Self.stepMilliseconds)
            plan.leased(until: time.now.advanced(byMilliseconds: 5_000))
            let answeredPushes = pushesInFlight.filter { $0.answeredAt <= time.now }.shuffled(using: &random)
            pushesInFlight.removeAll { $0.answeredAt <= time.now }
            for flight in answeredPushes { answer(flight.push) }
            plan.step(at: time) { _, connections in
                let inFlight = pushesInFlight.count { $0.push.connections == connections }
                return .open(capacity: capacity[connections] - inFlight)
            }
            carryOut()
        }
    }

    /// Returns the phone of a line. Its installation is the phone's name with the prefix `i`.
    private func phone(ofLine line: Int, in sheet: Sheet) -> String {
        String(sheet.text(sheet.index.lines[line].installation).dropFirst())
    }

    private mutating func answer(_ push: DeliveryActions.Push) {
        let phone = phone(ofLine: push.line, in: push.sheet)
        if isRefused(phone) {
            refused.append((phone, push.connections))
            let refusal = PushAnswer(answered: .tokenSuspect, status: 400, reason: "BadDeviceToken")
            plan.ended(push.tag, as: refusal, at: time)
        } else {
            accepted.append(
                Acceptance(
                    phone: phone, connections: push.connections,
                    delayMilliseconds: time.unixMilliseconds - push.sheet.head.acceptedAt))
            plan.accepted(push.tag, at: time)
        }
    }

    private mutating func carryOut() {
        let actions = plan.actions
        plan.actions.removeAll()
        for push in actions.pushes {
            let answeredAt = time.now.advanced(byMilliseconds: 20 + random.number(below: 60))
            pushesInFlight.append(PushInFlight(push: push, answeredAt: answeredAt))
        }
        for connections in PushConnections.allCases {
            let count = pushesInFlight.count { $0.push.connections == connections }
            #expect(count <= capacity[connections], "\(connections)")
        }
        events += actions.events
        for token in actions.provenTokens {
            provenPhones.append(phone(ofLine: token.line, in: token.sheet))
        }
        deadTokenReasons += actions.deadTokens.map(\.reason)
        for (id, write) in actions.writes {
            if case .tier = write.content, let sheet = write.sheet { movedSheets.append(sheet) }
            plan.stored(id, offset: Int64(id), at: time)
        }
        if !actions.commits.isEmpty { plan.committed(actions.commitNumber, isAccepted: true, at: time) }
    }

    private var breakerOpened: Bool {
        events.contains { if case .breakerOpened = $0 { true } else { false } }
    }

    /// Delivers updates to 40 invented tokens of each of 24 invented users.
    private mutating func attack(_ round: Int) throws {
        for user in (0..<24).shuffled(using: &random) {
            try arriveUpdate(
                (0..<40).map { "invented-\(round)-\(user)-\($0)" }, areProven: false,
                recipient: { _ in "u:stranger-\(round)-\(user)" })
        }
    }

    // MARK: Tests

    @Test(arguments: 1...8)
    mutating func `invented tokens neither open the breaker nor delay proven tokens`(seed: Int) throws {
        random = SeededGenerator(seed: testSeed ?? UInt64(seed))
        run(milliseconds: 200)
        var updates = 0
        for round in 0..<5 {
            if round == 1 { refused.removeAll() }
            if random.number(below: 2) == 0 { run(milliseconds: 5 * random.number(below: 40)) }
            try attack(round)
            try arriveUpdate((0..<100).map { "honest-\($0)" }, areProven: true)
            updates += 1
            run(milliseconds: 1_000)
        }
        #expect(!breakerOpened, "seed \(seed)")
        let honest = accepted.filter { $0.phone.hasPrefix("honest") }
        #expect(
            honest.count == updates * 100 && honest.allSatisfy { $0.connections == .usual }, "seed \(seed)")
        #expect(honest.allSatisfy { $0.delayMilliseconds < 700 }, "seed \(seed)")
        // The tokens of the first round showed that invented ones are about.
        #expect(!refused.isEmpty && refused.allSatisfy { $0.connections == .unproven }, "seed \(seed)")
        let warnings = events.count { if case .unprovenTokensRefused = $0 { true } else { false } }
        #expect(warnings == 1, "seed \(seed)")
    }

    @Test mutating func `while unproven tokens are separated, honest ones use their connections`() throws {
        try attack(0)
        run(milliseconds: 500)
        #expect(refused.count >= UnprovenTokens.refusedMin)
        accepted.removeAll()
        try arriveUpdate((0..<1_000).map { "new-\($0)" }, areProven: false)
        run(milliseconds: 1_000)
        let newPhones = accepted.filter { $0.phone.hasPrefix("new") }
        #expect(newPhones.count == 1_000 && newPhones.allSatisfy { $0.delayMilliseconds < 1_000 })
        #expect(newPhones.contains { $0.connections == .unproven })

        // Most unproven tokens were accepted now, so the separation is over.
        accepted.removeAll()
        try arriveUpdate((0..<100).map { "later-\($0)" }, areProven: false)
        run(milliseconds: 200)
        #expect(accepted.count == 100 && accepted.allSatisfy { $0.connections == .usual })
    }

    @Test mutating func `any number of invented tokens waits, and proven tokens leave at once`() throws {
        try attack(0)
        run(milliseconds: 500)
        capacity[.unproven] = 20
        refused.removeAll()
        for round in 1...3 { try attack(round) }
        try arriveUpdate((0..<100).map { "honest-\($0)" }, areProven: true)
        run(milliseconds: 500)
        #expect(accepted.count == 100)
        #expect(!movedSheets.isEmpty, "lines beyond the limit of the queue wait in a tier")
        #expect(!refused.contains { $0.connections == .usual })
    }

    @Test mutating func `a line that has a permit and finds no room gives the permit back`() throws {
        try attack(0)
        run(milliseconds: 500)
        try arriveUpdate((0..<60).map { "new-\($0)" }, areProven: false)
        time.advance(byMilliseconds: Self.stepMilliseconds)
        run(milliseconds: Self.stepMilliseconds)
        capacity[.unproven] = 0
        #expect(pushesInFlight.count == 60 && plan.takenPermitCount == 60)
        // APNs closes the connection, so the pushes are tried again.
        for flight in pushesInFlight {
            plan.ended(flight.push.tag, as: PushAnswer(.unknown(.connectionLost)), at: time)
        }
        pushesInFlight.removeAll()
        run(milliseconds: 3_000)
        #expect(plan.takenPermitCount == 0)
    }

    @Test mutating func `starts to new phones wait for the unproven connections, and all leave`() throws {
        try attack(0)
        run(milliseconds: 500)
        capacity[.unproven] = 3
        accepted.removeAll()
        try arriveUpdate((0..<60).map { "new-\($0)" }, areProven: false, event: .start)
        run(milliseconds: 5_000)
        #expect(accepted.count == 60 && accepted.contains { $0.connections == .unproven })
        #expect(plan.reservationCountOfApps == 0)
    }

    @Test mutating func `a first send to new phones uses the usual connections`() throws {
        try arriveUpdate((0..<1_000).map { "new-\($0)" }, areProven: false)
        run(milliseconds: 1_000)
        #expect(accepted.count == 1_000 && accepted.allSatisfy { $0.connections == .usual })
    }

    @Test mutating func `if all proven tokens are refused, the breaker opens and no token is lost`() throws {
        isRefused = { _ in true }
        try arriveUpdate((0..<300).map { "honest-\($0)" }, areProven: true)
        run(milliseconds: 2_000)
        #expect(breakerOpened && deadTokenReasons.isEmpty)
        #expect(refused.count < 300, "the breaker pauses the app")
    }

    @Test mutating func `an invented token that probes an open breaker does not delay the next probe`() throws
    {
        isRefused = { _ in true }
        try arriveUpdate((0..<300).map { "honest-\($0)" }, areProven: true)
        run(milliseconds: 5_500)
        #expect(breakerOpened)
        isRefused = { $0.hasPrefix("invented") }
        try arriveUpdate(["invented-a", "invented-b"], areProven: false)
        try arriveUpdate(["honest-new"], areProven: true)
        run(milliseconds: 1_000)
        #expect(accepted.map(\.phone).contains("honest-new"))
        #expect(events.contains { if case .breakerClosed = $0 { true } else { false } })
    }

    @Test mutating func `an accepted token is reported as proven once, and only some in a second`() throws {
        let phones = (0..<100).map { "new-\($0)" }
        for _ in 0..<3 {
            try arriveUpdate(phones, areProven: false)
            run(milliseconds: 1_000)
        }
        #expect(provenPhones.sorted() == phones.sorted())
        try arriveUpdate(phones, areProven: true)
        run(milliseconds: 3_000)
        #expect(provenPhones.count == phones.count)
        try arriveUpdate((0..<1_000).map { "later-\($0)" }, areProven: false)
        run(milliseconds: 1_000)
        let reported = provenPhones.count - phones.count
        #expect((1...2 * UnprovenTokens.reportsPerSecondMax).contains(reported))
    }

    @Test mutating func `a token that was just reported counts for the breaker`() throws {
        let phones = (0..<30).map { "new-\($0)" }
        try arriveUpdate(phones, areProven: false)
        run(milliseconds: 3_000)
        #expect(accepted.count == 30)
        isRefused = { _ in true }
        try arriveUpdate(phones, areProven: false)
        run(milliseconds: 1_000)
        #expect(breakerOpened)
    }

    @Test mutating func `the sheet in a tier knows its unproven lines`() throws {
        isRefused = { _ in true }
        try arriveUpdate(["invented-a"], areProven: false)
        run(milliseconds: 1_000)
        #expect(movedSheets.map(\.unprovenLines) == [LineSet(all: 1)])
    }
}
