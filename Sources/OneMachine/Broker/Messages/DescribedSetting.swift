/// One setting of a topic or of the broker, as clients are shown it.
struct DescribedSetting {
    /// Kafka's numbers for where a value comes from.
    enum ValueSource: Int8 {
        case topic = 1
        case broker = 4
        case defaultValue = 5
    }

    /// Kafka's numbers for what a value is.
    enum ValueKind: Int8 {
        case boolean = 1
        case string = 2
        case int = 3
        case long = 5
        case double = 6
        case list = 7

        /// By the name of a topic's setting, as Kafka types them.
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
