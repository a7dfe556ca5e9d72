package import Lifecycle
package import Settings
package import Topics

/// A service of a process that reads records and writes records, such as ingest. Its types have the same names in all
/// stages: `IngestService`, `IngestSettings`, `IngestMetrics`, `IngestDecider`.
package protocol Stage: Service {
    associatedtype Settings: OperatorSettings

    /// The stage's name in commands, setting keys, metrics and its Kafka identity.
    static var name: String { get }
    /// One sentence for the help.
    static var summary: String { get }
    /// The topics that the stage reads and writes. They must exist with the right settings before it starts.
    static var topics: [TopicName] { get }
    /// The file descriptors that the stage needs.
    static var fileDescriptors: StageFileDescriptors { get }

    /// Makes the stage without any connection. `start` connects.
    init(_ settings: Settings, in environment: StageEnvironment)

    /// The reasons why no work flows now, one line each, for `/readyz`. Empty if work flows. Called from
    /// any thread.
    var readinessProblems: [String] { get }
}

extension Stage {
    package var name: String { Self.name }
}
