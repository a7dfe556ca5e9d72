import LiveActivity
import Synchronization

@testable import APNsSimulator

/// Phones with fixed standings of tokens. They remember the pushes that they got.
final class KnownTokens: SimulatedPhones, Sendable {
    private let standings: [PushToken: TokenStanding]
    private let pushes = Mutex<[AcceptedPush]>([])
    private let ticks = Mutex(0)

    init(_ standings: [PushToken: TokenStanding] = [:]) { self.standings = standings }

    var delivered: [AcceptedPush] { pushes.withLock { $0 } }
    var tickCount: Int { ticks.withLock { $0 } }

    func standing(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStanding { standings[token] ?? .good }

    func deliver(_ push: AcceptedPush) { pushes.withLock { $0.append(push) } }
    func tick(at time: Int64) { ticks.withLock { $0 += 1 } }
}

/// Faults that depend on the number of the request.
final class RulingsByRequest: Mischief, Sendable {
    private let rulings: @Sendable (RequestFacts) -> Ruling
    private let first: [Int: [Ruling.ConnectionFault]]
    private let asked = Mutex<[RequestFacts]>([])

    init(
        first: [Int: [Ruling.ConnectionFault]] = [:],
        _ rulings: @escaping @Sendable (RequestFacts) -> Ruling = { _ in .none }
    ) {
        self.rulings = rulings
        self.first = first
    }

    var facts: [RequestFacts] { asked.withLock { $0 } }

    func ruling(for request: RequestFacts) -> Ruling {
        asked.withLock { $0.append(request) }
        return rulings(request)
    }

    func connectionOpened(_ number: Int) -> [Ruling.ConnectionFault] { first[number] ?? [] }
}

final class KeptEntries: JournalSink, Sendable {
    private let kept = Mutex<[JournalEntry]>([])
    var entries: [JournalEntry] { kept.withLock { $0 } }
    func ended(_ entry: JournalEntry) { kept.withLock { $0.append(entry) } }
}
