import Identifiers
import Synchronization

@testable import APNsSimulator

/// Stands for all phones. A table has the status of some tokens, and all others are valid. It remembers the delivered
/// pushes.
final class KnownTokens: SimulatedPhones, Sendable {
    private let statuses: [PushToken: TokenStatus]
    private let pushes = Mutex<[AcceptedPush]>([])
    private let ticks = Mutex(0)

    init(_ statuses: [PushToken: TokenStatus] = [:]) { self.statuses = statuses }

    var delivered: [AcceptedPush] { pushes.withLock { $0 } }
    var tickCount: Int { ticks.withLock { $0 } }

    func status(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStatus { statuses[token] ?? .valid }

    func deliver(_ push: AcceptedPush) { pushes.withLock { $0.append(push) } }
    func tick(at time: Int64) { ticks.withLock { $0 += 1 } }
}

/// Faults that a function decides for each request, and faults of connections by their numbers.
final class FaultsByRequest: FaultInjector, Sendable {
    private let faultOfRequest: @Sendable (RequestFacts) -> InjectedFault
    private let faultsAtOpening: [Int: [InjectedFault.ConnectionFault]]

    init(
        atOpening faultsAtOpening: [Int: [InjectedFault.ConnectionFault]] = [:],
        _ fault: @escaping @Sendable (RequestFacts) -> InjectedFault = { _ in .none }
    ) {
        self.faultOfRequest = fault
        self.faultsAtOpening = faultsAtOpening
    }

    func fault(for request: RequestFacts) -> InjectedFault { faultOfRequest(request) }

    func faults(forOpenedConnection number: Int) -> [InjectedFault.ConnectionFault] {
        faultsAtOpening[number] ?? []
    }
}

/// A journal that keeps all entries, in order.
final class RecordedEntries: JournalSink, Sendable {
    private let allEntries = Mutex<[JournalEntry]>([])
    var entries: [JournalEntry] { allEntries.withLock { $0 } }
    func didEnd(_ entry: JournalEntry) { allEntries.withLock { $0.append(entry) } }
}
