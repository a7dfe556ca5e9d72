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
    /// Tokens that no phone has, with the status that the simulator gives them. `FuzzRequest` pushes to them.
    private static let statuses: [(hex: String, status: TokenStatus)] = [
        ("aa", .unknown), ("ab", .unregistered(since: 1)), ("ac", .expired(since: 2)), ("ad", .wrongTopic),
    ]

    /// The requests of all connections so far.
    struct RequestCounts: Sendable {
        var received = 0
        var ended = 0
        /// Requests that ended at least once. If it is less than `ended`, one ended twice.
        var distinctEnded = 0
        /// Requests in the journal's summary.
        var inSummary = 0
    }

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

    var requestCounts: RequestCounts {
        RequestCounts(
            received: simulator.requestsReceived, ended: journal.endedCount,
            distinctEnded: journal.distinctEndedCount, inSummary: journal.summaryCount)
    }

    /// Returns a token that some phone has or had.
    func token(_ random: inout SeededGenerator) -> PushToken {
        let number = random.number(below: Self.phoneCount)
        let indices = phones.activityIndices(ofPhone: number)
        if !indices.isEmpty, random.number(below: 3) > 0 { return phones.updateToken(ofActivity: indices[0]) }
        return phones.startToken(slot: 0, ofPhone: number)
    }
}
