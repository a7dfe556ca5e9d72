internal import Lifecycle

/// The cluster that a process works on. Each part of the process reads the settings when it starts. The
/// address of the embedded broker is known only after the broker has started.
package final class Cluster: Sendable {
    private let known: TracedLock<KafkaSettings>

    package init(_ settings: KafkaSettings) { known = TracedLock(settings) }

    /// A cluster that the process starts itself. It has no address before `isServed`.
    package convenience init() { self.init(KafkaSettings(brokers: [])) }

    package var settings: KafkaSettings { known.withLock { $0 } }

    /// - Parameter address: The address as `host:port`.
    package func isServed(at address: String) { known.withLock { $0.brokers = [address] } }
}
