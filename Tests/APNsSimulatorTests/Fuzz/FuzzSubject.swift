import APNs
import Cryptography
import HTTP2
import Identifiers
import JSON
import Lifecycle
import Simulation
import TLS
import Telemetry

@testable import APNsSimulator

/// A simulator without sockets, with real phones, a journal and random faults. Its limits are small, so that a history
/// reaches them.
///
/// `@unchecked Sendable`: mutable state is used on the loop only.
final class FuzzSubject: @unchecked Sendable {
    let loop: EventLoop
    let simulator: Simulator
    let phones: Phones
    /// A valid provider token.
    let bearer: String
    private let journal: FuzzJournal

    private static let phoneCount = 20
    /// Tokens that no phone has, with the status that the simulator gives them.
    private static let statuses: [(hex: String, status: TokenStatus)] = [
        ("aa", .unknown), ("ab", .unregistered(since: 1)), ("ac", .expired(since: 2)), ("ad", .wrongTopic),
    ]

    /// The parts that are made on the loop.
    private struct Parts: @unchecked Sendable {
        let simulator: Simulator
        let phones: Phones
        let journal: FuzzJournal
    }

    init() throws {
        let credentials = SimulatorCredentials()
        let loop = try EventLoop(name: "fuzz")
        try loop.start()
        let parts = loop.perform { Self.makeParts(credentials, on: loop) }
        guard let parts else { fatalError("the loop has ended") }
        self.loop = loop
        simulator = parts.simulator
        phones = parts.phones
        journal = parts.journal
        bearer = ProviderToken.make(
            teamID: SimulatorCredentials.teamID, keyID: credentials.keyID, key: credentials.signingKey,
            at: .now())
    }

    private static func makeParts(_ credentials: SimulatorCredentials, on loop: EventLoop) -> Parts {
        var settings = SimulatorSettings()
        settings.streams.initialStreams = 8
        settings.streams.streamsMax = 16
        settings.streams.pointsPerHalving = 4
        settings.channelsMax = 3
        settings.rateLimit = RateLimitSettings(burst: 5)
        var phoneSettings = PhoneSettings()
        phoneSettings.startTokenRotationShare = 0.1
        phoneSettings.updateBudget = .init(pushes: 15, milliseconds: 3_600_000)
        phoneSettings.throttling = .delay(milliseconds: 60_000)
        let phones = Phones(settings: phoneSettings)
        var population = Population(
            of: PhoneApp(id: "shop", bundleID: RunningSimulator.app, types: [PhonesFixture.type("Match")]),
            phones: phoneCount)
        population.awayShare = 0.2
        population.switchedOffShare = 0.1
        phones.add(population, at: WallTime.now().milliseconds)
        let overriddenPhones = TokenStatusOverrides(phones: phones)
        for (hex, status) in statuses {
            _ = PushToken(hex: hex).map { overriddenPhones.setStatus(status, of: $0) }
        }
        let journal = FuzzJournal(on: loop)
        let simulator = Simulator(
            settings: settings, credentials: credentials, on: loop, phones: overriddenPhones,
            faultInjector: RandomFaults(),
            journal: journal)
        return Parts(simulator: simulator, phones: phones, journal: journal)
    }

    var requestCounts: FuzzJournal.RequestCounts {
        var counts = journal.requestCounts
        counts.received = simulator.requestsReceived
        return counts
    }

    /// Returns a token that some phone has or had.
    func token(_ random: inout SeededGenerator) -> PushToken {
        let number = random.number(below: Self.phoneCount)
        let indices = phones.activityIndices(ofPhone: number)
        if !indices.isEmpty, random.number(below: 3) > 0 { return phones.updateToken(ofActivity: indices[0]) }
        return phones.startToken(slot: 0, ofPhone: number)
    }
}

/// The journal, with a count of its entries. Each eighth entry is also written as JSON.
final class FuzzJournal: JournalSink {
    struct RequestCounts: Sendable {
        var received = 0
        var ended = 0
        /// Requests that ended at least once. If it is less than `ended`, one ended twice.
        var distinctEnded = 0
        var inSummary = 0
    }

    private let journal: Journal
    private var endedCount = 0
    private var endedRequests: Set<Int> = []
    private var json = JSONWriter(capacity: 4_096)

    init(on loop: EventLoop) {
        var limits = JournalLimits()
        limits.entriesMax = 50
        limits.trackedIDsMax = 100
        limits.trackedTargetsMax = 20
        journal = Journal(on: loop, limits: limits, file: nil, metrics: Metrics())
    }

    var requestCounts: RequestCounts {
        RequestCounts(
            ended: endedCount, distinctEnded: endedRequests.count, inSummary: journal.summary.requests)
    }

    func didEnd(_ entry: JournalEntry) {
        endedCount += 1
        endedRequests.insert(entry.facts.request)
        journal.didEnd(entry)
        guard endedCount.isMultiple(of: 8) else { return }
        json.removeAll()
        JournalRing.NumberedEntry(number: endedCount, entry: entry).write(to: &json, showsPayload: true)
    }
}

/// Injects no fault into half of the requests, and random faults into the other half.
private final class RandomFaults: FaultInjector, Sendable {
    func fault(for request: RequestFacts) -> InjectedFault {
        var random = SeededGenerator(seed: request.connection &* 7_919 &+ request.requestOfConnection)
        var fault = InjectedFault()
        if random.number(below: 2) == 0 { return fault }
        fault.requestFault = requestFault(from: &random)
        fault.connectionFault = connectionFault(from: &random)
        fault.delayMilliseconds = random.number(below: 4) == 0 ? random.number(below: 5) : 0
        return fault
    }

    private func requestFault(from random: inout SeededGenerator) -> InjectedFault.RequestFault? {
        let status = random.number(below: 700)
        switch random.number(below: 5) {
        case 0: return nil
        case 1: return .silence(processed: random.number(below: 2) == 0)
        case 2:
            return .reset(
                HTTP2ErrorCode(rawValue: UInt32(random.number(below: 20))),
                processed: random.number(below: 2) == 0)
        case 3:
            return .answer(
                status: status, reason: "Reason\(random.number(below: 3))\"\n",
                timestamp: random.number(below: 2) == 0 ? nil : Int64(status),
                retryAfterSeconds: random.number(below: 9))
        default: return .answerBody(status: status, body: random.bytes(count: 0...300))
        }
    }

    private func connectionFault(from random: inout SeededGenerator) -> InjectedFault.ConnectionFault? {
        switch random.number(below: 8) {
        case 0: return .settings(streamsMax: random.number(below: 20))
        case 1: return .stall(milliseconds: random.number(below: 3))
        case 2:
            return .goaway(
                HTTP2ErrorCode(rawValue: UInt32(random.number(below: 20))),
                streamsBack: random.number(below: 12),
                reason: random.number(below: 2) == 0 ? nil : "Why", thenClose: random.number(below: 2) == 0)
        case 3: return .starveWindows
        case 4: return .resetAfter(bytes: random.number(below: 100))
        case 5: return .close
        default: return nil
        }
    }

    func faults(forOpenedConnection number: Int) -> [InjectedFault.ConnectionFault] { [] }
}
