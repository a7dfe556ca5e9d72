package import Lifecycle
package import Settings
package import Topics

/// A service that turns records into records. Every stage has this shape, and the same names: for ingest
/// they are `IngestSettings`, `IngestMetrics` and `IngestService`.
package protocol Stage: Service {
    associatedtype Settings: OperatorSettings

    /// Its word in commands, in the keys of its settings, in its metrics and in its identity.
    static var name: String { get }
    /// One sentence for the help.
    static var summary: String { get }
    /// What it reads and writes: they must be as it needs them before it starts.
    static var topics: [TopicName] { get }
    /// The file descriptors that it needs.
    static var descriptors: StageDescriptors { get }

    /// Connects to nothing yet: that is what `start` is for.
    init(_ settings: Settings, in environment: StageEnvironment)

    /// Why work does not flow now, a line each, for `/readyz`; empty when it does. Asked from any thread.
    var obstacles: [String] { get }
}

extension Stage {
    package var name: String { Self.name }
}
