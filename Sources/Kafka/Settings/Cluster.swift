internal import Lifecycle

/// The cluster that a process works on. Whoever is started asks for the settings when it starts, because
/// the embedded broker's address is known only when that has started.
package final class Cluster: Sendable {
    private let known: TracedLock<KafkaSettings>

    package init(_ settings: KafkaSettings) { known = TracedLock(settings) }

    /// One that a process starts itself: without an address until `isServed`.
    package convenience init() { self.init(KafkaSettings(brokers: [])) }

    package var settings: KafkaSettings { known.withLock { $0 } }

    /// - Parameter address: `host:port`.
    package func isServed(at address: String) { known.withLock { $0.brokers = [address] } }
}
