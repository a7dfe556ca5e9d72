import Identifiers
import Synchronization

@testable import APNsSimulator

/// Phones with fixed standings of tokens. They remember the pushes that they got.
final class KnownTokens: SimulatedPhones, Sendable {
    private let standings: [PushToken: TokenStatus]
    private let pushes = Mutex<[AcceptedPush]>([])
    private let ticks = Mutex(0)

    init(_ standings: [PushToken: TokenStatus] = [:]) { self.standings = standings }

    var delivered: [AcceptedPush] { pushes.withLock { $0 } }
    var tickCount: Int { ticks.withLock { $0 } }

    func status(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStatus { standings[token] ?? .valid }

    func deliver(_ push: AcceptedPush) { pushes.withLock { $0.append(push) } }
    func tick(at time: Int64) { ticks.withLock { $0 += 1 } }
}

/// Faults that depend on the number of the request.
final class RulingsByRequest: FaultInjector, Sendable {
    private let rulings: @Sendable (RequestFacts) -> InjectedFault
    private let first: [Int: [InjectedFault.ConnectionFault]]
    private let asked = Mutex<[RequestFacts]>([])

    init(
        first: [Int: [InjectedFault.ConnectionFault]] = [:],
        _ rulings: @escaping @Sendable (RequestFacts) -> InjectedFault = { _ in .none }
    ) {
        self.rulings = rulings
        self.first = first
    }

    var facts: [RequestFacts] { asked.withLock { $0 } }

    func fault(for request: RequestFacts) -> InjectedFault {
        asked.withLock { $0.append(request) }
        return rulings(request)
    }

    func faults(forOpenedConnection number: Int) -> [InjectedFault.ConnectionFault] { first[number] ?? [] }
}

final class KeptEntries: JournalSink, Sendable {
    private let kept = Mutex<[JournalEntry]>([])
    var entries: [JournalEntry] { kept.withLock { $0 } }
    func didEnd(_ entry: JournalEntry) { kept.withLock { $0.append(entry) } }
}
