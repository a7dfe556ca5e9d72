/// An error code of Kafka (positive) or of the client library (negative). The constants are the codes that
/// decide something here. All others are carried as numbers.
package struct ErrorCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }
    private init(_ rawValue: Int32) { self.rawValue = rawValue }

    package static let none = ErrorCode(0)

    // Codes of the library.
    package static let allBrokersDown = ErrorCode(-187)
    package static let assignmentLost = ErrorCode(-142)
    package static let authentication = ErrorCode(-169)
    package static let autoOffsetReset = ErrorCode(-140)
    package static let fatal = ErrorCode(-150)
    package static let fenced = ErrorCode(-144)
    package static let invalidArgument = ErrorCode(-186)
    package static let maxPollExceeded = ErrorCode(-147)
    package static let messageTimedOut = ErrorCode(-192)
    package static let noOffset = ErrorCode(-168)
    package static let outdated = ErrorCode(-167)
    package static let partitionEnd = ErrorCode(-191)
    package static let purgedInFlight = ErrorCode(-151)
    package static let purgedInQueue = ErrorCode(-152)
    package static let queueFull = ErrorCode(-184)
    package static let resolve = ErrorCode(-193)
    package static let ssl = ErrorCode(-181)
    package static let state = ErrorCode(-172)
    package static let timedOut = ErrorCode(-185)
    package static let timedOutInQueue = ErrorCode(-166)
    package static let transport = ErrorCode(-195)
    package static let unknownPartition = ErrorCode(-190)
    package static let unknownTopic = ErrorCode(-188)
    package static let waitCache = ErrorCode(-164)
    package static let waitCoordinator = ErrorCode(-180)

    // Codes of the brokers.
    package static let unknownServerError = ErrorCode(-1)
    package static let offsetOutOfRange = ErrorCode(1)
    package static let unknownTopicOrPartition = ErrorCode(3)
    package static let leaderNotAvailable = ErrorCode(5)
    package static let notLeader = ErrorCode(6)
    package static let requestTimedOut = ErrorCode(7)
    package static let replicaNotAvailable = ErrorCode(9)
    package static let recordTooLarge = ErrorCode(10)
    package static let metadataTooLarge = ErrorCode(12)
    package static let networkException = ErrorCode(13)
    package static let coordinatorLoading = ErrorCode(14)
    package static let coordinatorNotAvailable = ErrorCode(15)
    package static let notCoordinator = ErrorCode(16)
    package static let batchTooLarge = ErrorCode(18)
    package static let notEnoughReplicas = ErrorCode(19)
    package static let notEnoughReplicasAfterAppend = ErrorCode(20)
    package static let illegalGeneration = ErrorCode(22)
    package static let unknownMember = ErrorCode(25)
    package static let rebalanceInProgress = ErrorCode(27)
    package static let topicAuthorizationFailed = ErrorCode(29)
    package static let groupAuthorizationFailed = ErrorCode(30)
    package static let clusterAuthorizationFailed = ErrorCode(31)
    package static let topicExists = ErrorCode(36)
    package static let notController = ErrorCode(41)
    package static let outOfOrderSequence = ErrorCode(45)
    package static let invalidProducerEpoch = ErrorCode(47)
    package static let invalidTransactionState = ErrorCode(48)
    package static let concurrentTransactions = ErrorCode(51)
    package static let transactionalIDAuthorizationFailed = ErrorCode(53)
    package static let storage = ErrorCode(56)
    package static let saslAuthenticationFailed = ErrorCode(58)
    package static let unknownProducer = ErrorCode(59)
    package static let listenerNotFound = ErrorCode(72)
    package static let fencedLeaderEpoch = ErrorCode(74)
    package static let unknownLeaderEpoch = ErrorCode(75)
    package static let offsetNotAvailable = ErrorCode(78)
    package static let fencedInstance = ErrorCode(82)
    package static let unstableOffset = ErrorCode(88)
    package static let producerFenced = ErrorCode(90)
    package static let unknownTopicID = ErrorCode(100)
}

extension ErrorCode {
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
