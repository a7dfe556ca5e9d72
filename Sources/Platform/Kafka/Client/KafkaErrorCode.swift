/// An error code of Kafka (positive, and -1 for an unknown error) or of the client library (below -1). The
/// constants are the codes that decide something here. All others are carried as numbers.
package struct KafkaErrorCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }
    private init(_ rawValue: Int32) { self.rawValue = rawValue }

    package static let none = KafkaErrorCode(0)

    // Codes of the library.
    package static let allBrokersDown = KafkaErrorCode(-187)
    package static let assignmentLost = KafkaErrorCode(-142)
    package static let authentication = KafkaErrorCode(-169)
    package static let autoOffsetReset = KafkaErrorCode(-140)
    package static let fatal = KafkaErrorCode(-150)
    package static let fenced = KafkaErrorCode(-144)
    package static let invalidArgument = KafkaErrorCode(-186)
    package static let maxPollExceeded = KafkaErrorCode(-147)
    package static let messageTimedOut = KafkaErrorCode(-192)
    package static let noOffset = KafkaErrorCode(-168)
    package static let outdated = KafkaErrorCode(-167)
    package static let partitionEnd = KafkaErrorCode(-191)
    package static let queueFull = KafkaErrorCode(-184)
    package static let resolve = KafkaErrorCode(-193)
    package static let ssl = KafkaErrorCode(-181)
    package static let state = KafkaErrorCode(-172)
    package static let timedOut = KafkaErrorCode(-185)
    package static let timedOutInQueue = KafkaErrorCode(-166)
    package static let transport = KafkaErrorCode(-195)
    package static let unknownPartition = KafkaErrorCode(-190)
    package static let unknownTopic = KafkaErrorCode(-188)
    package static let waitCache = KafkaErrorCode(-164)
    package static let waitCoordinator = KafkaErrorCode(-180)

    // Codes of the brokers.
    package static let unknownServerError = KafkaErrorCode(-1)
    package static let offsetOutOfRange = KafkaErrorCode(1)
    package static let unknownTopicOrPartition = KafkaErrorCode(3)
    package static let leaderNotAvailable = KafkaErrorCode(5)
    package static let notLeader = KafkaErrorCode(6)
    package static let requestTimedOut = KafkaErrorCode(7)
    package static let replicaNotAvailable = KafkaErrorCode(9)
    package static let recordTooLarge = KafkaErrorCode(10)
    package static let metadataTooLarge = KafkaErrorCode(12)
    package static let networkException = KafkaErrorCode(13)
    package static let coordinatorLoading = KafkaErrorCode(14)
    package static let coordinatorNotAvailable = KafkaErrorCode(15)
    package static let notCoordinator = KafkaErrorCode(16)
    package static let batchTooLarge = KafkaErrorCode(18)
    package static let notEnoughReplicas = KafkaErrorCode(19)
    package static let notEnoughReplicasAfterAppend = KafkaErrorCode(20)
    package static let illegalGeneration = KafkaErrorCode(22)
    package static let unknownMember = KafkaErrorCode(25)
    package static let rebalanceInProgress = KafkaErrorCode(27)
    package static let topicAuthorizationFailed = KafkaErrorCode(29)
    package static let groupAuthorizationFailed = KafkaErrorCode(30)
    package static let clusterAuthorizationFailed = KafkaErrorCode(31)
    package static let topicExists = KafkaErrorCode(36)
    package static let notController = KafkaErrorCode(41)
    package static let outOfOrderSequence = KafkaErrorCode(45)
    package static let invalidProducerEpoch = KafkaErrorCode(47)
    package static let invalidTransactionState = KafkaErrorCode(48)
    package static let concurrentTransactions = KafkaErrorCode(51)
    package static let transactionalIDAuthorizationFailed = KafkaErrorCode(53)
    package static let storage = KafkaErrorCode(56)
    package static let saslAuthenticationFailed = KafkaErrorCode(58)
    package static let listenerNotFound = KafkaErrorCode(72)
    package static let fencedLeaderEpoch = KafkaErrorCode(74)
    package static let unknownLeaderEpoch = KafkaErrorCode(75)
    package static let offsetNotAvailable = KafkaErrorCode(78)
    package static let fencedInstance = KafkaErrorCode(82)
    package static let unstableOffset = KafkaErrorCode(88)
    package static let producerFenced = KafkaErrorCode(90)
    package static let unknownTopicID = KafkaErrorCode(100)
}

extension KafkaErrorCode {
    /// Whether another client has taken this client's member or transactional id.
    package var isFencing: Bool {
        switch self {
        case .fenced, .fencedInstance, .producerFenced, .invalidProducerEpoch: true
        default: false
        }
    }

    /// Whether the cluster or its certificate refuses this client. Waiting does not help: a person must act.
    package var isAccessRefused: Bool {
        switch self {
        case .authentication, .ssl, .saslAuthenticationFailed, .topicAuthorizationFailed,
            .groupAuthorizationFailed, .clusterAuthorizationFailed, .transactionalIDAuthorizationFailed:
            true
        default: false
        }
    }

    /// The advice at the end of an error message.
    package var remedy: String {
        switch self {
        case .transport, .allBrokersDown, .timedOut, .requestTimedOut, .messageTimedOut, .resolve,
            .timedOutInQueue:
            "check that the brokers in kafka.brokers run and can be reached"
        case .ssl: "check kafka.ca-file, the broker's certificate and its host name"
        case .authentication, .saslAuthenticationFailed: "check kafka.scram.user and its password"
        case .topicAuthorizationFailed, .groupAuthorizationFailed, .clusterAuthorizationFailed,
            .transactionalIDAuthorizationFailed:
            "grant this user the access that the operator's book lists"
        case .unknownTopic, .unknownTopicOrPartition, .unknownPartition:
            "create the topic, or correct its name"
        case .recordTooLarge, .batchTooLarge: "raise max.message.bytes of the topic, or send less at once"
        case _ where isFencing:
            "a new client takes over by itself; if it repeats, make sure that only one process uses this data directory"
        case .offsetOutOfRange, .autoOffsetReset:
            "records were deleted before they were read; decide where to continue, then set the group's offset"
        case .queueFull: "wait for acknowledgements"
        case .fatal: "rebuild the client"
        case .outOfOrderSequence: "send the records again: it is unknown whether they are stored"
        default: "try again, and check the broker's log if the error stays"
        }
    }
}
