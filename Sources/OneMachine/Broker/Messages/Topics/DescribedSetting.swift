/// One setting of a topic or of the broker, with the facts that clients see.
struct DescribedSetting {
    /// The source of a value, with Kafka's numbers.
    enum ValueSource: Int8 {
        case topic = 1
        case broker = 4
        case defaultValue = 5
    }

    /// The type of a value, with Kafka's numbers.
    enum ValueKind: Int8 {
        case boolean = 1
        case string = 2
        case int = 3
        case long = 5
        case double = 6
        case list = 7

        /// Returns the type that the topic's setting with this name has in Kafka.
        init(of name: String) {
            switch name {
            case "cleanup.policy": self = .list
            case "compression.type", "message.timestamp.type", "message.format.version": self = .string
            case "min.cleanable.dirty.ratio": self = .double
            case "preallocate", "unclean.leader.election.enable": self = .boolean
            case "segment.bytes", "segment.index.bytes", "max.message.bytes", "index.interval.bytes",
                "min.insync.replicas":
                self = .int
            default: self = .long
            }
        }
    }

    var name: String
    var value: String?
    var source: ValueSource
    var kind: ValueKind
    var isReadOnly = false
}
