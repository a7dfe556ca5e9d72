internal import Lifecycle

/// The cluster that a process works on. Each part of the process reads the connection settings when it
/// starts. The address of the embedded broker is known only after the broker has started.
package final class Cluster: Sendable {
    /// The clients that read topics without a group.
    let readers = SharedReaders()
    let backgroundProducer = SharedBackgroundProducer()
    private let lockedSettings: TracedLock<KafkaSettings>

    package init(settings: KafkaSettings) { lockedSettings = TracedLock(settings) }

    /// Creates a cluster that the process starts itself. It has no address before `setAddress`.
    package convenience init() { self.init(settings: KafkaSettings(brokers: [])) }

    package var settings: KafkaSettings { lockedSettings.withLock { $0 } }

    /// - Parameter address: The address as `host:port`.
    package func setAddress(_ address: String) { lockedSettings.withLock { $0.brokers = [address] } }
}
