internal import Kafka
internal import Lifecycle
internal import Telemetry
internal import Topics

/// A check in the form of a service: its start fails if topics are missing or have wrong settings. `flotilla run`
/// checks the topics of its stages. `flotilla up` has its own broker and corrects them.
struct TopicsService: Service {
    enum Mode: Sendable {
        /// Only checks these topics.
        case check([TopicName])
        /// Creates missing topics and corrects the settings of all.
        case create
    }

    let name = "topics"
    let mode: Mode
    let layout: TopicLayout
    let cluster: Cluster

    func start(_ context: ServiceContext) async throws {
        let admin = try AdminClient(settings: cluster.settings, log: context.log, metrics: context.metrics)
        switch mode {
        case .check(let topics): try layout.require(topics, on: admin)
        case .create:
            let created = try layout.create(on: admin)
            if !created.isEmpty { context.log.info("created topics", .field("count", created.count)) }
            for altered in try layout.alter(on: admin) {
                context.log.info(
                    "altered a topic", .field("topic", altered.topic),
                    .field("setting", altered.property.rawValue), .field("was", altered.actual),
                    .field("is", altered.setting ?? altered.required))
            }
            try layout.require(TopicName.allCases, on: admin)
        }
    }

    func stop(by deadline: Instant) async {}
}
